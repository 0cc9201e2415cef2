/*
 * sums_exchange.cuh - brings sums together that several warps of a block have of the same elements.
 *
 * Several warps, the "ways" of a set, share two strips of C: each has multiplied other columns of A, so
 * each has sums of both strips. Afterwards way 0 has all of the first strip, way 1 all of the second, and
 * the other ways have none. Sums go through shared memory. Two barriers keep the order. `given` counts the
 * lanes that have left their sums. `taken` counts the lanes that have added all of them: then the sums of
 * the next round may be left.
 */
#ifndef DEVICE_SUMS_EXCHANGE_CUH
#define DEVICE_SUMS_EXCHANGE_CUH

#include "device/mbarrier.cuh"
#include "device/vec.cuh"
#include "device/warp.cuh"

constexpr int EXCHANGED_STRIPS = 2; /* of a warp */

static __device__ __forceinline__ void add_to(float (&sum)[4], const float4 &more)
{
    sum[0] += more.x;
    sum[1] += more.y;
    sum[2] += more.z;
    sum[3] += more.w;
}

/* A warp's side of the exchange: sums of TILES tiles a strip, four numbers a lane and tile. */
template <int TILES> struct sums_exchange {
    mbarrier *given, *taken; /* of all giving lanes; of the lanes of all warps that receive */
    float4 *sums; /* shared memory for (ways - 1) * 2 strips of each set; the lane's place */
    int set, way, ways;
    unsigned parity; /* of the rounds */

    __device__ sums_exchange(mbarrier *given, mbarrier *taken, float4 *shared, int set, int way,
                             int ways)
        : given(given), taken(taken), sums(shared + lane_id()), set(set), way(way), ways(ways),
          parity(0)
    {
    }
    __device__ bool receives() const { return way < EXCHANGED_STRIPS; }

    /* The place where a lane of way `giver` leaves its four sums of a tile. */
    __device__ float4 *place(int strip, int giver, int tile) const
    {
        const int slot =
            (set * EXCHANGED_STRIPS + strip) * (ways - 1) + giver - (giver > strip ? 1 : 0);
        return sums + (slot * TILES + tile) * WARP_SIZE;
    }

    /* Leaves the sums of strips that are not this warp's, and adds all of its own strip to `mine`. Each
     * lane arrives for itself: racecheck does not see the __syncwarp() by which one could do it for all. */
    __device__ void bring_together(const float (&sum)[EXCHANGED_STRIPS][TILES][4],
                                   float (&mine)[1][TILES][4])
    {
        mbarrier_wait(taken, parity ^ 1);
#pragma unroll
        for (int strip = 0; strip < EXCHANGED_STRIPS; strip++)
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
