/*
 * head_part.cuh - a lane's part of one head of one node: the features that it multiplies, adds up and stores.
 */
#ifndef DEVICE_HEAD_PART_CUH
#define DEVICE_HEAD_PART_CUH

#include "device/byte_offset.cuh"
#include "device/half.cuh"
#include "device/vec.cuh"
#include "device/warp.cuh"

constexpr int WIDE = 16; /* bytes of the widest load */

/* Registers that a load of so many bytes fills. */
constexpr int words_of(int bytes)
{
    return bytes < 4 ? 1 : bytes / 4;
}

/* PIECES vectors of V features, LANES vectors apart. Of vectors of 16 bytes only the later half may be missing, or the
 * only one (head_shape). A lane without a vector loads the head's last one, a load without a condition; it is
 * multiplied by zero, or not stored. */
template <class H, int V, int LANES, int PIECES> struct head_part {
    typedef H vectors[PIECES][V];
    typedef float floats[PIECES][V];
    int lane, count; /* of the head's vectors this lane's first; all of them */

    __device__ __forceinline__ explicit head_part(int vectors_of_head)
        : lane(threadIdx.x % LANES), count(vectors_of_head)
    {
    }

    static constexpr __device__ bool sure(int k) { return V * sizeof(H) == WIDE && k < PIECES / 2; }
    __device__ __forceinline__ bool inside(int k) const
    {
        return sure(k) || lane + k * LANES < count;
    }

    /* Where this lane's vector k begins, in features of the head. */
    __device__ __forceinline__ int feature(int k) const
    {
        return (sure(k) ? lane + k * LANES : min(lane + k * LANES, count - 1)) * V;
    }

    /* Loads the part. from: feature(0) of a node's head. */
    __device__ __forceinline__ void load(vectors &x, const H *from) const
    {
#pragma unroll
        for (int k = 0; k < PIECES; k++)
            load_vector(x[k], from + (sure(k) ? k * LANES * V : feature(k) - feature(0)));
    }

    /* The same as floats, and 0 where a vector is missing. head: feature 0. X: H, or float beside it. */
    template <class X> __device__ __forceinline__ void load_own(floats &x, const X *head) const
    {
#pragma unroll
        for (int k = 0; k < PIECES; k++) {
            X raw[V];
            load_features(raw, head + feature(k));
#pragma unroll
            for (int v = 0; v < V; v++)
                x[k][v] = inside(k) ? widen(raw[v]) : 0;
        }
    }

    /* Stores `scale` times the part. head: feature 0. */
    __device__ __forceinline__ void store(H *head, const floats &x, float scale) const
    {
#pragma unroll
        for (int k = 0; k < PIECES; k++) {
            H raw[V];
#pragma unroll
            for (int v = 0; v < V; v++)
                raw[v] = narrow<H>(x[k][v] * scale);
            if (inside(k)) store_vector_streaming(head + feature(k), raw);
        }
    }

  private:
    /* Vectors of V, which one load may not bring: of floats beside 16-bit features. */
    template <class X>
    static __device__ __forceinline__ void load_features(X (&x)[V], const X *from)
    {
        constexpr int AT_ONCE = V * sizeof(X) > WIDE ? WIDE / (int)sizeof(X) : V;
#pragma unroll
        for (int v = 0; v < V; v += AT_ONCE) {
            X some[AT_ONCE];
            load_vector(some, from + v);
#pragma unroll
            for (int i = 0; i < AT_ONCE; i++)
                x[v + i] = some[i];
        }
    }
};

/* This lane's part of the product of two rows; subwarp_sum makes it the whole one. */
template <class H, int V, int PIECES>
__device__ __forceinline__ float dot(const float (&x)[PIECES][V], const H (&y)[PIECES][V])
{
    float sum = 0;
#pragma unroll
    for (int k = 0; k < PIECES; k++)
#pragma unroll
        for (int v = 0; v < V; v++)
            sum += x[k][v] * widen(y[k][v]);
    return sum;
}

/* sum += weight * x. */
template <class H, int V, int PIECES>
__device__ __forceinline__ void add_scaled(float (&sum)[PIECES][V], float weight,
                                           const H (&x)[PIECES][V])
{
#pragma unroll
    for (int k = 0; k < PIECES; k++)
#pragma unroll
        for (int v = 0; v < V; v++)
            sum[k][v] += weight * widen(x[k][v]);
}

/* exp(x); a softmax has no x above 0. */
__device__ __forceinline__ float exponential(float x)
{
    const float LOG2_E = 1.44269504f;
    return exp2f(x * LOG2_E);
}

/* ---- which shape ------------------------------------------------------------------------------ */

/* How a group takes a head: features of a load, lanes, loads of a lane. */
struct head_shape {
    int vector, lanes, pieces;
};

constexpr int WIDEST_HEAD = 256; /* features: a warp has 8 pieces of one feature */

/* Loads of a lane where a head suits no vectors of 16 bytes: a warp has any head then. */
__host__ __device__ constexpr int narrow_pieces(int vector)
{
    return WIDEST_HEAD / WARP_SIZE / vector;
}

/* The shape for heads of d features, by the widest loads that suit d. pieces: loads of a lane that are wanted; fewer,
 * where so many would leave lanes without any; or more, where a warp cannot do with them. */
static inline head_shape head_shape_of(int d, size_t element, int pieces)
{
    int vector = WIDE / (int)element, lanes = 4;
    while (d % vector)
        vector /= 2;
    if (vector * element < WIDE) return {vector, WARP_SIZE, narrow_pieces(vector)};
    const int vectors = d / vector;
    while (vectors > WARP_SIZE * pieces)
        pieces *= 2;
    while (pieces > 1 && vectors <= 4 * pieces) /* of a group of 8 lanes at least half is in use */
        pieces /= 2;
    while (lanes * pieces < vectors)
        lanes *= 2;
    return {vector, lanes, pieces};
}

/* Two loads a lane, where that leaves groups of 8 lanes or more. */
static inline int usual_pieces(int d, size_t element)
{
    return d * element / WIDE <= 8 ? 1 : 2;
}

/* Why a head is too wide, or NULL. */
static inline const char *head_unsuited(int d)
{
    return d > WIDEST_HEAD ? "a group of lanes keeps at most 256 features of a head" : NULL;
}

/* Settings of both passes: this one, ... */
#define TUNABLE_PIECES                                              \
    {                                                               \
        "PIECES", "loads that a lane makes of a head", {1, 2}, 2, 1 \
    }

/* The kernel of a shape. KERNELS: an object with a function get<V, LANES, PIECES>(). */
template <class H, class KERNELS>
static auto kernel_of_shape(const head_shape &shape, const KERNELS &kernels)
{
    constexpr int V = WIDE / sizeof(H);
    if (shape.vector == 1) return kernels.template get<1, WARP_SIZE, narrow_pieces(1)>();
    if (shape.vector == 2) return kernels.template get<2, WARP_SIZE, narrow_pieces(2)>();
    if constexpr (V == 8)
        if (shape.vector == 4) return kernels.template get<4, WARP_SIZE, narrow_pieces(4)>();
    if (shape.pieces == 1)
        return shape.lanes == 4    ? kernels.template get<V, 4, 1>()
               : shape.lanes == 8  ? kernels.template get<V, 8, 1>()
               : shape.lanes == 16 ? kernels.template get<V, 16, 1>()
                                   : kernels.template get<V, WARP_SIZE, 1>();
    return shape.lanes == 8    ? kernels.template get<V, 8, 2>()
           : shape.lanes == 16 ? kernels.template get<V, 16, 2>()
                               : kernels.template get<V, WARP_SIZE, 2>();
}

#endif
