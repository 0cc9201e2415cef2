/*
 * lane_major.cu - from TCA-BME to the lane-major format on the GPU: a mask for every quad and lane,
 * which bank each lane reads in each step, and every value in its place.
 */
#include "formats/lane_major.h"

#include "device/cuda_try.h"
#include "device/exec_space.cuh"
#include "device/warp.cuh"
#include "formats/lane_major_layout.cuh"

#include <math.h>
#include <stdlib.h>

constexpr int THREADS = 256, WARPS = THREADS / WARP_SIZE;

static unsigned blocks_for(int64_t warps)
{
    return (unsigned)((warps + WARPS - 1) / WARPS);
}

static __device__ int64_t global_warp()
{
    return (int64_t)blockIdx.x * WARPS + warp_id();
}

/* A quad of one slot in the other format: a strip of a group there. */
struct quad_bitmaps {
    int group; /* -1: below the last row, or right of the last column */
    int strip; /* of that group */
    __device__ quad_bitmaps(const tca_bme &from, const lane_major &m, int quad, int slot)
    {
        const slot_quad at(m, quad, slot);
        const bool inside = at.strip < from.down * STRIPS && at.quad < from.across;
        group = inside ? at.strip / STRIPS * from.across + at.quad : -1;
        strip = at.strip % STRIPS;
    }
};

/* In TCA-BME a lane's elements of 32 columns are the rows g of two bitmaps, one for row g and one for
 * row g + 8. Which, of the strip's 16: */
static __device__ int bitmap_of(int lane, int half, int lower)
{
    return (half * 2 + lane % 4 / 2) * 4 + lane % 2 * 2 + lower;
}

/* The bit that element i of fragment f has there. */
static __device__ int bit_in_bitmap(int lane, int fragment, int i)
{
    return lane / 4 * BITMAP_SIDE + fragment % 2 * 4 + i / 4 * 2 + i % 2;
}

/* Arrays that the kernels below leave for each other, on the device. */
struct encoding {
    uint32_t *masks; /* of all quads, for each slot, for each lane */
    uint16_t *notes; /* of all steps, for each slot, for each lane */
    uint32_t *rows;  /* of all steps */
};

/* ---- masks ---------------------------------------------------------------------------------------- */

/* A warp a quad of one slot. */
static __global__ void masks_kernel(const __grid_constant__ tca_bme from,
                                    const __grid_constant__ lane_major m, encoding e)
{
    const int64_t all = (int64_t)m.groups * m.quads * SLOTS, w = global_warp();
    const int lane = lane_id();
    if (w >= all) return;
    const quad_bitmaps at(from, m, (int)(w / SLOTS), (int)(w % SLOTS));
    uint32_t elements = 0;
    if (at.group >= 0) {
        const uint64_t *bitmaps =
            from.bitmap + (size_t)at.group * GROUP_BITMAPS + at.strip * STRIP_BITMAPS;
        for (int f = 0; f < 4; f++)
            for (int i = 0; i < 8; i++) {
                const uint64_t bitmap = bitmaps[bitmap_of(lane, f / 2, i / 2 % 2)];
                elements |= (uint32_t)(bitmap >> bit_in_bitmap(lane, f, i) & 1) << (8 * f + i);
            }
    }
    if (m.shape.even) elements = made_even(elements);
    e.masks[w * LANES + lane] = elements;
}

/* ---- who reads which bank ------------------------------------------------------------------------- */

/* The quads of step `step % m.steps` of block `step / m.steps`; none are left if the block has not so
 * many. */
static __device__ step_cursor quads_of(const lane_major &m, int64_t step)
{
    step_cursor at(m, (int)(step / m.steps));
    for (int i = 0; i < step % m.steps && at.left > 0; i++)
        at.advance();
    return at;
}

/* The lane's mask of quad number `quad`. */
static __device__ uint32_t mask_at(const encoding &e, int quad, int slot)
{
    return e.masks[((size_t)quad * SLOTS + slot) * LANES + lane_id()];
}

/* How many lanes come before this one if they are ordered by `key`, and then by number. */
static __device__ int rank_of(uint32_t key)
{
    const int lane = lane_id();
    int before = 0;
    for (int other = 0; other < LANES; other++) {
        const uint32_t theirs = __shfl_sync(FULL_MASK, key, other);
        before += theirs < key || (theirs == key && other < lane);
    }
    return before;
}

/* A warp a step. */
static __global__ void match_kernel(const __grid_constant__ lane_major m, encoding e)
{
    __shared__ uint8_t bank_at[WARPS][LANES];
    const int64_t number = global_warp();
    const int lane = lane_id();
    if (number >= (int64_t)m.shape.blocks * m.steps) return;
    const step_cursor at = quads_of(m, number);
    if (at.left == 0) return;
    uint8_t *const by_rank = bank_at[warp_id()];
    uint32_t filled = 0; /* of bank number `lane`, in halves */
    for (int slot = 0; slot < SLOTS; slot++) {
        uint32_t count = 0;
        for (int i = 0; i < at.count(); i++)
            count += __popc(mask_at(e, at.quad + i, slot));
        by_rank[rank_of(filled)] = (uint8_t)lane;
        __syncwarp();
        const int bank = by_rank[rank_of(~count)];
        const uint32_t above = __shfl_sync(FULL_MASK, filled, bank);
        e.notes[(number * SLOTS + slot) * LANES + lane] = make_note(above, bank);
        __syncwarp();
        by_rank[bank] = (uint8_t)lane;
        __syncwarp();
        filled += __shfl_sync(FULL_MASK, count, by_rank[lane]);
        __syncwarp();
    }
    const uint32_t most = warp_max(filled);
    if (lane == 0) e.rows[number] = value_row(at.count()) + (most + 1) / 2;
}

/* ---- values --------------------------------------------------------------------------------------- */

/* Writes a lane's values of a quad of one slot into its bank, one behind the other. `values` is the
 * bank's first word. The first value goes to half `at`, which moves on. */
static __device__ void write_values(const tca_bme &from, const quad_bitmaps &strip, uint32_t mask,
                                    int *rank, uint16_t *values, uint32_t &at)
{
    const int lane = lane_id();
    const uint64_t *const bitmaps = from.bitmap + (size_t)strip.group * GROUP_BITMAPS;
    const int first = strip.strip * STRIP_BITMAPS;
    __syncwarp();
    if (lane < STRIP_BITMAPS) { /* values of the group before each bitmap of this strip */
        rank[lane] = 0;
        for (int i = 0; i < first + lane; i++)
            rank[lane] += __popcll(bitmaps[i]);
    }
    __syncwarp();
    for (int n = 0; n < 32; n++) {
        if (!(mask >> n & 1)) continue;
        const int which = bitmap_of(lane, n / 16, n % 8 / 2 % 2);
        const uint64_t bitmap = bitmaps[first + which];
        const int bit = bit_in_bitmap(lane, n / 8, n % 8);
        if (bitmap >> bit & 1) { /* else it makes the number even, and is zero */
            const int below = __popcll(bitmap & ((UINT64_C(1) << bit) - 1));
            values[at / 2 * LANES * 2 + at % 2] =
                from.values[from.offset[strip.group] + rank[which] + below];
        }
        at++;
    }
}

/* A warp a slot of a step. */
static __global__ void write_kernel(const __grid_constant__ tca_bme from,
                                    const __grid_constant__ lane_major m, encoding e)
{
    __shared__ int ranks[WARPS][STRIP_BITMAPS];
    const int64_t number = global_warp() / SLOTS;
    const int slot = (int)(global_warp() % SLOTS), lane = lane_id();
    if (number >= (int64_t)m.shape.blocks * m.steps) return;
    const step_cursor at = quads_of(m, number);
    if (at.left == 0) return;
    uint32_t *const step = m.data + (size_t)m.begin[number] * LANES;
    const uint16_t note = e.notes[(number * SLOTS + slot) * LANES + lane];
    uint32_t *const bank = step + value_row(at.count()) * LANES + bank_of(note);
    uint32_t half = above_of(note);
    reinterpret_cast<uint16_t *>(step)[slot * LANES + lane] = note;
    for (int i = 0; i < at.count(); i++) {
        const uint32_t mask = mask_at(e, at.quad + i, slot);
        const quad_bitmaps bitmaps(from, m, at.quad + i, slot);
        step[mask_row(i, slot) * LANES + lane] = mask;
        if (bitmaps.group >= 0)
            write_values(from, bitmaps, mask, ranks[warp_id()], reinterpret_cast<uint16_t *>(bank),
                         half);
    }
}

/* ---- all of it ------------------------------------------------------------------------------------ */

/* From the rows of each step to where each begins. */
static cudaError_t place_steps(uint32_t *d_rows, lane_major *m)
{
    const size_t bytes = ((size_t)m->shape.blocks * m->steps + 1) * sizeof(uint32_t);
    uint32_t *rows = (uint32_t *)malloc(bytes);
    cudaError_t error =
        rows ? cudaMemcpy(rows, d_rows, bytes, cudaMemcpyDeviceToHost) : cudaErrorMemoryAllocation;
    if (error == cudaSuccess) {
        lane_major_place(rows, m);
        error = cudaMemcpy(m->begin, rows, bytes, cudaMemcpyHostToDevice);
    }
    free(rows);
    return error;
}

static cudaError_t fill(const tca_bme *from, encoding *e, lane_major *m)
{
    const int64_t quads = (int64_t)m->groups * m->quads * SLOTS;
    const int64_t steps = (int64_t)m->shape.blocks * m->steps;
    CUDA_TRY(allocate(ON_DEVICE, &e->masks, quads * LANES));
    CUDA_TRY(allocate(ON_DEVICE, &e->notes, steps * SLOTS * LANES));
    CUDA_TRY(allocate(ON_DEVICE, &e->rows, steps + 1));
    CUDA_TRY(allocate(ON_DEVICE, &m->begin, steps + 1));
    if (quads > 0) {
        masks_kernel<<<blocks_for(quads), THREADS>>>(*from, *m, *e);
        match_kernel<<<blocks_for(steps), THREADS>>>(*m, *e);
    }
    CUDA_TRY(cudaGetLastError());
    CUDA_TRY(place_steps(e->rows, m));
    CUDA_TRY(allocate(ON_DEVICE, &m->data, (m->all_rows + LOOK_AHEAD) * LANES));
    if (quads > 0) write_kernel<<<blocks_for(steps * SLOTS), THREADS>>>(*from, *m, *e);
    CUDA_TRY(cudaGetLastError());
    CUDA_TRY(cudaDeviceSynchronize());
    return cudaSuccess;
}

cudaError_t lane_major_create(const tca_bme *from, const lane_major_shape *shape, lane_major *m)
{
    encoding e = {};
    lane_major_measure(from, shape, m);
    const cudaError_t error = fill(from, &e, m);
    cudaFree(e.masks);
    cudaFree(e.notes);
    cudaFree(e.rows);
    if (error != cudaSuccess) lane_major_destroy(m);
    return error;
}

void lane_major_destroy(lane_major *m)
{
    cudaFree(m->begin);
    cudaFree(m->data);
    *m = {};
}

bool lane_major_fits(int64_t rows, int64_t cols)
{
    constexpr double MOST_ELEMENTS = 0x1p31;
    const int group_rows = SLOTS * STRIP_ROWS, quad_columns = QUAD_COLUMNS;
    const double groups = ceil((double)rows / group_rows);
    const double quads = ceil((double)cols / quad_columns);
    return groups * group_rows * quads * quad_columns <= MOST_ELEMENTS;
}

int64_t lane_major_bytes(const lane_major *m)
{
    const int64_t steps = (int64_t)m->shape.blocks * m->steps;
    return ROW_BYTES * (m->all_rows + LOOK_AHEAD) + (int64_t)sizeof *m->begin * (steps + 1) +
           (int64_t)sizeof(block_start) * m->shape.blocks;
}
