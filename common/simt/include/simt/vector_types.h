/*
 * vector_types.h - float4 and its kin, with the sizes and alignments of the CUDA programming guide.
 *
 * On a GPU a copy of a 16-byte vector is one load and one store instruction, not four. Here too: a
 * vector of up to 16 bytes is also one SIMD value, and its copy constructor and assignment move
 * that. So one access stays one access for whoever counts accesses. (Read a vector by value:
 * through a reference, `v.x` alone is a 4-byte access, as on the GPU.) An address that is not a
 * multiple of the alignment is an error for any type; common/simt/fault.cc reports it.
 */
#ifndef SIMT_VECTOR_TYPES_H
#define SIMT_VECTOR_TYPES_H

#include "simt/base.h"

/* Vectors that move as one value: 2 or 4 elements, 2 to 16 bytes. */
#define SIMT_VECTOR2(NAME, T)                                             \
    struct alignas(2 * sizeof(T)) NAME {                                  \
        typedef T whole_type __attribute__((vector_size(2 * sizeof(T)))); \
        union {                                                           \
            struct {                                                      \
                T x, y;                                                   \
            };                                                            \
            whole_type whole;                                             \
        };                                                                \
        NAME() = default;                                                 \
        NAME(T x_, T y_ = 0) : whole{x_, y_} {}                           \
        NAME(const NAME &other) : whole(other.whole) {}                   \
        NAME &operator=(const NAME &other)                                \
        {                                                                 \
            whole = other.whole;                                          \
            return *this;                                                 \
        }                                                                 \
    };                                                                    \
    SIMT_INLINE NAME make_##NAME(T x, T y)                                \
    {                                                                     \
        return NAME(x, y);                                                \
    }

#define SIMT_VECTOR4(NAME, T)                                               \
    struct alignas(4 * sizeof(T)) NAME {                                    \
        typedef T whole_type __attribute__((vector_size(4 * sizeof(T))));   \
        union {                                                             \
            struct {                                                        \
                T x, y, z, w;                                               \
            };                                                              \
            whole_type whole;                                               \
        };                                                                  \
        NAME() = default;                                                   \
        NAME(T x_, T y_ = 0, T z_ = 0, T w_ = 0) : whole{x_, y_, z_, w_} {} \
        NAME(const NAME &other) : whole(other.whole) {}                     \
        NAME &operator=(const NAME &other)                                  \
        {                                                                   \
            whole = other.whole;                                            \
            return *this;                                                   \
        }                                                                   \
    };                                                                      \
    SIMT_INLINE NAME make_##NAME(T x, T y, T z, T w)                        \
    {                                                                       \
        return NAME(x, y, z, w);                                            \
    }

/* One or three elements have no wide access on a GPU either; nor has a vector of 32 bytes, whose
 * alignment is 16. */
#define SIMT_VECTOR1(NAME, T)         \
    struct NAME {                     \
        T x;                          \
    };                                \
    SIMT_INLINE NAME make_##NAME(T x) \
    {                                 \
        return NAME{x};               \
    }

#define SIMT_VECTOR3(NAME, T)                   \
    struct NAME {                               \
        T x, y, z;                              \
    };                                          \
    SIMT_INLINE NAME make_##NAME(T x, T y, T z) \
    {                                           \
        return NAME{x, y, z};                   \
    }

#define SIMT_VECTOR4_WIDE(NAME, T)                   \
    struct alignas(16) NAME {                        \
        T x, y, z, w;                                \
    };                                               \
    SIMT_INLINE NAME make_##NAME(T x, T y, T z, T w) \
    {                                                \
        return NAME{x, y, z, w};                     \
    }

#define SIMT_VECTORS(NAME, T) \
    SIMT_VECTOR1(NAME##1, T) SIMT_VECTOR2(NAME##2, T) SIMT_VECTOR3(NAME##3, T)

SIMT_VECTORS(char, signed char)
SIMT_VECTORS(uchar, unsigned char)
SIMT_VECTORS(short, short)
SIMT_VECTORS(ushort, unsigned short)
SIMT_VECTORS(int, int)
SIMT_VECTORS(uint, unsigned int)
SIMT_VECTORS(long, long)
SIMT_VECTORS(ulong, unsigned long)
SIMT_VECTORS(longlong, long long)
SIMT_VECTORS(ulonglong, unsigned long long)
SIMT_VECTORS(float, float)
SIMT_VECTORS(double, double)

SIMT_VECTOR4(char4, signed char)
SIMT_VECTOR4(uchar4, unsigned char)
SIMT_VECTOR4(short4, short)
SIMT_VECTOR4(ushort4, unsigned short)
SIMT_VECTOR4(int4, int)
SIMT_VECTOR4(uint4, unsigned int)
SIMT_VECTOR4(float4, float)
SIMT_VECTOR4_WIDE(long4, long)
SIMT_VECTOR4_WIDE(ulong4, unsigned long)
SIMT_VECTOR4_WIDE(longlong4, long long)
SIMT_VECTOR4_WIDE(ulonglong4, unsigned long long)
SIMT_VECTOR4_WIDE(double4, double)

/* The shape of a grid or a block: what is not given is 1. */
struct dim3 {
    unsigned int x, y, z;
    constexpr dim3(unsigned int x_ = 1, unsigned int y_ = 1, unsigned int z_ = 1)
        : x(x_), y(y_), z(z_)
    {
    }
    constexpr dim3(uint3 u) : x(u.x), y(u.y), z(u.z) {}
    constexpr operator uint3() const { return uint3{x, y, z}; }
};

#endif
