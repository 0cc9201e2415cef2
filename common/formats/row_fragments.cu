/*
 * row_fragments.cu - from CSR to fragments, on the GPU: sort out short rows; number the columns of each
 * panel; mark the words that a panel has; measure and place each block; put the values there.
 */
#include "formats/row_fragments.cuh"

#include "device/argsort.h"
#include "device/cuda_try.h"
#include "device/exec_space.cuh"
#include "device/facts.h"
#include "device/scan.h"
#include "device/warp.cuh"
#include "formats/ascending.h"

#include <stdlib.h>

#include <algorithm>
#include <new>
#include <vector>

constexpr int THREADS = 256, THREAD_WARPS = THREADS / WARP_SIZE;
constexpr int MASKS = MASK_WORDS * WARP_SIZE; /* words of a block */

static int blocks_for(int64_t items, int per_block)
{
    return (int)((items + per_block - 1) / per_block);
}

/* The arguments of the kernels that build. */
template <class T> struct packing {
    int long_rows, panel_rows, panels;
    int words;  /* bits of all columns */
    int blocks; /* of a chunk: its first line, then the panel's strips */
    const int *__restrict__ row_ptr;
    const int *__restrict__ col_idx;
    const T *__restrict__ values;
    const int *__restrict__ order;
    const int *__restrict__ panel_chunk;
    uint32_t *used; /* [panel][word]: columns in which the panel has a nonzero */
    int *rank;      /* [panel][word]: how many there are before this word's */
    chunk_map<T> *map;
    uint32_t *mask; /* [chunk][block][MASKS] */
    int *start;     /* [chunk][block]: lines of the block; after the scan, lines before it */
};

/* ---- short rows ------------------------------------------------------------------------------ */

static __global__ void short_keys_kernel(int rows, const int *__restrict__ row_ptr, int shorter,
                                         int *key)
{
    const int row = blockIdx.x * THREADS + threadIdx.x;
    if (row < rows) key[row] = row_ptr[row + 1] - row_ptr[row] < shorter;
}

/* The given order, short rows behind the others. */
template <class T>
static cudaError_t sort_out_short_rows(const spmm_matrix &A, const int *d_row_order,
                                       fragment_arrays *a)
{
    const int rows = A.rows;
    int *d_key = NULL;
    cudaError_t error;
    CUDA_TRY_GOTO(error, done, allocate(ON_DEVICE, &d_key, rows));
    CUDA_TRY_GOTO(error, done, allocate(ON_DEVICE, &a->d_order, rows));
    if (d_row_order)
        CUDA_TRY_GOTO(
            error, done,
            cudaMemcpy(a->d_order, d_row_order, rows * sizeof(int), cudaMemcpyDeviceToDevice));
    else
        CUDA_TRY_GOTO(error, done, device_identity(a->d_order, rows, 0));
    short_keys_kernel<<<blocks_for(rows, THREADS), THREADS>>>(rows, A.d_row_ptr, SHORT_ROW<T>,
                                                              d_key);
    CUDA_TRY_GOTO(error, done, cudaGetLastError());
    CUDA_TRY_GOTO(error, done, device_argsort(d_key, 1, a->d_order, rows, 0));
done:
    cudaFree(d_key);
    return error;
}

template <class T> static int count_long_rows(const csr_matrix *A)
{
    int count = 0;
    for (int64_t row = 0; row < A->rows; row++)
        count += A->row_ptr[row + 1] - A->row_ptr[row] >= SHORT_ROW<T>;
    return count;
}

/* ---- columns of a panel ---------------------------------------------------------------------- */

/* Calls visit(position, k) for nonzero k of the row at this position; a warp for each. */
template <class T, class VISIT>
static __device__ void for_each_nonzero(const packing<T> &p, VISIT visit)
{
    const int position = blockIdx.x * THREAD_WARPS + (int)threadIdx.x / WARP_SIZE;
    if (position >= p.long_rows) return;
    const int row = p.order[position];
    for (int k = p.row_ptr[row] + lane_id(); k < p.row_ptr[row + 1]; k += WARP_SIZE)
        visit(position, k);
}

template <class T> static __global__ void mark_columns_kernel(const packing<T> p)
{
    for_each_nonzero(p, [&](int position, int k) {
        const size_t panel = position / p.panel_rows;
        atomicOr(&p.used[panel * p.words + p.col_idx[k] / 32], 1u << p.col_idx[k] % 32);
    });
}

/* A warp for each panel: rank, and how many chunks the panel's columns make. */
template <class T> static __global__ void rank_columns_kernel(const packing<T> p, int *num_chunks)
{
    const int panel = blockIdx.x * THREAD_WARPS + (int)threadIdx.x / WARP_SIZE, lane = lane_id();
    if (panel >= p.panels) return;
    int before = 0;
    for (int first = 0; first < p.words; first += WARP_SIZE) {
        const int w = first + lane;
        const int own = w < p.words ? __popc(p.used[(size_t)panel * p.words + w]) : 0;
        const int inclusive = warp_inclusive_sum(own);
        if (w < p.words) p.rank[(size_t)panel * p.words + w] = before + inclusive - own;
        before += __shfl_sync(FULL_MASK, inclusive, WARP_SIZE - 1);
    }
    if (lane == 0) num_chunks[panel] = (before + CHUNK<T> - 1) / CHUNK<T>;
}

/* A thread for each word of each panel. */
template <class T> static __global__ void list_columns_kernel(const packing<T> p)
{
    const size_t at = (size_t)blockIdx.x * THREADS + threadIdx.x;
    if (at >= (size_t)p.panels * p.words) return;
    const int panel = (int)(at / p.words), word = (int)(at % p.words);
    int c = p.rank[at];
    for (uint32_t bits = p.used[at]; bits; bits &= bits - 1, c++)
        p.map[p.panel_chunk[panel] + c / CHUNK<T>].column[c % CHUNK<T>] =
            word * 32 + __ffs(bits) - 1;
    if (word < p.words - 1) return;
    for (; c % CHUNK<T>; c++)
        p.map[p.panel_chunk[panel] + c / CHUNK<T>].column[c % CHUNK<T>] = NO_COLUMN;
}

/* ---- blocks ---------------------------------------------------------------------------------- */

/* Where a nonzero belongs: its block, its lane, its bit, and which number of the word it is. */
struct place {
    size_t block; /* chunk * blocks + 1 + strip */
    int lane, mask_word, bit, number;
};

template <class T> static __device__ place place_of(const packing<T> &p, int position, int column)
{
    const int panel = position / p.panel_rows, r = position % STRIP;
    const size_t at = (size_t)panel * p.words + column / 32;
    const int c = p.rank[at] + __popc(p.used[at] & ((1u << column % 32) - 1));
    const int chunk = p.panel_chunk[panel] + c / CHUNK<T>, w = c % CHUNK<T> / PER_WORD<T>;
    const int fragment = w / FRAGMENT_WORDS;
    /* Word e of lane (g, t): row g + 8 (e / 2), place t + 4 (e % 2). */
    const int e = 2 * (r / 8) + w % FRAGMENT_WORDS / 4;
    return {(size_t)chunk * p.blocks + 1 + position % p.panel_rows / STRIP, r % 8 * 4 + w % 4,
            fragment / WORD_FRAGMENTS, fragment % WORD_FRAGMENTS * 4 + e, c % PER_WORD<T>};
}

template <class T> static __global__ void set_masks_kernel(const packing<T> p)
{
    for_each_nonzero(p, [&](int position, int k) {
        const place at = place_of(p, position, p.col_idx[k]);
        atomicOr(&p.mask[at.block * MASKS + at.mask_word * WARP_SIZE + at.lane], 1u << at.bit);
    });
}

/* A warp for each block: how many lines it takes. */
template <class T> static __global__ void measure_blocks_kernel(const packing<T> p, int64_t blocks)
{
    const int64_t block = (int64_t)blockIdx.x * THREAD_WARPS + threadIdx.x / WARP_SIZE;
    if (block >= blocks) return;
    int count = 0;
    for (int w = 0; w < MASK_WORDS; w++)
        count += __popc(p.mask[block * MASKS + w * WARP_SIZE + lane_id()]);
    count = warp_max(count);
    if (lane_id() == 0) p.start[block] = block % p.blocks ? MASK_WORDS + count : 1;
}

/* A warp for each block: its masks, or the first line of its chunk, and where the chunk lies. */
template <class T>
static __global__ void begin_blocks_kernel(const packing<T> p, int64_t blocks, uint32_t *lines)
{
    const int64_t block = (int64_t)blockIdx.x * THREAD_WARPS + threadIdx.x / WARP_SIZE;
    if (block >= blocks) return;
    const int *const start = &p.start[block];
    uint32_t *const line = &lines[(size_t)start[0] * WARP_SIZE];
    if (block % p.blocks) {
        for (int i = lane_id(); i < MASKS; i += WARP_SIZE)
            line[i] = p.mask[block * MASKS + i];
        return;
    }
    if (lane_id() < p.blocks - 1) line[lane_id()] = start[1 + lane_id()] - start[0];
    if (lane_id() == 0) {
        p.map[block / p.blocks].first_line = start[0];
        p.map[block / p.blocks].lines = start[p.blocks] - start[0];
    }
}

/* In fp32 entries that repeat a column add up: with three and more of one column the order, and the last
 * bit, may differ from one prepare to the next. */
template <class T> static __global__ void put_values_kernel(const packing<T> p, uint32_t *lines)
{
    for_each_nonzero(p, [&](int position, int k) {
        const place at = place_of(p, position, p.col_idx[k]);
        const uint32_t *const mask = &p.mask[at.block * MASKS + at.lane];
        int before = __popc(mask[at.mask_word * WARP_SIZE] & ((1u << at.bit) - 1));
        for (int w = 0; w < at.mask_word; w++)
            before += __popc(mask[w * WARP_SIZE]);
        const size_t line = (size_t)p.start[at.block] + MASK_WORDS + before;
        T *const number = reinterpret_cast<T *>(&lines[line * WARP_SIZE + at.lane]) + at.number;
        if constexpr (std::is_same_v<T, float>)
            atomicAdd(number, p.values[k]);
        else
            *number = p.values[k];
    });
}

/* The lines of the largest chunk, and of all. */
template <class T>
static cudaError_t count_lines(const packing<T> &p, int chunks, int *largest, int64_t *all)
{
    try {
        std::vector<int> start((size_t)chunks * p.blocks + 1);
        CUDA_TRY(
            cudaMemcpy(start.data(), p.start, start.size() * sizeof(int), cudaMemcpyDeviceToHost));
        *largest = 0;
        for (size_t i = 0; i + p.blocks < start.size(); i += p.blocks)
            *largest = std::max(*largest, start[i + p.blocks] - start[i]);
        *all = start.back();
    } catch (const std::bad_alloc &) {
        return cudaErrorMemoryAllocation;
    }
    return cudaSuccess;
}

/* Everything but the order and what follows from it. */
template <class T> static cudaError_t pack(const spmm_matrix &A, row_fragments *fragments)
{
    fragment_arrays *const a = &fragments->arrays;
    const int long_rows = a->long_rows, panel_rows = a->shape.panel_rows;
    packing<T> p = {.long_rows = long_rows,
                    .panel_rows = panel_rows,
                    .panels = (long_rows + panel_rows - 1) / panel_rows,
                    .words = (A.cols + 31) / 32,
                    .blocks = 1 + panel_rows / STRIP,
                    .row_ptr = A.d_row_ptr,
                    .col_idx = A.d_col_idx,
                    .values = values_of<T>(A),
                    .order = a->d_order};
    const int64_t words = (int64_t)p.panels * p.words;
    const int row_blocks = blocks_for(long_rows, THREAD_WARPS);
    int64_t lines = 0, blocks = 0;
    int chunks = 0;
    cudaError_t error;
    a->panels = p.panels;
    CUDA_TRY_GOTO(error, done, allocate(ON_DEVICE, &a->d_panel_chunk, p.panels + 1));
    p.panel_chunk = a->d_panel_chunk;
    if (p.panels == 0) goto done;
    CUDA_TRY_GOTO(error, done, allocate(ON_DEVICE, &p.used, words));
    CUDA_TRY_GOTO(error, done, allocate(ON_DEVICE, &p.rank, words));
    mark_columns_kernel<<<row_blocks, THREADS>>>(p);
    rank_columns_kernel<<<blocks_for(p.panels, THREAD_WARPS), THREADS>>>(p, a->d_panel_chunk);
    CUDA_TRY_GOTO(error, done, device_exclusive_scan(a->d_panel_chunk, p.panels + 1, 0));
    CUDA_TRY_GOTO(
        error, done,
        cudaMemcpy(&chunks, a->d_panel_chunk + p.panels, sizeof chunks, cudaMemcpyDeviceToHost));
    blocks = (int64_t)chunks * p.blocks;
    CUDA_TRY_GOTO(error, done, allocate(ON_DEVICE, &p.map, chunks + 1));
    a->d_map = p.map;
    fragments->chunks = chunks;
    if (chunks == 0) goto done; /* rows without nonzeros */
    CUDA_TRY_GOTO(error, done, allocate(ON_DEVICE, &p.mask, blocks * MASKS));
    CUDA_TRY_GOTO(error, done, allocate(ON_DEVICE, &p.start, blocks + 1));
    list_columns_kernel<<<blocks_for(words, THREADS), THREADS>>>(p);
    set_masks_kernel<<<row_blocks, THREADS>>>(p);
    measure_blocks_kernel<<<blocks_for(blocks, THREAD_WARPS), THREADS>>>(p, blocks);
    CUDA_TRY_GOTO(error, done, device_exclusive_scan(p.start, (int)blocks + 1, 0));
    CUDA_TRY_GOTO(error, done, count_lines(p, chunks, &a->stage_lines, &lines));
    fragments->lines = lines;
    CUDA_TRY_GOTO(error, done, allocate(ON_DEVICE, &a->d_lines, (lines + ROUND_LINES) * WARP_SIZE));
    begin_blocks_kernel<<<blocks_for(blocks, THREAD_WARPS), THREADS>>>(p, blocks, a->d_lines);
    put_values_kernel<<<row_blocks, THREADS>>>(p, a->d_lines);
    CUDA_TRY_GOTO(error, done, cudaGetLastError());
    CUDA_TRY_GOTO(error, done, cudaDeviceSynchronize());
done:
    cudaFree(p.used);
    cudaFree(p.rank);
    cudaFree(p.mask);
    cudaFree(p.start);
    return error;
}

static void free_arrays(fragment_arrays *a)
{
    cudaFree(a->d_order);
    cudaFree(a->d_panel_chunk);
    cudaFree(a->d_map);
    cudaFree(a->d_lines);
}

/* Fills *fragments, which has a shape; what it has allocated on an error is the caller's to free. */
template <class T>
static cudaError_t build(const spmm_matrix &A, const int *d_row_order, row_fragments *fragments)
{
    fragment_arrays *const a = &fragments->arrays;
    a->long_rows = count_long_rows<T>(A.host);
    if (A.rows == 0) return cudaSuccess;
    CUDA_TRY(sort_out_short_rows<T>(A, d_row_order, a));
    return pack<T>(A, fragments);
}

/* ---- the interface ------------------------------------------------------------------------------- */

constexpr int64_t MAX_USED_WORDS = 1 << 28; /* 1 GB, while a build lists columns */

const char *row_fragments_unsuited(int64_t rows, int64_t cols, int N, enum precision precision)
{
    if (device_facts_get()->compute_capability < 80)
        return "its tensor cores know no tf32: compute capability 8.0 and up do";
    if ((rows + STRIP - 1) / STRIP * ((cols + 31) / 32) > MAX_USED_WORDS)
        return "a bit for each column of each panel of rows would be more than 1 GB";
    if (precision != PRECISION_FP32 && N % 2) return "16-bit fragments need an even N";
    return NULL;
}

/* 16 bits only: the columns of each row ascend. */
static cudaError_t require_ascending(const spmm_matrix *A, enum precision precision)
{
    bool ascend = true;
    if (precision != PRECISION_FP32) CUDA_TRY(columns_ascend(A, &ascend));
    return ascend ? cudaSuccess : cudaErrorNotSupported;
}

static int most_splits(const spmm_matrix *A, enum precision precision, int splits)
{
    const int chunk = precision == PRECISION_FP32 ? CHUNK<float> : CHUNK<__half>;
    const int most_chunks = (A->cols + chunk - 1) / chunk;
    while (splits > std::max(most_chunks, 1))
        splits /= 2;
    return splits;
}

cudaError_t row_fragments_build(const spmm_matrix *A, enum precision precision,
                                const int *d_row_order, const row_fragments_shape *shape,
                                row_fragments **fragments)
{
    *fragments = NULL;
    CUDA_TRY(require_ascending(A, precision));
    row_fragments *f = (row_fragments *)calloc(1, sizeof *f);
    if (!f) return cudaErrorMemoryAllocation;
    f->precision = precision;
    f->rows = A->rows;
    f->arrays.shape = *shape;
    if (shape->panel_rows == STRIP) f->arrays.shape.width = 32;
    f->arrays.shape.splits = most_splits(A, precision, shape->splits);
    const cudaError_t error = precision == PRECISION_FP32 ? build<float>(*A, d_row_order, f)
                              : precision == PRECISION_FP16
                                  ? build<__half>(*A, d_row_order, f)
                                  : build<__nv_bfloat16>(*A, d_row_order, f);
    if (error == cudaSuccess)
        *fragments = f;
    else
        row_fragments_free(f);
    return error;
}

cudaError_t row_fragments_update_values(const spmm_matrix *A, row_fragments *fragments)
{
    row_fragments *f;
    /* Its own order, with short rows behind the others, sorts into itself. */
    CUDA_TRY(row_fragments_build(A, fragments->precision, fragments->arrays.d_order,
                                 &fragments->arrays.shape, &f));
    f->arrays.stages = fragments->arrays.stages;
    free_arrays(&fragments->arrays);
    *fragments = *f;
    free(f);
    return cudaSuccess;
}

size_t row_fragments_bytes(const row_fragments *fragments)
{
    const bool is_fp32 = fragments->precision == PRECISION_FP32;
    const size_t map = is_fp32 ? sizeof(chunk_map<float>) : sizeof(chunk_map<__half>);
    return (size_t)fragments->rows * sizeof(int) +
           ((size_t)fragments->arrays.panels + 1) * sizeof(int) + fragments->chunks * map +
           (size_t)fragments->lines * WARP_SIZE * sizeof(uint32_t);
}

void row_fragments_free(row_fragments *fragments)
{
    if (!fragments) return;
    free_arrays(&fragments->arrays);
    free(fragments);
}
