/*
 * gather.cu - the gather kernel: a launch a pass, whose blocks take the bins of passes.h in turn, the
 * longest pieces of work first.
 */
#include "gather.h"

#include "device/cuda_try.h"
#include "device/occupancy.cuh"
#include "gather.cuh"
#include "packets.cuh"
#include "parts.cuh"

constexpr int MAX_SLICES = 65535; /* blocks a grid may have in y */

template <int LANES, int V, int K, launch_kind KIND>
static __device__ void medium_segment(const pass_product &p)
{
    const slice_lanes<LANES, V, K> at(p);
    const int i =
        p.first[MEDIUM] + (blockIdx.x - p.block[MEDIUM]) * WARPS + (int)threadIdx.x / WARP_SIZE;
    if (i >= p.first[SHORT]) return;
    const int2 span = p.span[i];
    const int row = p.row[i], group = at.group % at.GROUPS;
    const int share = share_of<LANES>(span.y, at.GROUPS);
    const int before = group * share, own = before < span.y ? before : 0;
    float sum[K][V];
    at.template begin<KIND>(p, group == 0 ? row : 0, sum); /* what C holds counts once */
    gather(at, p.pairs + (size_t)span.x * LANES + own, min(share, span.y - before), sum);
    add_groups<LANES, V, K>(sum);
    if (group == 0) at.template finish<KIND>(p, row, sum);
}

template <int LANES, int V, int K, launch_kind KIND>
static __device__ void short_segment(const pass_product &p)
{
    const slice_lanes<LANES, V, K> at(p);
    const int i = p.first[SHORT] + (blockIdx.x - p.block[SHORT]) * (BLOCK / LANES) + at.group;
    const bool exists = i < p.first[PACK_16];
    int2 span = make_int2(0, 0);
    int row = 0;
    if (exists) {
        span = p.span[i];
        row = p.row[i];
    }
    /* BEGIN STUDENT: begin at zero or at C, gather the segment, store where there is one */
    float sum[K][V];
    at.template begin<KIND>(p, row, sum);
    gather(at, p.pairs + (size_t)span.x * LANES, span.y, sum);
    if (exists) at.template finish<KIND>(p, row, sum);
    /* END STUDENT */
}

/* 48 warps an SM of 40 registers; or 32 of 64, where a lane has 8 columns or holds four pairs of a packet.
 *
 * Of an overlapping pass no thread ends before the pass before has ended, whether it has something to add
 * to C or not: so who waits for a pass has waited for all before it. */
template <int LANES, int V, int K, launch_kind KIND>
static __global__ void __launch_bounds__(BLOCK,
                                         THREADS_PER_SM / BLOCK * (K == 1 && LANES > 4 ? 3 : 2) / 4)
    spmm_gather_kernel(const __grid_constant__ pass_product p)
{
    if constexpr (KIND == OVERLAPPING) others_may_start();
    const int block = blockIdx.x;
    if (block < p.block[MEDIUM])
        long_part<LANES, V, K, KIND>(p);
    else if (block < p.block[SHORT])
        medium_segment<LANES, V, K, KIND>(p);
    else if (block < p.block[PACK_16])
        short_segment<LANES, V, K, KIND>(p);
    else if (block < p.block[PACK_8])
        packet<PACK_16, LANES, V, K, KIND>(p);
    else if (block < p.block[PACK_4])
        packet<PACK_8, LANES, V, K, KIND>(p);
    else if (block < p.block[PACK_2])
        packet<PACK_4, LANES, V, K, KIND>(p);
    else if (block < p.block[PACK_1])
        packet<PACK_2, LANES, V, K, KIND>(p);
    else if (block < p.block[EMPTY])
        packet<PACK_1, LANES, V, K, KIND>(p);
    else
        empty_rows<LANES, V, K, KIND>(p);
    if constexpr (KIND == OVERLAPPING) wait_for_kernel_before();
}

/* What the launch of a pass is given. */
template <int LANES> static pass_product product_of(const passes_plan *plan, int pass)
{
    constexpr int GROUPS = BLOCK / LANES;
    const int *const first = plan->first + pass * NUM_BINS, base = first[0];
    pass_product p = {.num_slices = plan->shape.slices,
                      .part_length = plan->part_length,
                      .row = plan->d_row + base,
                      .span = plan->d_span + base,
                      .pairs = plan->d_pairs,
                      .packets = plan->d_pairs + plan->packets_at,
                      .part = plan->d_part,
                      .first_part_of = plan->d_first_part_of,
                      .before_long = plan->first_long[pass],
                      .before_part = plan->first_part[pass],
                      .partial = plan->d_partial,
                      .arrived = plan->d_arrived};
    for (int b = 0; b < NUM_BINS; b++) {
        const int count = first[b + 1] - first[b];
        const bool packed = pass == 0 && b >= PACK_16 && b < EMPTY;
        const int packets = packed ? plan->packet[b + 1] - plan->packet[b] : 0;
        const int blocks = b == LONG     ? plan->first_part[pass + 1] - plan->first_part[pass]
                           : b == MEDIUM ? (count + WARPS - 1) / WARPS
                           : b == SHORT  ? (count + GROUPS - 1) / GROUPS
                           : b == EMPTY
                               ? (count + GROUPS * ZEROED_ROWS - 1) / (GROUPS * ZEROED_ROWS)
                               : (packets + GROUPS - 1) / GROUPS;
        p.first[b + 1] = first[b + 1] - base;
        p.block[b + 1] = p.block[b] + blocks;
        p.packet[b] = plan->packet[b];
    }
    return p;
}

template <int LANES, int V, int K>
static cudaError_t launch(const passes_plan *plan, int N, bool overlap, const float *B, float *C,
                          cudaStream_t stream)
{
    bool is_first = true;
    for (int pass = 0; pass < plan->passes; pass++) {
        pass_product p = product_of<LANES>(plan, pass);
        p.N = N;
        p.B = B;
        p.C = C;
        if (p.block[NUM_BINS] == 0) continue;
        for (; p.first_slice < p.num_slices; p.first_slice += MAX_SLICES) {
            const dim3 grid(p.block[NUM_BINS], min(MAX_SLICES, p.num_slices - p.first_slice));
            if (plan->passes == 1)
                spmm_gather_kernel<LANES, V, K, ALONE><<<grid, BLOCK, 0, stream>>>(p);
            else if (!overlap)
                spmm_gather_kernel<LANES, V, K, IN_TURN><<<grid, BLOCK, 0, stream>>>(p);
            else if (is_first) /* B may be what the stream does just now */
                spmm_gather_kernel<LANES, V, K, OVERLAPPING><<<grid, BLOCK, 0, stream>>>(p);
            else
                CUDA_TRY(launch_overlapping(spmm_gather_kernel<LANES, V, K, OVERLAPPING>, grid,
                                            BLOCK, 0, stream, p));
            CUDA_TRY(cudaGetLastError());
            is_first = false;
        }
    }
    return cudaSuccess;
}

void gather_fit(int N, int *width, int *lanes, int *slices)
{
    if (*width == 64 && N % 64) *width = 32;
    if (*width == 16 && N % 4) *width = 32;
    /* 32 columns with the widest vectors that fit a row of B. */
    *lanes = *width == 16 ? 4 : N % 4 == 0 ? 8 : N % 2 == 0 ? 16 : 32;
    *slices = (N + *width - 1) / *width;
}

cudaError_t gather_can_overlap(bool *can)
{
    return compiled_for_90(spmm_gather_kernel<8, 4, 1, OVERLAPPING>, can);
}

cudaError_t gather_run(const passes_plan *plan, int N, int width, bool overlap, const float *B,
                       float *C, cudaStream_t stream)
{
    if (width == 64) return launch<8, 4, 2>(plan, N, overlap, B, C, stream);
    switch (plan->shape.lanes) {
    case 4:
        return launch<4, 4, 1>(plan, N, overlap, B, C, stream);
    case 8:
        return launch<8, 4, 1>(plan, N, overlap, B, C, stream);
    case 16:
        return launch<16, 2, 1>(plan, N, overlap, B, C, stream);
    default:
        return launch<32, 1, 1>(plan, N, overlap, B, C, stream);
    }
}
