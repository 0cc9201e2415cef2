/*
 * plan_state.cuh - the state that a contender's prepare leaves in its plan, for plans of every operation.
 */
#ifndef OPS_PLAN_STATE_CUH
#define OPS_PLAN_STATE_CUH

#include <cuda_runtime_api.h>

#include <stdlib.h>

/* Makes plan->state, a STATE of zeros, and lets fill(plan, state) complete it. If that fails, release(plan) frees what there is
 * already: all of its members may be zero. Returns fill's error. */
template <class STATE, class PLAN, class FILL>
static cudaError_t plan_state_make(PLAN *plan, const FILL &fill, void (*release)(PLAN *))
{
    STATE *const state = (STATE *)calloc(1, sizeof *state);
    if (!state) return cudaErrorMemoryAllocation;
    plan->state = state;
    const cudaError_t error = fill(plan, state);
    if (error != cudaSuccess) release(plan);
    return error;
}

#endif
