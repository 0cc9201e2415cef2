/*
 * sddmm_strips.cu - mutants of SDDMM with strips of nonzeros (lab 31): groups of 8 lanes, the row of X
 * in registers, eight sums reduced at a time, segments found by bits; and the ways to lose one of them.
 */
#include "mutant.h"

#include "device/vec.cuh"
#include "device/warp.cuh"
#include "formats/strips.cuh"

enum bug {
    HEALTHY_STRIPS,
    ROW_KEPT_IN_BATCH,
    ROW_KEPT_BETWEEN_BATCHES,
    ROWS_OF_STRIP_BEFORE,
    FIRST_PLACE_COUNTED_TWICE,
    LAST_STRIP_STORES_ALL,
    LAST_STRIP_DROPPED,
    WRONG_HALF_KEPT,
    SUMS_NOT_EXCHANGED,
    WHOLE_VECTORS_ONLY,
    OFFSET_FORGOTTEN,
    STRIP_WEIGHT_IGNORED,
};

constexpr int LANES = 8, BATCH = 8, V = 4, PIECES = 4; /* K up to 128, a multiple of 4 */

/* A group for each strip; sums as in the lab, by halves that lanes keep and send away. */
template <bug BUG>
__global__ void sddmm_strips_mutant_kernel(int K, strips pattern, const float *W, const float *X,
                                           const float *Y, float *D)
{
    const int lane = threadIdx.x % LANES, nnz = pattern.places;
    const int s = blockIdx.x * (WARP_SIZE / LANES) + threadIdx.x / LANES, first = s * STRIP;
    const int vectors = BUG == WHOLE_VECTORS_ONLY ? K / (LANES * V) * LANES : K / V;
    const int last_strip = (nnz - 1) / STRIP;
    const int known = BUG == ROWS_OF_STRIP_BEFORE && s > 0 ? s - 1 : s;
    const strip own = pattern.d_strip[min(known, last_strip)];
    float x[PIECES][V] = {};
    int row_of_x = -1;
    for (int b = 0; b < STRIP; b += BATCH) {
        float sum[BATCH] = {};
        for (int j = 0; j < BATCH; j++) {
            const int place = min(first + b + j, nnz - 1);
            int segment = segment_of(own, place);
            if (BUG == FIRST_PLACE_COUNTED_TWICE && own.starts & 2) segment++;
            const int row = pattern.d_row[segment];
            const bool looks = BUG == ROW_KEPT_IN_BATCH          ? j == 0
                               : BUG == ROW_KEPT_BETWEEN_BATCHES ? j > 0 || b == 0
                                                                 : true;
            const bool fresh = looks && row != row_of_x;
            if (looks) row_of_x = row;
            for (int k = 0; k < PIECES; k++) {
                const int vector = k * LANES + lane;
                float y[V];
                if (vector >= vectors) continue;
                if (fresh) load_vector(x[k], &X[(size_t)row * K + vector * V]);
                load_vector(y, &Y[(size_t)pattern.d_column[place] * K + vector * V]);
                for (int v = 0; v < V; v++)
                    sum[j] += x[k][v] * y[v];
            }
        }
        for (int bit = BATCH / 2; bit > 0; bit /= 2)
            for (int j = 0; j < bit; j++) {
                const bool upper = !(lane & bit) == (BUG == WRONG_HALF_KEPT);
                const float keep = upper ? sum[j + bit] : sum[j];
                const float send = upper ? sum[j] : sum[j + bit];
                const float other = __shfl_xor_sync(FULL_MASK, send, bit);
                sum[j] = BUG == SUMS_NOT_EXCHANGED ? keep : keep + other;
            }
        int z = first + b + lane;
        if (BUG == LAST_STRIP_DROPPED && s == last_strip && nnz % STRIP) continue;
        if (z >= nnz && (BUG != LAST_STRIP_STORES_ALL || s > last_strip)) continue;
        if (pattern.d_offset && BUG != OFFSET_FORGOTTEN) z += pattern.d_offset[segment_of(own, z)];
        D[z] = W && BUG != STRIP_WEIGHT_IGNORED ? W[z] * sum[0] : sum[0];
    }
}

template <int BLOCKS> static cudaError_t prepare(sddmm_plan *plan)
{
    return strips_build(&plan->W, BLOCKS, (strips **)&plan->state);
}

static void release(sddmm_plan *plan)
{
    strips_free((strips *)plan->state);
}

template <bug BUG>
static cudaError_t run(const sddmm_plan *plan, const float *X, const float *Y, float *D,
                       cudaStream_t stream)
{
    const int nnz = plan->W.nnz, of_warp = STRIP * (WARP_SIZE / LANES);
    sddmm_strips_mutant_kernel<BUG><<<(nnz - 1) / of_warp + 1, WARP_SIZE, 0, stream>>>(
        plan->K, *(const strips *)plan->state, plan->W.d_values, X, Y, D);
    return cudaGetLastError();
}

#define STRIPS_MUTANT(bug, shows, blocks, diagnosis)                \
    static sddmm_contender mutant_##bug = {                         \
        .base = {.lab = shows, .name = #bug, .summary = diagnosis}, \
        .prepare = prepare<blocks>,                                 \
        .run = run<bug>,                                            \
        .release = release,                                         \
    };                                                              \
    SDDMM_REGISTER(mutant_##bug)

STRIPS_MUTANT(HEALTHY_STRIPS, SHOWS_ALWAYS, 1, NULL)
STRIPS_MUTANT(ROW_KEPT_IN_BATCH, SHOWS_ALWAYS, 1, "the row of X was that of an earlier nonzero")
STRIPS_MUTANT(ROW_KEPT_BETWEEN_BATCHES, SHOWS_ALWAYS, 1,
              "the row of X was that of an earlier nonzero")
STRIPS_MUTANT(ROWS_OF_STRIP_BEFORE, SHOWS_ALWAYS, 1, "wrong values")
STRIPS_MUTANT(FIRST_PLACE_COUNTED_TWICE, SHOWS_ALWAYS, 1, "wrong values")
STRIPS_MUTANT(LAST_STRIP_STORES_ALL, SHOWS_ALWAYS, 1,
              "wrote outside the output, 0 bytes past its end")
STRIPS_MUTANT(LAST_STRIP_DROPPED, SHOWS_ALWAYS, 1,
              "never written: only the last 25 of 15801 nonzeros")
STRIPS_MUTANT(WRONG_HALF_KEPT, SHOWS_ALWAYS, 1,
              "it holds the value of another nonzero, at most 7 places away")
STRIPS_MUTANT(SUMS_NOT_EXCHANGED, SHOWS_ALWAYS, 1, "wrong values: in every row that is not empty")
STRIPS_MUTANT(WHOLE_VECTORS_ONLY, SHOWS_ALWAYS, 1, "only the first 96 of 100 features were summed")
STRIPS_MUTANT(OFFSET_FORGOTTEN, SHOWS_ON_NEIGHBOURS, 500, "wrong values")
STRIPS_MUTANT(STRIP_WEIGHT_IGNORED, SHOWS_ON_VALUES, 1, "the weight was not multiplied in")
