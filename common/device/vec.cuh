/*
 * vec.cuh - several neighbouring elements in one load or store instruction.
 *
 *     float b[4];
 *     load_vector(b, B + offset);         one 16-byte load
 *
 * V elements of type T make 1, 2, 4, 8 or 16 bytes (half x 8 and float x 4 are both 16). The
 * address must be a multiple of that.
 */
#ifndef DEVICE_VEC_CUH
#define DEVICE_VEC_CUH

#include <stdint.h>
#include <string.h>

/* Data that one instruction moves. */
template <int BYTES> struct bundle;
template <> struct bundle<1> {
    typedef unsigned char type;
};
template <> struct bundle<2> {
    typedef unsigned short type;
};
template <> struct bundle<4> {
    typedef unsigned int type;
};
template <> struct bundle<8> {
    typedef uint2 type;
};
template <> struct bundle<16> {
    typedef uint4 type;
};

/* Loads data that nobody writes while the kernel runs: it may stay in the read-only cache. */
template <class T, int V> __device__ __forceinline__ void load_vector(T (&x)[V], const T *p)
{
    typedef typename bundle<sizeof(T) * V>::type raw;
    const raw r = __ldg(reinterpret_cast<const raw *>(p));
    memcpy(x, &r, sizeof r);
}

/* Loads data that is read once: it leaves the caches first, and other data stays. */
template <class T, int V>
__device__ __forceinline__ void load_vector_streaming(T (&x)[V], const T *p)
{
    typedef typename bundle<sizeof(T) * V>::type raw;
    const raw r = __ldcs(reinterpret_cast<const raw *>(p));
    memcpy(x, &r, sizeof r);
}

/* Loads from shared memory, or from global memory that this kernel also writes. */
template <class T, int V> __device__ __forceinline__ void load_vector_plain(T (&x)[V], const T *p)
{
    typedef typename bundle<sizeof(T) * V>::type raw;
    const raw r = *reinterpret_cast<const raw *>(p);
    memcpy(x, &r, sizeof r);
}

/* Loads global memory that another kernel may have written while this one ran: from L2, where its writes are.
 * L1 may hold what was there before. */
template <class T, int V> __device__ __forceinline__ void load_vector_l2(T (&x)[V], const T *p)
{
    typedef typename bundle<sizeof(T) * V>::type raw;
    const raw r = __ldcg(reinterpret_cast<const raw *>(p));
    memcpy(x, &r, sizeof r);
}

template <class T, int V> __device__ __forceinline__ void store_vector(T *p, const T (&x)[V])
{
    typedef typename bundle<sizeof(T) * V>::type raw;
    raw r;
    memcpy(static_cast<void *>(&r), x, sizeof r);
    *reinterpret_cast<raw *>(p) = r;
}

/* Stores results that this kernel does not read again. */
template <class T, int V>
__device__ __forceinline__ void store_vector_streaming(T *p, const T (&x)[V])
{
    typedef typename bundle<sizeof(T) * V>::type raw;
    raw r;
    memcpy(static_cast<void *>(&r), x, sizeof r);
    __stcs(reinterpret_cast<raw *>(p), r);
}

/* Four elements of a row that has N, from `column` on. V = 4: N is a multiple of four, and they move in one piece; V = 1: each
 * moves by itself. What the row does not have is not stored. */
template <int V, class T>
__device__ __forceinline__ void store_in_row(T *row, const T (&x)[4], int column, int N)
{
    if (V == 4 && column < N) store_vector(row + column, x);
#pragma unroll
    for (int j = 0; V == 1 && j < 4; j++)
        if (column + j < N) row[column + j] = x[j];
}

/* The same, loaded as by load_vector. For what the row does not have the last that it has is loaded. */
template <int V, class T>
__device__ __forceinline__ void load_from_row(T (&x)[4], const T *row, int column, int N)
{
    if constexpr (V == 4)
        load_vector(x, row + min(column, N - V));
    else
#pragma unroll
        for (int j = 0; j < 4; j++)
            x[j] = __ldg(row + min(column + j, N - 1));
}

/* Adds them to x, from L2: another kernel or block may have written them meanwhile. */
template <int V>
__device__ __forceinline__ void add_from_row_l2(float (&x)[4], const float *row, int column, int N)
{
    if (V == 4 && column < N) {
        float old[4];
        load_vector_l2(old, row + column);
#pragma unroll
        for (int j = 0; j < 4; j++)
            x[j] += old[j];
    }
#pragma unroll
    for (int j = 0; V == 1 && j < 4; j++)
        if (column + j < N) x[j] += __ldcg(row + column + j);
}

/* 16 bytes that another block writes or reads meanwhile: who finds the first four as they are written finds all so. (On
 * a GPU they come and go in one piece.) Nothing is said of other memory. */
template <class T, int V> __device__ __forceinline__ void load_vector_relaxed(T (&x)[V], const T *p)
{
    static_assert(sizeof x == 16);
    uint64_t r[2];
#ifdef __CUDACC__
    asm volatile("{\n\t"
                 ".reg .b128 r;\n\t"
                 "ld.relaxed.gpu.global.b128 r, [%2];\n\t"
                 "mov.b128 {%0, %1}, r;\n\t"
                 "}"
                 : "=l"(r[0]), "=l"(r[1])
                 : "l"(__cvta_generic_to_global(p))
                 : "memory");
#else
    simt_yield(); /* who writes it may be a thread of this block */
    simt_load_relaxed(p, r);
#endif
    memcpy(x, r, sizeof r);
}

template <class T, int V>
__device__ __forceinline__ void store_vector_relaxed(T *p, const T (&x)[V])
{
    static_assert(sizeof x == 16);
    uint64_t r[2];
    memcpy(r, x, sizeof r);
#ifdef __CUDACC__
    asm volatile("{\n\t"
                 ".reg .b128 r;\n\t"
                 "mov.b128 r, {%1, %2};\n\t"
                 "st.relaxed.gpu.global.b128 [%0], r;\n\t"
                 "}" ::"l"(__cvta_generic_to_global(p)),
                 "l"(r[0]), "l"(r[1])
                 : "memory");
#else
    simt_store_relaxed(p, r);
#endif
}

/* Asks for the line at `p` to be brought into the L2 cache. */
__device__ __forceinline__ void prefetch_l2(const void *p)
{
#ifdef __CUDACC__
    asm volatile("prefetch.global.L2 [%0];" ::"l"(p));
#else
    __builtin_prefetch(p);
#endif
}

#endif
