/*
 * fast_ways.cuh - how the sums of a strip come together in a block whose slots share the strip's columns:
 * the warps of the first way receive, in the order of the ways, what those of the others give, through
 * shared memory. Two barriers: `given` counts the lanes that have given theirs, `taken` those that have got
 * all, so that those of the next group may be given.
 */
#ifndef LAB9_FAST_WAYS_CUH
#define LAB9_FAST_WAYS_CUH

#include "fast.cuh"

#include "device/vec.cuh"

/* Warps that receive: a slot of theirs is the strip of that number. */
__host__ __device__ static inline int receiving_warps(const fast_product &p)
{
    return WORKERS / p.A.shape.ways;
}

static __device__ __forceinline__ void add_to(float (&sum)[4], const float4 &more)
{
    sum[0] += more.x;
    sum[1] += more.y;
    sum[2] += more.z;
    sum[3] += more.w;
}

template <int TILES> struct sums_handover {
    mbarrier *given, *taken;
    float4 *sums;
    int worker, receivers;
    unsigned parity; /* of the groups */

    __device__ sums_handover(const fast_product &p, const fast_layout &at, unsigned char *shared,
                             int worker)
        : given((mbarrier *)(shared + at.given)), taken((mbarrier *)(shared + at.taken)),
          sums((float4 *)(shared + at.sums) + lane_id()), worker(worker),
          receivers(receiving_warps(p)), parity(0)
    {
    }
    __device__ bool receives() const { return worker < receivers; }

    /* Where a warp leaves a lane's four sums of a tile. */
    __device__ float4 *place(int giver, int strip, int tile) const
    {
        const int slot = WARP_STRIPS * (giver - receivers) + strip;
        return sums + (slot * TILES + tile) * LANES;
    }

    /* A group is done: either this warp's sums become those of its strips, or they are given away. */
    __device__ void bring_together(float (&sum)[WARP_STRIPS][TILES][4])
    {
        if (receivers == WORKERS) return;
        mbarrier_wait(receives() ? given : taken, receives() ? parity : parity ^ 1);
        /* Not `else`: the compiler would take other registers for sums that are received, and move them. */
        if (!receives()) give(sum);
        if (receives()) receive(sum);
        /* Each lane for itself: racecheck does not see the __syncwarp() by which one could speak for all. */
        mbarrier_arrive(receives() ? taken : given);
        parity ^= 1;
    }
    __device__ __forceinline__ void give(const float (&sum)[WARP_STRIPS][TILES][4]) const
    {
#pragma unroll
        for (int strip = 0; strip < WARP_STRIPS; strip++)
#pragma unroll
            for (int n = 0; n < TILES; n++)
                store_vector((float *)place(worker, strip, n), sum[strip][n]);
    }
    __device__ __forceinline__ void receive(float (&sum)[WARP_STRIPS][TILES][4]) const
    {
#pragma unroll 1
        for (int giver = worker + receivers; giver < WORKERS; giver += receivers)
#pragma unroll
            for (int strip = 0; strip < WARP_STRIPS; strip++)
#pragma unroll
                for (int n = 0; n < TILES; n++)
                    add_to(sum[strip][n], *place(giver, strip, n));
    }
};

#endif
