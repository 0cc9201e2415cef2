/*
 * vectors.cu - built-in vector types: the sizes and alignments of the Programming Guide's table,
 * loads and stores with and without cache hints; and the wrappers of device/vec.cuh.
 */
#include "tests/primitives/primitives.h"

#include "device/vec.cuh"
#include <cuda_fp16.h>

static int wrong_layouts;

template <class T> static void layout(const char *name, size_t size, size_t alignment)
{
    if (sizeof(T) == size && alignof(T) == alignment) return;
    tap_note("%s: size %zu, alignment %zu", name, sizeof(T), alignof(T));
    wrong_layouts++;
}

static void layouts(void)
{
#define FOUR(T, BYTES)                          \
    layout<T##1>(#T "1", BYTES, BYTES);         \
    layout<T##2>(#T "2", 2 * BYTES, 2 * BYTES); \
    layout<T##3>(#T "3", 3 * BYTES, BYTES)
    FOUR(char, 1);
    FOUR(uchar, 1);
    FOUR(short, 2);
    FOUR(ushort, 2);
    FOUR(int, 4);
    FOUR(uint, 4);
    FOUR(float, 4);
    FOUR(longlong, 8);
    FOUR(ulonglong, 8);
    FOUR(double, 8);
    layout<char4>("char4", 4, 4);
    layout<uchar4>("uchar4", 4, 4);
    layout<short4>("short4", 8, 8);
    layout<ushort4>("ushort4", 8, 8);
    layout<int4>("int4", 16, 16);
    layout<uint4>("uint4", 16, 16);
    layout<float4>("float4", 16, 16);
    layout<__half2>("__half2", 4, 4);
    layout<dim3>("dim3", 12, 4);
    tap_ok(wrong_layouts == 0, "size and alignment of every vector type");
}

__global__ void make_kernel(float *out)
{
    const char4 c = make_char4(1, -2, 3, -4);
    const ushort2 s = make_ushort2(5, 65535);
    const int3 i = make_int3(7, -8, 9);
    const uint4 u = make_uint4(1u << 31, 1, 2, 3);
    const float4 f = make_float4(0.5f, 1.5f, 2.5f, 3.5f);
    const double2 d = make_double2(1e-3, -1e3);
    const longlong2 l = make_longlong2(1LL << 40, -1);
    float4 g = f;
    g.z = 10;
    out[0] = c.x + 10 * c.y + 100 * c.z + 1000 * c.w;
    out[1] = s.x + s.y;
    out[2] = i.x + 10 * i.y + 100 * i.z;
    out[3] = (float)u.x + u.y + u.z + u.w;
    out[4] = f.x + 2 * f.y + 4 * f.z + 8 * f.w;
    out[5] = (float)(d.x * d.y);
    out[6] = (float)(l.x >> 40) + l.y;
    out[7] = g.x + g.y + g.z + g.w;
}

/* Copies n elements with each kind of load and store in turn. */
template <class T> __global__ void copy_kernel(T *to, const T *from, int n)
{
    const int i = threadIdx.x;
    to[i] = __ldg(from + i);
    to[n + i] = __ldca(from + i);
    to[2 * n + i] = __ldcg(from + i);
    to[3 * n + i] = __ldcs(from + i);
    to[4 * n + i] = __ldlu(from + i);
    to[5 * n + i] = __ldcv(from + i);
    __stwb(to + 6 * n + i, from[i]);
    __stcg(to + 7 * n + i, from[i]);
    __stcs(to + 8 * n + i, from[i]);
    __stwt(to + 9 * n + i, from[i]);
}

template <class T> static bool copies(void)
{
    const int n = 64;
    T from[n], to[10 * n];
    for (size_t i = 0; i < sizeof from; i++)
        ((unsigned char *)from)[i] = (unsigned char)(37 * i + i / 256);
    T *d_from = to_device(from, n), *d = device_zeros<T>(10 * n);
    copy_kernel<<<1, n>>>(d, d_from, n);
    FINISH();
    to_host(to, d, 10 * n);
    CUDA(cudaFree(d_from));
    bool right = true;
    for (int k = 0; k < 10; k++)
        right &= memcmp(to + k * n, from, sizeof from) == 0;
    return right;
}

/* ---- device/vec.cuh ---------------------------------------------------------------------------
 */

template <class T, int V> __global__ void vector_kernel(T *to, const T *from, int n)
{
    const int i = V * threadIdx.x;
    __shared__ __align__(16) T tile[64 * V];
    T a[V], b[V], c[V];
    load_vector(a, from + i);
    load_vector_streaming(b, from + i);
    store_vector(tile + i, b);
    load_vector_plain(c, tile + i);
    store_vector(to + i, a);
    store_vector_streaming(to + n + i, c);
    prefetch_l2(from);
}

template <class T, int V> static bool vectors(void)
{
    const int n = 64 * V;
    T from[n], to[2 * n];
    for (size_t i = 0; i < sizeof from; i++)
        ((unsigned char *)from)[i] = (unsigned char)(101 * i + i / 256);
    T *d_from = to_device(from, n), *d = device_zeros<T>(2 * n);
    vector_kernel<T, V><<<1, 64>>>(d, d_from, n);
    FINISH();
    to_host(to, d, 2 * n);
    CUDA(cudaFree(d_from));
    return memcmp(to, from, sizeof from) == 0 && memcmp(to + n, from, sizeof from) == 0;
}

int main()
{
    layouts();

    static const float want[] = {-3719, 65540, 827, 2147483654.0f, 41.5f, -1, 0, 15.5f};
    float *d = device_zeros<float>(8), got[8];
    make_kernel<<<1, 1>>>(d);
    FINISH();
    to_host(got, d, 8);
    bool right = true;
    for (int i = 0; i < 8; i++)
        right &= got[i] == want[i];
    tap_ok(right, "make_*, fields, copies");

    tap_ok(copies<char>() && copies<short>() && copies<int>() && copies<unsigned>() &&
               copies<long long>() && copies<float>() && copies<double>(),
           "hinted loads and stores of scalars");
    tap_ok(copies<char4>() && copies<short2>() && copies<int2>() && copies<float2>() &&
               copies<float4>() && copies<uint4>() && copies<double2>() && copies<longlong2>(),
           "hinted loads and stores of vectors");
    tap_ok(copies<__half>() && copies<__half2>(), "hinted loads and stores of halves");

    tap_ok(vectors<float, 1>() && vectors<float, 2>() && vectors<float, 4>(),
           "vec.cuh: 1, 2, 4 floats");
    tap_ok(vectors<short, 1>() && vectors<short, 2>() && vectors<short, 4>() && vectors<short, 8>(),
           "vec.cuh: 1, 2, 4, 8 shorts");
    tap_ok(vectors<__half, 2>() && vectors<__half, 8>() && vectors<int, 4>() &&
               vectors<double, 2>(),
           "vec.cuh: halves, ints, doubles");
    return tap_done();
}
