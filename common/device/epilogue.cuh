/*
 * epilogue.cuh - the epilogue of a row's sums in registers, for a kernel that is about to store them.
 *
 * Where it is off, it costs two tests of a kernel's argument for each store. All threads go the same way, no register is
 * held for it while the sums are formed, and no memory is read. Nonzeros, of which a row has many, pay nothing.
 */
#ifndef DEVICE_EPILOGUE_CUH
#define DEVICE_EPILOGUE_CUH

#include "device/epilogue.h"

/* Completes the sums of one row: all of them, never some that others are added to afterwards. `row`: of C. */
template <int V>
static __device__ __forceinline__ void apply_epilogue(const row_epilogue &e, int row,
                                                      float (&sum)[V])
{
    if (e.d_bias) {
        const float bias = __ldg(&e.d_bias[row]);
#pragma unroll
        for (int v = 0; v < V; v++)
            sum[v] += bias;
    }
    if (e.relu)
#pragma unroll
        for (int v = 0; v < V; v++)
            sum[v] = sum[v] < 0 ? 0 : sum[v]; /* fmaxf would turn NaN into 0 */
}

#endif
