/*
 * async.cu - products, boxes and clusters whose threads do not wait long enough.
 */
#include "planted.h"

#include "device/cluster.cuh"
#include "device/tensor_map.cuh"
#include "device/wgmma.cuh"

static const int MEMCHECK = INSTRUMENT_MEMCHECK, RACECHECK = INSTRUMENT_RACECHECK;
constexpr int SIDE = 64, BOX_BYTES = SIDE * SIDE * 2, SHARED_BYTES = BOX_BYTES + 16;

struct box_of {
    tensor_map map;
    float *C;
};

static box_of boxes_of_A(int rows, int mapped_rows)
{
    box_of a = {};
    __half *A = named<__half>("A", (size_t)rows * SIDE);
    CUDA(tensor_map_make(&a.map, A, (size_t)mapped_rows, SIDE, SIDE, SIDE));
    a.C = named<float>("C", 256);
    return a;
}

/* A stage is filled again while products may still read it. */
template <bool RIGHT> static __global__ void given_back_early_kernel(const box_of a)
{
    extern __shared__ __align__(1024) char shared[];
    mbarrier *const full = (mbarrier *)(shared + BOX_BYTES);
    uint32_t x[1][4] = {};
    float d[8][4] = {};
    if (threadIdx.x == 0) {
        mbarrier_init(full, 1);
        mbarrier_publish();
        mbarrier_expect(full, BOX_BYTES);
        tensor_copy(shared, &a.map, 0, 0, full);
    }
    __syncthreads();
    mbarrier_wait(full, 0);
    wgmma_fence(x);
    HERE, (wgmma_k16<__half, true>(d, x[0], wgmma_operand(shared)));
    wgmma_commit();
    if (RIGHT) wgmma_wait(d);
    __syncthreads();
    if (threadIdx.x == 0) {
        mbarrier_expect(full, BOX_BYTES);
        THERE, tensor_copy(shared, &a.map, SIDE, 0, full);
    }
    wgmma_wait(d);
    mbarrier_wait(full, 1);
    a.C[threadIdx.x] = d[0][0];
}
template <bool RIGHT> static void given_back_early(void)
{
    given_back_early_kernel<RIGHT><<<1, 128, SHARED_BYTES>>>(boxes_of_A(2 * SIDE, 2 * SIDE));
}

/* Reads a box that has not been waited for. */
template <bool RIGHT> static __global__ void box_read_early_kernel(const box_of a)
{
    extern __shared__ __align__(1024) char shared[];
    mbarrier *const full = (mbarrier *)(shared + BOX_BYTES);
    if (threadIdx.x == 0) {
        mbarrier_init(full, 1);
        mbarrier_publish();
        mbarrier_expect(full, BOX_BYTES);
        tensor_copy(shared, &a.map, 0, 0, full);
    }
    __syncthreads();
    if (RIGHT) mbarrier_wait(full, 0);
    HERE, a.C[threadIdx.x] = *(const float *)(shared + 4 * threadIdx.x);
    mbarrier_wait(full, 0);
}
template <bool RIGHT> static void box_read_early(void)
{
    box_read_early_kernel<RIGHT><<<1, 32, SHARED_BYTES>>>(boxes_of_A(SIDE, SIDE));
}

/* The map has a row more than the array: rows beyond the map are zeros, rows of it are read. */
template <bool RIGHT> static __global__ void box_past_end_kernel(const box_of a)
{
    extern __shared__ __align__(1024) char shared[];
    mbarrier *const full = (mbarrier *)(shared + BOX_BYTES);
    if (threadIdx.x == 0) {
        mbarrier_init(full, 1);
        mbarrier_publish();
        mbarrier_expect(full, BOX_BYTES);
        HERE, tensor_copy(shared, &a.map, 8, 0, full);
    }
    __syncthreads();
    mbarrier_wait(full, 0);
    a.C[threadIdx.x] = *(const float *)(shared + 4 * threadIdx.x);
}
template <bool RIGHT> static void box_past_end(void)
{
    box_past_end_kernel<RIGHT><<<1, 32, SHARED_BYTES>>>(boxes_of_A(SIDE, RIGHT ? SIDE : SIDE + 1));
}

/* Block 1 of a cluster sends to block 0, whose threads may not have read yet: its own barrier says nothing of them. */
template <bool RIGHT> static __global__ void sent_early_kernel(const box_of a)
{
    extern __shared__ __align__(1024) char shared[];
    mbarrier *const full = (mbarrier *)(shared + BOX_BYTES);
    const int rank = cluster_rank();
    ((float *)shared)[threadIdx.x] = 1;
    if (threadIdx.x == 0) {
        mbarrier_init(full, 1);
        mbarrier_publish();
        mbarrier_expect(full, rank == 0 ? BOX_BYTES : 0);
    }
    cluster_sync();
    if (rank == 0) THERE, a.C[threadIdx.x] = ((float *)shared)[threadIdx.x ^ 1];
    if (RIGHT)
        cluster_sync();
    else
        __syncthreads();
    if (rank == 1 && threadIdx.x == 0) HERE, tensor_copy_multicast(shared, &a.map, 0, 0, full, 1);
    mbarrier_wait(full, 0);
    cluster_sync();
}
template <bool RIGHT> static void sent_early(void)
{
    CUDA(launch_in_clusters(sent_early_kernel<RIGHT>, 2, 32, SHARED_BYTES, nullptr, 2,
                            boxes_of_A(SIDE, SIDE)));
}

void plant_async(void)
{
    BUG(given_back_early, RACECHECK, "race", "dynamic shared [0]", {0, 0, 0}, {31, 0, 0});
    BUG(box_read_early, MEMCHECK, "asynchronous copy", "reads 4 bytes at dynamic shared [0]",
        {0, 0, 0}, {0, 0, 0});
    BUG(box_past_end, MEMCHECK, "out of bounds", "reads 128 bytes at A[4096] (1 past its end)",
        {0, 0, 0}, {0, 0, 0});
    BUG(sent_early, RACECHECK, "race", "dynamic shared [0]", {1, 0, 0}, {0, 0, 0});
}
