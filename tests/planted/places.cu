/*
 * places.cu - bugs whose access is made by other code than the line to blame: the C library's functions,
 * wrappers of common/device, lambdas, macros, copies of structs. The line of the kernel is named.
 */
#include "planted.h"

#include "device/vec.cuh"

static const int MEMCHECK = INSTRUMENT_MEMCHECK;

struct four {
    int of[4];
};

template <bool RIGHT> static __global__ void copy_past_kernel(const int *A, int *C, int bytes)
{
    HERE, memcpy(C, A, bytes);
}
template <bool RIGHT> static void copy_past(void)
{
    copy_past_kernel<RIGHT>
        <<<1, 1>>>(named<int>("A", 40), named<int>("C", 32), opaque(RIGHT ? 128 : 132));
}

/* A wrapper of the suite, which is inlined or not. */
template <bool RIGHT> static __global__ void vector_past_kernel(const float *B, float *C)
{
    float x[4];
    HERE, load_vector_streaming(x, B + 4 * threadIdx.x);
    C[threadIdx.x] = x[0] + x[3];
}
template <bool RIGHT> static void vector_past(void)
{
    vector_past_kernel<RIGHT><<<1, RIGHT ? 8 : 9>>>(named<float>("B", 32), named<float>("C", 9));
}

/* A struct, by a lambda, in a macro. */
#define COPY_ALL(from, to) [&](int i) { to[i] = from[i]; }(threadIdx.x)
template <bool RIGHT> static __global__ void struct_past_kernel(const four *A, four *C)
{
    HERE, COPY_ALL(A, C);
}
template <bool RIGHT> static void struct_past(void)
{
    struct_past_kernel<RIGHT><<<1, RIGHT ? 2 : 3>>>(named<four>("A", 3), named<four>("C", 2));
}

/* A relaxed access of 16 bytes, as posted sums have it, and the compiler's own atomics. */
template <bool RIGHT> static __global__ void relaxed_past_kernel(float *C)
{
    const float x[4] = {1, 2, 3, 4};
    HERE, store_vector_relaxed(C + 4 * threadIdx.x, x);
}
template <bool RIGHT> static void relaxed_past(void)
{
    relaxed_past_kernel<RIGHT><<<1, RIGHT ? 2 : 3>>>(named<float>("C", 8));
}
template <bool RIGHT> static __global__ void atomic_past_kernel(int *C)
{
    HERE, __atomic_fetch_add(&C[threadIdx.x], 1, __ATOMIC_RELAXED);
}
template <bool RIGHT> static void atomic_past(void)
{
    atomic_past_kernel<RIGHT><<<1, RIGHT ? 8 : 9>>>(named<int>("C", 8));
}

void plant_places(void)
{
    BUG(copy_past, MEMCHECK, "out of bounds", "writes 4 bytes at C[32] (1 past its end)", {0, 0, 0},
        {0, 0, 0});
    BUG(vector_past, MEMCHECK, "out of bounds", "reads 16 bytes at B[32] (1 past its end)",
        {0, 0, 0}, {8, 0, 0});
    BUG(struct_past, MEMCHECK, "out of bounds", "bytes at C[2] (1 past its end)", {0, 0, 0},
        {2, 0, 0});
    BUG(relaxed_past, MEMCHECK, "out of bounds", "writes 16 bytes at C[8] (1 past its end)",
        {0, 0, 0}, {2, 0, 0});
    BUG(atomic_past, MEMCHECK, "out of bounds", "updates 4 bytes at C[8] (1 past its end)",
        {0, 0, 0}, {8, 0, 0});
}
