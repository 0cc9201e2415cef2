/*
 * head_part.cuh - a lane's part of one head of one node: the features that it multiplies, adds up and stores.
 */
#ifndef LAB36_HEAD_PART_CUH
#define LAB36_HEAD_PART_CUH

#include "device/byte_offset.cuh"
#include "device/half.cuh"
#include "device/vec.cuh"
#include "device/warp.cuh"

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

    static constexpr __device__ bool sure(int k)
    {
        return V * sizeof(H) == 16 && k < PIECES / 2;
    }
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
    /* V of them, which may be more bytes than one load brings: floats beside 16-bit features. */
    template <class X>
    static __device__ __forceinline__ void load_features(X (&x)[V], const X *from)
    {
        constexpr int AT_ONCE = V * sizeof(X) > 16 ? 16 / (int)sizeof(X) : V;
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
    int vector = 16 / (int)element, lanes = 4;
    while (d % vector)
        vector /= 2;
    if (vector * element < 16) return {vector, WARP_SIZE, narrow_pieces(vector)};
    const int vectors = d / vector;
    while (vectors > WARP_SIZE * pieces)
        pieces *= 2;
    while (pieces > 1 && vectors <= 4 * pieces) /* of a group of 8 lanes at least half is in use */
        pieces /= 2;
    while (lanes * pieces < vectors)
        lanes *= 2;
    return {vector, lanes, pieces};
}

#endif
