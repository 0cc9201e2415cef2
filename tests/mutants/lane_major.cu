/*
 * lane_major.cu - mutants of lab 20's format: which bank a lane reads and from where on, which of
 * its bits is which element, and what belongs to a step. N = 100.
 */
#include "mutant.h"

#include "device/half.cuh"
#include "device/warp.cuh"
#include "formats/lane_major_layout.cuh"

#include <stdlib.h>

enum bug {
    HEALTHY_LANE_MAJOR,
    BANKS_STAY,
    PLACES_STAY,
    HALVES_SWAPPED,
    ROWS_SWAPPED,
    COLUMNS_AS_IN_MEMORY,
    ZEROS_NOT_COUNTED,
    SECOND_QUAD_LOST,
};

constexpr int THREADS = 128;

struct lane_major_state {
    lane_major A;
    tca_bme from;      /* for its repeats */
    uint16_t *d_dense; /* rows * cols; zeros are not multiplied */
};

/* A warp a slot of a block: spreads it out. */
template <bug BUG>
static __global__ void decode_kernel(const __grid_constant__ lane_major m, uint16_t *dense)
{
    const int block = blockIdx.x, slot = blockIdx.y, lane = threadIdx.x;
    step_cursor at(m, block);
    for (int number = 0; at.left > 0; number++, at.advance()) {
        const uint32_t *const step = m.data + (size_t)m.begin[block * m.steps + number] * LANES;
        const uint32_t note = reinterpret_cast<const uint16_t *>(step)[slot * LANES + lane];
        const uint32_t first = value_row(at.count());
        const uint32_t bank = BUG == BANKS_STAY ? lane : bank_of(note);
        uint32_t half = BUG == PLACES_STAY ? 0 : above_of(note);
        for (int i = 0; i < at.count(); i++) {
            const uint32_t mask = step[mask_row(i, slot) * LANES + lane];
            const uint32_t elements = BUG == HALVES_SWAPPED ? mask >> 16 | mask << 16 : mask;
            const slot_quad quad(m, at.quad + i, slot);
            for (int n = 0; n < 32; n++) {
                if (!(elements >> n & 1)) continue;
                const int f = n / 8, e = n % 8;
                const int row = quad.strip * STRIP_ROWS +
                                (row_in_strip(lane, e) ^ (BUG == ROWS_SWAPPED ? 8 : 0));
                int column = quad.quad * QUAD_COLUMNS;
                if (BUG == COLUMNS_AS_IN_MEMORY) /* as mma has them */
                    column += f * 16 + e / 4 * 8 + lane % 4 * 2 + e % 2;
                else
                    column += column_in_quad(lane, f, e);
                const uint32_t word = step[(first + half / 2) * LANES + bank];
                const uint16_t value = (uint16_t)(word >> 16 * (half % 2));
                if (BUG != ZEROS_NOT_COUNTED || value) half++;
                if (BUG == SECOND_QUAD_LOST && i > 0) continue;
                if (row < m.rows && column < m.cols) dense[(size_t)row * m.cols + column] = value;
            }
        }
    }
}

/* A block a row. */
static __global__ void multiply_kernel(const __grid_constant__ lane_major_state s, int N,
                                       const __half *B, __half *C)
{
    const int row = blockIdx.x, j = threadIdx.x;
    if (j >= N) return;
    float sum = 0;
    for (int k = 0; k < s.A.cols; k++) {
        const uint16_t element = s.d_dense[(size_t)row * s.A.cols + k];
        if (element) sum += widen(half_of_bits<__half>(element)) * widen(B[(size_t)k * N + j]);
    }
    for (int k = s.from.num_repeats ? s.from.repeat_ptr[row] : 0;
         s.from.num_repeats && k < s.from.repeat_ptr[row + 1]; k++)
        sum += widen(half_of_bits<__half>(s.from.repeat_value[k])) *
               widen(B[(size_t)s.from.repeat_col[k] * N + j]);
    C[(size_t)row * N + j] = narrow<__half>(sum);
}

static size_t dense_bytes(const spmm_plan *plan)
{
    return (size_t)plan->A.rows * plan->A.cols * sizeof(uint16_t);
}

/* Prepares blocks of several steps. */
static cudaError_t prepare(spmm_plan *plan)
{
    const lane_major_shape shape = {.step = 2, .blocks = 3, .ways = 2, .even = true};
    lane_major_state *s = (lane_major_state *)calloc(1, sizeof *s);
    plan->state = s;
    if (!s) return cudaErrorMemoryAllocation;
    cudaError_t error = tca_bme_create(&plan->A, &s->from);
    if (error == cudaSuccess) error = lane_major_create(&s->from, &shape, &s->A);
    return error == cudaSuccess ? cudaMalloc((void **)&s->d_dense, dense_bytes(plan)) : error;
}

static void release(spmm_plan *plan)
{
    lane_major_state *s = (lane_major_state *)plan->state;
    tca_bme_destroy(&s->from);
    lane_major_destroy(&s->A);
    cudaFree(s->d_dense);
    free(s);
}

template <bug BUG>
static cudaError_t run16(const spmm_plan *plan, const void *B, void *C, cudaStream_t stream)
{
    const lane_major_state *s = (const lane_major_state *)plan->state;
    const cudaError_t error = cudaMemsetAsync(s->d_dense, 0, dense_bytes(plan), stream);
    if (error != cudaSuccess) return error;
    decode_kernel<BUG><<<dim3(s->A.shape.blocks, SLOTS), LANES, 0, stream>>>(s->A, s->d_dense);
    multiply_kernel<<<plan->A.rows, THREADS, 0, stream>>>(*s, plan->N, (const __half *)B,
                                                          (__half *)C);
    return cudaGetLastError();
}

#define LANE_MAJOR_MUTANT(bug, diagnosis)      \
    static spmm_contender mutant_##bug = {     \
        .base = {.lab = SHOWS_ALWAYS,          \
                 .name = #bug,                 \
                 .summary = diagnosis,         \
                 .precision = PRECISION_FP16}, \
        .prepare = prepare,                    \
        .run16 = run16<bug>,                   \
        .release = release,                    \
    };                                         \
    SPMM_REGISTER(mutant_##bug)

LANE_MAJOR_MUTANT(HEALTHY_LANE_MAJOR, NULL)
LANE_MAJOR_MUTANT(BANKS_STAY, "wrong values")
LANE_MAJOR_MUTANT(PLACES_STAY, "wrong values")
LANE_MAJOR_MUTANT(HALVES_SWAPPED, "wrong values")
LANE_MAJOR_MUTANT(ROWS_SWAPPED, "wrong values")
LANE_MAJOR_MUTANT(COLUMNS_AS_IN_MEMORY, "wrong values")
LANE_MAJOR_MUTANT(ZEROS_NOT_COUNTED, "wrong values")
LANE_MAJOR_MUTANT(SECOND_QUAD_LOST, "wrong values")
