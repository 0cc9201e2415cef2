/*
 * tiled_csl.cu - mutants of lab 23's tricks: where a word puts its value, what a tile holds before, what fills up a
 * tile, and who waits for the spread.
 */
#include "mutant.h"

#include "device/half.cuh"
#include "formats/tca_bme.cuh"
#include "formats/tiled_csl.h"

#include <stdlib.h>

enum bug {
    HEALTHY_TILED_CSL,
    TILE_NOT_CLEARED,
    ROWS_WITHOUT_PITCH,
    LAST_WORDS_LOST,
    TILE_WITHOUT_REPEATS,
    MULTIPLIED_BEFORE_SPREAD,
    CLEARED_AFTER_SPREAD,
    LOOKS_AT_UNUSED_ROWS,
};

constexpr int THREADS = 128,
              ELEMENTS = (int)GROUP_SIDE * TILE_PITCH; /* of a tile, with what is beside it */

struct tiled_csl_state {
    tiled_csl A;
    tca_bme repeats;
    uint64_t *d_used;
};

/* A block a row of tiles; a thread a column of B, of which it has N or fewer. */
template <bug BUG>
static __global__ void spmm_tiled_csl_mutant_kernel(const __grid_constant__ tiled_csl_state s,
                                                    int N, const __half *B, __half *C)
{
    __shared__ uint16_t tile[GROUP_SIDE][TILE_PITCH];
    const int t = threadIdx.x;
    float sum[GROUP_SIDE] = {};
    for (int i = t; i < ELEMENTS; i += THREADS)
        (&tile[0][0])[i] = 0;
    for (int k = 0; k < s.A.across; k++) {
        const size_t number = (size_t)blockIdx.x * s.A.across + k;
        const int begin = s.A.offset[number];
        int end = s.A.offset[number + 1];
        if (BUG == LAST_WORDS_LOST && end > begin) end -= TILE_ALIGNMENT;
        __syncthreads();
        for (int i = t; BUG != TILE_NOT_CLEARED && i < ELEMENTS; i += THREADS)
            (&tile[0][0])[i] = 0;
        if (BUG != CLEARED_AFTER_SPREAD) __syncthreads();
        for (int i = begin + t; i < end; i += THREADS) {
            int place = s.A.word[i] & 0xffff;
            if (BUG == ROWS_WITHOUT_PITCH)
                place = place / TILE_PITCH * GROUP_SIDE + place % TILE_PITCH;
            (&tile[0][0])[place] = (uint16_t)(s.A.word[i] >> 16);
        }
        if (BUG != MULTIPLIED_BEFORE_SPREAD) __syncthreads();
        for (int c = 0; c < GROUP_SIDE && t < N; c++) {
            const int column = k * GROUP_SIDE + c;
            const bool used = s.d_used[k] >> c & 1;
            if (column >= s.A.cols || (!used && BUG != LOOKS_AT_UNUSED_ROWS)) continue;
            const float b = widen(B[(size_t)column * N + t]);
            for (int r = 0; r < GROUP_SIDE; r++)
                sum[r] += widen(half_of_bits<__half>(tile[r][c])) * b;
        }
    }
    const row_major<__half> right = {B, N};
    for (int r = 0; r < GROUP_SIDE && t < N; r++) {
        const int row = blockIdx.x * GROUP_SIDE + r;
        if (row >= s.A.rows) break;
        const float again =
            BUG == TILE_WITHOUT_REPEATS ? 0 : repeated_products(s.repeats, right, row, t);
        C[(size_t)row * N + t] = narrow<__half>(sum[r] + again);
    }
}

static cudaError_t prepare(spmm_plan *plan)
{
    tiled_csl_state *s = (tiled_csl_state *)calloc(1, sizeof *s);
    plan->state = s;
    if (!s) return cudaErrorMemoryAllocation;
    cudaError_t error = tca_bme_create(&plan->A, &s->repeats);
    if (error == cudaSuccess) error = cudaMalloc(&s->d_used, s->repeats.across * sizeof *s->d_used);
    if (error == cudaSuccess) error = tca_bme_used_columns(&s->repeats, s->d_used);
    return error == cudaSuccess ? tiled_csl_build(ON_DEVICE, &s->repeats, &s->A) : error;
}

static void release(spmm_plan *plan)
{
    tiled_csl_state *s = (tiled_csl_state *)plan->state;
    tiled_csl_free(&s->A);
    tca_bme_destroy(&s->repeats);
    cudaFree(s->d_used);
    free(s);
}

template <bug BUG>
static cudaError_t run16(const spmm_plan *plan, const void *B, void *C, cudaStream_t stream)
{
    const tiled_csl_state *s = (const tiled_csl_state *)plan->state;
    spmm_tiled_csl_mutant_kernel<BUG>
        <<<s->A.down, THREADS, 0, stream>>>(*s, plan->N, (const __half *)B, (__half *)C);
    return cudaGetLastError();
}

#define TILED_CSL_MUTANT(bug, shows, diagnosis)                                                  \
    static spmm_contender mutant_##bug = {                                                       \
        .base = {.lab = shows, .name = #bug, .summary = diagnosis, .precision = PRECISION_FP16}, \
        .prepare = prepare,                                                                      \
        .run16 = run16<bug>,                                                                     \
        .release = release,                                                                      \
    };                                                                                           \
    SPMM_REGISTER(mutant_##bug)

TILED_CSL_MUTANT(HEALTHY_TILED_CSL, SHOWS_ALWAYS, NULL)
TILED_CSL_MUTANT(TILE_NOT_CLEARED, SHOWS_ALWAYS, "wrong values")
TILED_CSL_MUTANT(ROWS_WITHOUT_PITCH, SHOWS_ALWAYS, "wrong values")
TILED_CSL_MUTANT(LAST_WORDS_LOST, SHOWS_ALWAYS, "wrong values")
TILED_CSL_MUTANT(TILE_WITHOUT_REPEATS, SHOWS_ALWAYS, "wrong values")
TILED_CSL_MUTANT(MULTIPLIED_BEFORE_SPREAD, SHOWS_ON_SIMT, "wrong values")
TILED_CSL_MUTANT(CLEARED_AFTER_SPREAD, SHOWS_ON_SIMT, "wrong values")
TILED_CSL_MUTANT(LOOKS_AT_UNUSED_ROWS, SHOWS_ALWAYS, "NaN or infinity computed")
