/*
 * fragments_pack.cu - from CSR to fragments, on the GPU: sort out short rows; number the columns of
 * each panel; mark who has what; say where each block goes; put the values there.
 */
#include "device/argsort.h"
#include "device/cuda_try.h"
#include "device/half.cuh"
#include "device/scan.h"
#include "device/warp.cuh"
#include "fragments.h"

#include <algorithm>
#include <new>
#include <vector>

constexpr int THREADS = 256, THREAD_WARPS = THREADS / WARP_SIZE;
constexpr int MASKS = MASK_WORDS * WARP_SIZE; /* words of a block */

static int blocks_for(int64_t items, int per_block)
{
    return (int)((items + per_block - 1) / per_block);
}

template <class T> static cudaError_t device_alloc(T **d, int64_t count)
{
    return cudaMalloc((void **)d, (size_t)std::max<int64_t>(count, 1) * sizeof(T));
}

template <class T> static cudaError_t device_alloc_zeroed(T **d, int64_t count)
{
    CUDA_TRY(device_alloc(d, count));
    return cudaMemset(*d, 0, (size_t)count * sizeof(T));
}

template <class T> void fragments_free(row_fragments<T> *fragments)
{
    cudaFree(fragments->d_order);
    cudaFree(fragments->d_panel_chunk);
    cudaFree(fragments->d_map);
    cudaFree(fragments->d_lines);
    cudaFree(fragments->d_partial);
    cudaFree(fragments->d_arrived);
    *fragments = {};
}

/* What the kernels of prepare work on. */
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

/* The plan's order, short rows behind the others. */
template <class T>
static cudaError_t sort_out_short_rows(const spmm_plan *plan, row_fragments<T> *fragments)
{
    const int rows = plan->A.rows;
    int *d_key = NULL;
    cudaError_t error;
    CUDA_TRY_GOTO(error, done, device_alloc_zeroed(&d_key, rows));
    CUDA_TRY_GOTO(error, done, device_alloc_zeroed(&fragments->d_order, rows));
    if (plan->d_row_order)
        CUDA_TRY_GOTO(error, done,
                      cudaMemcpy(fragments->d_order, plan->d_row_order, rows * sizeof(int),
                                 cudaMemcpyDeviceToDevice));
    else
        CUDA_TRY_GOTO(error, done, device_identity(fragments->d_order, rows, 0));
    short_keys_kernel<<<blocks_for(rows, THREADS), THREADS>>>(rows, plan->A.d_row_ptr, SHORT_ROW<T>,
                                                              d_key);
    CUDA_TRY_GOTO(error, done, cudaGetLastError());
    CUDA_TRY_GOTO(error, done, device_argsort(d_key, 1, fragments->d_order, rows, 0));
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
    std::vector<int> start((size_t)chunks * p.blocks + 1);
    CUDA_TRY(cudaMemcpy(start.data(), p.start, start.size() * sizeof(int), cudaMemcpyDeviceToHost));
    *largest = 0;
    for (size_t i = 0; i + p.blocks < start.size(); i += p.blocks)
        *largest = std::max(*largest, start[i + p.blocks] - start[i]);
    *all = start.back();
    return cudaSuccess;
}

/* Everything but the order, for panels of fragments->shape.panel_rows. */
template <class T> static cudaError_t pack(const spmm_matrix &A, row_fragments<T> *fragments)
{
    const int long_rows = fragments->long_rows, panel_rows = fragments->shape.panel_rows;
    packing<T> p = {.long_rows = long_rows,
                    .panel_rows = panel_rows,
                    .panels = (long_rows + panel_rows - 1) / panel_rows,
                    .words = (A.cols + 31) / 32,
                    .blocks = 1 + panel_rows / STRIP,
                    .row_ptr = A.d_row_ptr,
                    .col_idx = A.d_col_idx,
                    .values = values_of<T>(A),
                    .order = fragments->d_order};
    const int64_t words = (int64_t)p.panels * p.words;
    const int row_blocks = blocks_for(long_rows, THREAD_WARPS);
    int64_t lines = 0, blocks = 0;
    int chunks = 0;
    cudaError_t error;
    fragments->panels = p.panels;
    CUDA_TRY_GOTO(error, done, device_alloc_zeroed(&fragments->d_panel_chunk, p.panels + 1));
    p.panel_chunk = fragments->d_panel_chunk;
    if (p.panels == 0) goto done;
    CUDA_TRY_GOTO(error, done, device_alloc_zeroed(&p.used, words));
    CUDA_TRY_GOTO(error, done, device_alloc_zeroed(&p.rank, words));
    mark_columns_kernel<<<row_blocks, THREADS>>>(p);
    rank_columns_kernel<<<blocks_for(p.panels, THREAD_WARPS), THREADS>>>(p,
                                                                         fragments->d_panel_chunk);
    CUDA_TRY_GOTO(error, done, device_exclusive_scan(fragments->d_panel_chunk, p.panels + 1, 0));
    CUDA_TRY_GOTO(error, done,
                  cudaMemcpy(&chunks, fragments->d_panel_chunk + p.panels, sizeof chunks,
                             cudaMemcpyDeviceToHost));
    blocks = (int64_t)chunks * p.blocks;
    CUDA_TRY_GOTO(error, done, device_alloc_zeroed(&fragments->d_map, chunks + 1));
    if (chunks == 0) goto done; /* rows without nonzeros */
    CUDA_TRY_GOTO(error, done, device_alloc_zeroed(&p.mask, blocks * MASKS));
    CUDA_TRY_GOTO(error, done, device_alloc_zeroed(&p.start, blocks + 1));
    p.map = fragments->d_map;
    list_columns_kernel<<<blocks_for(words, THREADS), THREADS>>>(p);
    set_masks_kernel<<<row_blocks, THREADS>>>(p);
    measure_blocks_kernel<<<blocks_for(blocks, THREAD_WARPS), THREADS>>>(p, blocks);
    CUDA_TRY_GOTO(error, done, device_exclusive_scan(p.start, (int)blocks + 1, 0));
    CUDA_TRY_GOTO(error, done, count_lines(p, chunks, &fragments->stage_lines, &lines));
    CUDA_TRY_GOTO(error, done,
                  device_alloc_zeroed(&fragments->d_lines, (lines + ROUND_LINES) * WARP_SIZE));
    begin_blocks_kernel<<<blocks_for(blocks, THREAD_WARPS), THREADS>>>(p, blocks,
                                                                       fragments->d_lines);
    put_values_kernel<<<row_blocks, THREADS>>>(p, fragments->d_lines);
    CUDA_TRY_GOTO(error, done, cudaGetLastError());
    CUDA_TRY_GOTO(error, done, cudaDeviceSynchronize());
done:
    cudaFree(p.used);
    cudaFree(p.rank);
    cudaFree(p.mask);
    cudaFree(p.start);
    return error;
}

/* Where blocks that share a panel leave their sums. */
template <class T> static cudaError_t make_workspace(int N, row_fragments<T> *fragments)
{
    const fragment_shape &shape = fragments->shape;
    if (shape.splits == 1) return cudaSuccess;
    const int64_t results = (int64_t)fragments->panels * ((N - 1) / shape.width + 1);
    CUDA_TRY(device_alloc_zeroed(&fragments->d_arrived, results));
    return device_alloc(&fragments->d_partial,
                        results * shape.splits * shape.panel_rows * shape.width);
}

template <class T>
cudaError_t fragments_prepare(const spmm_plan *plan, const fragment_shape *shape,
                              row_fragments<T> *fragments)
{
    const int most_chunks = (plan->A.cols + CHUNK<T> - 1) / CHUNK<T>;
    int device, limit;
    cudaError_t error;
    *fragments = row_fragments<T>{.shape = *shape, .long_rows = count_long_rows<T>(plan->A.host)};
    if (shape->panel_rows == STRIP) fragments->shape.width = 32;
    while (fragments->shape.splits > std::max(most_chunks, 1))
        fragments->shape.splits /= 2;
    if (plan->A.rows == 0) return cudaSuccess;
    CUDA_TRY(cudaGetDevice(&device));
    CUDA_TRY(cudaDeviceGetAttribute(&limit, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
    CUDA_TRY_GOTO(error, failed, sort_out_short_rows(plan, fragments));
    for (;;) {
        try {
            error = pack(plan->A, fragments);
        } catch (const std::bad_alloc &) {
            error = cudaErrorMemoryAllocation;
        }
        CUDA_TRY_GOTO(error, failed, error);
        fragments->stages = fragments_stages(fragments, (size_t)limit);
        if (fragments_shared_bytes(fragments) <= (size_t)limit) break;
        /* Down to 32 rows and columns, of which two full stages take 77 KB: every such device has
         * that. */
        const row_fragments<T> large = *fragments;
        fragments->d_order = NULL;
        fragments_free(fragments);
        fragments->shape = {std::max(large.shape.panel_rows / 2, 32), 32, large.shape.splits};
        fragments->long_rows = large.long_rows;
        fragments->d_order = large.d_order;
    }
    CUDA_TRY_GOTO(error, failed, make_workspace(plan->N, fragments));
    CUDA_TRY_GOTO(error, failed, fragments_allow_shared(fragments, plan->N, (size_t)limit));
    return cudaSuccess;
failed:
    fragments_free(fragments);
    return error;
}

#define INSTANTIATE(T)                                                                   \
    template void fragments_free<T>(row_fragments<T> *);                                 \
    template cudaError_t fragments_prepare<T>(const spmm_plan *, const fragment_shape *, \
                                              row_fragments<T> *);
INSTANTIATE(float)
INSTANTIATE(__half)
INSTANTIATE(__nv_bfloat16)
