/*
 * tile_nonzeros.cuh - from the sums of a chunk of tile_lists.h to its stored elements, a batch of them for each lane of a warp.
 */
#ifndef FORMATS_TILE_NONZEROS_CUH
#define FORMATS_TILE_NONZEROS_CUH

#include "device/half.cuh"
#include "device/vec.cuh"
#include "device/warp.cuh"
#include "formats/tile_lists.cuh"

constexpr int BATCH = 8; /* nonzeros of a lane that are on their way together */

/* Lays the sums of 16 rows out in shared memory, as chunk_index() says. */
template <int RIGHTS>
static __device__ __forceinline__ void lay_out(const float (&sum)[RIGHTS][4], float *own)
{
    const int g = threadIdx.x % WARP_SIZE / 4, t = threadIdx.x % 4;
#pragma unroll
    for (int j = 0; j < RIGHTS; j++)
#pragma unroll
        for (int half = 0; half < 2; half++) {
            const float two[2] = {sum[j][2 * half], sum[j][2 * half + 1]};
            store_vector(&own[chunk_index(8 * half + g, 8 * j + 2 * t)], two);
        }
}

/* BATCH nonzeros of a lane, 32 places apart. */
struct nonzero_batch {
    int code[BATCH],
        place[BATCH]; /* place: in the lists; of the nonzero, once it is found; -1: none */
    float weight[BATCH];
};

/* Loads the codes from `place` on, of a chunk that ends at `end`. */
static __device__ __forceinline__ void load_codes(const tile_lists &pattern, int place, int end,
                                                  nonzero_batch &own)
{
    place += threadIdx.x % WARP_SIZE;
#pragma unroll
    for (int b = 0; b < BATCH; b++, place += WARP_SIZE) {
        own.place[b] = place < end ? place : -1;
        own.code[b] = place < end ? pattern.d_code[place] : 0;
    }
}

/* Finds each code's nonzero, and loads its weight. Lane first_lane + l holds the shift of row l. */
template <class T>
static __device__ __forceinline__ void find_nonzeros(const tile_lists &pattern, const T *W,
                                                     int first_lane, int shift, nonzero_batch &own)
{
#pragma unroll
    for (int b = 0; b < BATCH; b++) {
        const int lane = first_lane + chunk_row(own.code[b]);
        const int number = own.place[b] + __shfl_sync(FULL_MASK, shift, lane);
        if (own.place[b] >= 0) own.place[b] = pattern.d_order ? pattern.d_order[number] : number;
        own.weight[b] = own.place[b] >= 0 && W ? widen(W[own.place[b]]) : 1;
    }
}

/* Stores each nonzero: its sum of the chunk times its weight. */
template <class T>
static __device__ __forceinline__ void store_nonzeros(T *D, const float *chunk,
                                                      const nonzero_batch &own)
{
#pragma unroll
    for (int b = 0; b < BATCH; b++)
        if (own.place[b] >= 0) D[own.place[b]] = narrow<T>(chunk[own.code[b]] * own.weight[b]);
}

#endif
