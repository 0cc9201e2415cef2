/*
 * fast_ways.cuh - how the sums of a strip come together in a block whose slots share the strip's columns. As
 * many warps as there are ways have the same two strips: each strip becomes one warp's, of the first way or of the
 * second, and the others give it theirs, through shared memory. Two barriers: `given` counts the lanes that have given,
 * `taken` those that have got all, so that the sums of the next group may be given.
 */
#ifndef LAB9_FAST_WAYS_CUH
#define LAB9_FAST_WAYS_CUH

#include "fast.cuh"

#include "device/vec.cuh"

static __device__ __forceinline__ void add_to(float (&sum)[4], const float4 &more)
{
    sum[0] += more.x;
    sum[1] += more.y;
    sum[2] += more.z;
    sum[3] += more.w;
}

/* Warps of the same strips are of one set; numbers are those of a way, one after the other. */
__host__ __device__ static inline int sets_of(const fast_product &p)
{
    return WORKERS / p.A.shape.ways;
}
__host__ __device__ static inline int receiving_warps(const fast_product &p)
{
    return sets_of(p) * min(p.A.shape.ways, WARP_STRIPS);
}

/* For more ways than one. */
template <int TILES> struct sums_handover {
    mbarrier *given, *taken;
    float4 *sums;
    int set, way, ways;
    unsigned parity; /* of the groups */

    __device__ sums_handover(const fast_product &p, const fast_layout &at, unsigned char *shared,
                             int worker)
        : given((mbarrier *)(shared + at.given)), taken((mbarrier *)(shared + at.taken)),
          sums((float4 *)(shared + at.sums) + lane_id()), set(worker % sets_of(p)),
          way(worker / sets_of(p)), ways(p.A.shape.ways), parity(0)
    {
    }
    __device__ bool receives() const { return way < WARP_STRIPS; }

    /* Where a lane of another way leaves its four sums of a tile. */
    __device__ float4 *place(int strip, int giver, int tile) const
    {
        const int slot = (set * WARP_STRIPS + strip) * (ways - 1) + giver - (giver > strip ? 1 : 0);
        return sums + (slot * TILES + tile) * LANES;
    }

    /* A group is done: sums of the strip that is not this warp's are given away, and those of the one that is come
     * together in `mine`. Each lane speaks for itself: racecheck does not see the __syncwarp() by which one could
     * speak for all. */
    __device__ void bring_together(const float (&sum)[WARP_STRIPS][TILES][4],
                                   float (&mine)[1][TILES][4])
    {
        mbarrier_wait(taken, parity ^ 1);
#pragma unroll
        for (int strip = 0; strip < WARP_STRIPS; strip++)
            if (strip != way)
#pragma unroll
                for (int n = 0; n < TILES; n++)
                    store_vector((float *)place(strip, way, n), sum[strip][n]);
        mbarrier_arrive(given);
        if (receives()) {
#pragma unroll
            for (int n = 0; n < TILES; n++)
                for (int i = 0; i < 4; i++)
                    mine[0][n][i] = way == 0 ? sum[0][n][i] : sum[1][n][i];
            mbarrier_wait(given, parity);
#pragma unroll 1
            for (int giver = 0; giver < ways; giver++)
                if (giver != way)
#pragma unroll
                    for (int n = 0; n < TILES; n++)
                        add_to(mine[0][n], *place(way, giver, n));
            mbarrier_arrive(taken);
        }
        parity ^= 1;
    }
};

#endif
