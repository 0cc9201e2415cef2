/*
 * row_windows.cuh - how lanes read row_windows.h: the nonzeros of runs, as an mma wants them.
 */
#ifndef FORMATS_ROW_WINDOWS_CUH
#define FORMATS_ROW_WINDOWS_CUH

#include "device/vec.cuh"
#include "device/warp.cuh"
#include "formats/row_windows.h"

/* A lane's two nonzeros of a run: columns t and t + 4 of the mma, t = lane % 4. */
struct two_nonzeros {
    float value[2];
    uint32_t key[2];

    /* Loads nonzeros 2 t and 2 t + 1: eight lanes read the same, so a run is one sector of each array. */
    __device__ __forceinline__ void load(const row_windows &w, int run)
    {
        const size_t at = (size_t)run * RUN + lane_id() % 4 * 2;
        load_vector_streaming(value, w.d_value + at);
        load_vector_streaming(key, w.d_key + at);
    }
};

constexpr int GROUP_RUNS = 4; /* whose nonzeros are 32 */

/* A lane's nonzero of GROUP_RUNS runs. */
struct group_of_runs {
    float value[1];
    uint32_t key[1];

    /* Loads the group that begins with `run` of the item's; lanes beyond its last keep what they have. */
    __device__ __forceinline__ void load(const row_windows &w, const window_item &m, int run)
    {
        if (run + lane_id() / RUN >= m.runs) return;
        const size_t at = (size_t)(m.first_run + run) * RUN + lane_id();
        load_vector_streaming(value, w.d_value + at);
        load_vector_streaming(key, w.d_key + at);
    }

    /* This lane's two nonzeros of run d of the group. */
    __device__ __forceinline__ two_nonzeros of_run(int d) const
    {
        two_nonzeros x;
#pragma unroll
        for (int h = 0; h < 2; h++) {
            const int from = d * RUN + h * 4 + lane_id() % 4;
            x.value[h] = __shfl_sync(~0u, value[0], from);
            x.key[h] = __shfl_sync(~0u, key[0], from);
        }
        return x;
    }
};

#endif
