/*
 * global_races.cu - threads of different blocks, which nothing orders but messages.
 */
#include "planted.h"

#include "device/block_lock.cuh"

static const int RACECHECK = INSTRUMENT_RACECHECK;

/* Each block writes its part and reads its neighbour's. */
template <bool RIGHT> static __global__ void neighbour_kernel(const int *A, int *B, int *C)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
    THERE, B[i] = 2 * A[i];
    __syncthreads();
    HERE, C[i] = RIGHT ? 2 * A[(i + n - 32) % n] : B[(i + n - 32) % n];
}
template <bool RIGHT> static void neighbour(void)
{
    neighbour_kernel<RIGHT>
        <<<4, 32>>>(named<int>("A", 128), named<int>("B", 128), named<int>("C", 128));
}

/* Two blocks add to one element. */
template <bool RIGHT> static __global__ void plain_sum_kernel(float *C)
{
    if (RIGHT)
        atomicAdd(&C[threadIdx.x], 1.0f);
    else
        THERE, HERE, C[threadIdx.x] = 1.0f;
}
template <bool RIGHT> static void plain_sum(void)
{
    plain_sum_kernel<RIGHT><<<dim3(1, 2), 32>>>(named<float>("C", 32));
}

/* The same in a variable of the program. */
static __device__ float total[32];
template <bool RIGHT> static __global__ void variable_sum_kernel(float *C)
{
    if (RIGHT)
        atomicAdd(&total[threadIdx.x], C[threadIdx.x]);
    else
        THERE, HERE, total[threadIdx.x] += C[threadIdx.x];
}
template <bool RIGHT> static void variable_sum(void)
{
    variable_sum_kernel<RIGHT><<<2, 32>>>(named<float>("C", 32));
}

/* Values on their way to the transpose, a block a row and a thread a column: all nonzeros of a column go to its first place.
 * The places must differ. */
template <bool RIGHT> static __global__ void scatter_kernel(const int *values, int *turned)
{
    const int column_begins = threadIdx.x * gridDim.x, place = column_begins + blockIdx.x;
    const int value = values[blockIdx.x * blockDim.x + threadIdx.x];
    if (RIGHT)
        turned[place] = value;
    else
        THERE, HERE, turned[column_begins] = value;
}
template <bool RIGHT> static void scatter(void)
{
    scatter_kernel<RIGHT><<<4, 32>>>(named<int>("values", 128), named<int>("turned", 128));
}

/* An update that also hands on the transpose: it gathers weights that other blocks update in the same launch. A thread must
 * scatter the weight that it has itself. */
template <bool RIGHT>
static __global__ void update_both_kernel(const int *gradient, int *W, int *turned)
{
    const int rows = gridDim.x, cols = blockDim.x, i = blockIdx.x * cols + threadIdx.x;
    const int updated = W[i] - gradient[i];
    HERE, W[i] = updated;
    __syncthreads();
    if (RIGHT)
        turned[threadIdx.x * rows + blockIdx.x] = updated;
    else
        THERE, turned[i] = W[i % rows * cols + i / rows];
}
template <bool RIGHT> static void update_both(void)
{
    update_both_kernel<RIGHT>
        <<<4, 32>>>(named<int>("gradient", 128), named<int>("W", 128), named<int>("turned", 128));
}

/* The compiler's own atomics are the compiler's: a load and a store make no sum. */
template <bool RIGHT> static __global__ void compiler_atomics_kernel(int *C)
{
    if (RIGHT)
        __atomic_fetch_add(C, 1, __ATOMIC_RELAXED);
    else if (blockIdx.x == 0)
        THERE, *C = 1;
    else
        HERE, __atomic_store_n(C, 2, __ATOMIC_RELAXED);
}
template <bool RIGHT> static void compiler_atomics(void)
{
    compiler_atomics_kernel<RIGHT><<<2, 1>>>(named<int>("C", 1));
}

/* Some add atomically and one does not. */
template <bool RIGHT> static __global__ void atomic_and_plain_kernel(int *count)
{
    if (RIGHT || blockIdx.x != 2)
        THERE, atomicAdd(count, 1);
    else
        HERE, *count = 1;
}
template <bool RIGHT> static void atomic_and_plain(void)
{
    atomic_and_plain_kernel<RIGHT><<<3, 1>>>(named<int>("count", 1));
}

/* The block that is done last adds up what the others have left. When is that visible to it? */
enum fence { NONE, BEFORE_TICKET, AFTER_TICKET, IN_BLOCK };
template <fence FENCE>
static __device__ void last_block(const int *A, int *partial, int *ticket, int *C)
{
    __shared__ bool last;
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x == 0) {
        int sum = 0;
        for (int k = 0; k < (int)blockDim.x; k++)
            sum += A[i + k];
        THERE, partial[blockIdx.x] = sum;
        if (FENCE == BEFORE_TICKET) __threadfence();
        if (FENCE == IN_BLOCK) __threadfence_block();
        last = atomicAdd(ticket, 1) == (int)gridDim.x - 1;
        if (FENCE == AFTER_TICKET) __threadfence();
    }
    __syncthreads();
    if (last && threadIdx.x < gridDim.x) HERE, atomicAdd(C, partial[threadIdx.x]);
}

template <bool RIGHT>
static __global__ void no_fence_kernel(const int *A, int *partial, int *ticket, int *C)
{
    last_block<RIGHT ? BEFORE_TICKET : NONE>(A, partial, ticket, C);
}
template <bool RIGHT> static void no_fence(void)
{
    no_fence_kernel<RIGHT><<<4, 32>>>(named<int>("A", 128), named<int>("partial", 4),
                                      named<int>("ticket", 1), named<int>("C", 1));
}

template <bool RIGHT>
static __global__ void late_fence_kernel(const int *A, int *partial, int *ticket, int *C)
{
    last_block<RIGHT ? BEFORE_TICKET : AFTER_TICKET>(A, partial, ticket, C);
}
template <bool RIGHT> static void late_fence(void)
{
    late_fence_kernel<RIGHT><<<4, 32>>>(named<int>("A", 128), named<int>("partial", 4),
                                        named<int>("ticket", 1), named<int>("C", 1));
}

template <bool RIGHT>
static __global__ void block_fence_kernel(const int *A, int *partial, int *ticket, int *C)
{
    last_block<RIGHT ? BEFORE_TICKET : IN_BLOCK>(A, partial, ticket, C);
}
template <bool RIGHT> static void block_fence(void)
{
    block_fence_kernel<RIGHT><<<4, 32>>>(named<int>("A", 128), named<int>("partial", 4),
                                         named<int>("ticket", 1), named<int>("C", 1));
}

/* All threads write, one passes the fence: too early for what the others write. */
template <bool RIGHT> static __global__ void one_fences_kernel(int *B, int *ticket, int *C)
{
    __shared__ bool last;
    THERE, B[blockIdx.x * blockDim.x + threadIdx.x] = 1;
    if (RIGHT || threadIdx.x == 0) __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) last = atomicAdd(ticket, 1) == (int)gridDim.x - 1;
    __syncthreads();
    if (!last) return;
    int sum = 0;
    for (unsigned k = 0; k < gridDim.x; k++)
        HERE, sum += B[k * blockDim.x + threadIdx.x];
    C[threadIdx.x] = sum;
}
template <bool RIGHT> static void one_fences(void)
{
    one_fences_kernel<RIGHT>
        <<<4, 32>>>(named<int>("B", 128), named<int>("ticket", 1), named<int>("C", 32));
}

/* A first version of lab 36's merge of segments: each lane leaves a number, lane 0 counts the warp in and tells the others
 * by a shuffle whether it came last. All results were right, and yet a shuffle orders no memory. */
template <bool RIGHT>
static __global__ void merge_after_shuffle_kernel(int *left, unsigned *arrived, int *C)
{
    const int lane = threadIdx.x;
    int last = 0;
    THERE, left[blockIdx.x * 32 + lane] = lane;
    __syncwarp();
    if (lane == 0) {
        __threadfence();
        last = atomicInc(arrived, gridDim.x - 1) == gridDim.x - 1;
        __threadfence();
    }
    last = __shfl_sync(~0u, last, 0);
    if (RIGHT) __syncwarp();
    if (!last) return;
    int sum = 0;
    for (unsigned k = 0; k < gridDim.x; k++)
        HERE, sum += left[k * 32 + lane];
    C[lane] = sum;
}
template <bool RIGHT> static void merge_after_shuffle(void)
{
    merge_after_shuffle_kernel<RIGHT>
        <<<4, 32>>>(named<int>("left", 128), named<unsigned>("arrived", 1), named<int>("C", 32));
}

/* The other half of it: who comes last puts the counter back for the next run, by an ordinary store. */
template <bool RIGHT> static __global__ void reset_by_store_kernel(unsigned *arrived)
{
    const unsigned count = gridDim.x;
    __threadfence();
    if (RIGHT)
        atomicInc(arrived, count - 1); /* wraps to 0 itself */
    else if (THERE, atomicAdd(arrived, 1) == count - 1)
        HERE, *arrived = 0;
}
template <bool RIGHT> static void reset_by_store(void)
{
    reset_by_store_kernel<RIGHT><<<3, 1>>>(named<unsigned>("arrived", 1));
}

/* A turn that is passed from block to block; the second array is written after the turn has
 * been. */
template <bool RIGHT> static __global__ void turn_kernel(int *turn, int *sum)
{
    while (atomicAdd(turn, 0) != (int)blockIdx.x) {
    }
    __threadfence();
    if (RIGHT) *sum += 1;
    __threadfence();
    atomicAdd(turn, 1);
    if (!RIGHT) THERE, HERE, *sum = 1;
}
template <bool RIGHT> static void turn(void)
{
    turn_kernel<RIGHT><<<5, 1>>>(named<int>("turn", 1), named<int>("sum", 1));
}

/* Blocks add to one result under a lock. Each thread must fence what it wrote before thread 0 gives the lock back; a fence
 * of thread 0 alone comes too early for the others. All results are right all the same, where stores are fast. */
enum lock_bug { LOCKED, UNLOCKED_WITHOUT_FENCE, FENCED_BY_ONE, NOT_LOCKED };
template <lock_bug BUG> static __device__ void add_under_lock(int *lock, float *C)
{
    if (BUG != NOT_LOCKED) block_lock(lock);
    THERE, HERE, C[threadIdx.x] = __ldcg(C + threadIdx.x) + 1;
    if (BUG == LOCKED) block_unlock(lock);
    if (BUG == UNLOCKED_WITHOUT_FENCE || BUG == FENCED_BY_ONE) {
        if (BUG == FENCED_BY_ONE && threadIdx.x == 0) __threadfence();
        __syncthreads();
        if (threadIdx.x == 0) atomicExch(lock, 0);
    }
}

template <bool RIGHT> static __global__ void lock_without_fence_kernel(int *lock, float *C)
{
    add_under_lock<RIGHT ? LOCKED : UNLOCKED_WITHOUT_FENCE>(lock, C);
}
template <bool RIGHT> static void lock_without_fence(void)
{
    lock_without_fence_kernel<RIGHT><<<3, 32>>>(named<int>("lock", 1), named<float>("C", 32));
}

template <bool RIGHT> static __global__ void lock_fenced_by_one_kernel(int *lock, float *C)
{
    add_under_lock<RIGHT ? LOCKED : FENCED_BY_ONE>(lock, C);
}
template <bool RIGHT> static void lock_fenced_by_one(void)
{
    lock_fenced_by_one_kernel<RIGHT><<<3, 32>>>(named<int>("lock", 1), named<float>("C", 32));
}

template <bool RIGHT> static __global__ void no_lock_kernel(int *lock, float *C)
{
    add_under_lock<RIGHT ? LOCKED : NOT_LOCKED>(lock, C);
}
template <bool RIGHT> static void no_lock(void)
{
    no_lock_kernel<RIGHT><<<3, 32>>>(named<int>("lock", 1), named<float>("C", 32));
}

void plant_global_races(void)
{
    BUG(neighbour, RACECHECK, "race", "reads B[0], which thread (0,0,0) of block (0,0,0) writes",
        {1, 0, 0}, {0, 0, 0});
    BUG(plain_sum, RACECHECK, "race", "writes C[0], which thread (0,0,0) of block (0,0,0) writes",
        {0, 1, 0}, {0, 0, 0});
    BUG(variable_sum, RACECHECK, "race",
        "reads total[0], which thread (0,0,0) of block (0,0,0) writes", {1, 0, 0}, {0, 0, 0});
    BUG(scatter, RACECHECK, "race",
        "writes turned[0], which thread (0,0,0) of block (0,0,0) writes", {1, 0, 0}, {0, 0, 0});
    BUG(update_both, RACECHECK, "race", "writes W[32], which thread (1,0,0) of block (0,0,0) reads",
        {1, 0, 0}, {0, 0, 0});
    BUG(compiler_atomics, RACECHECK, "race",
        "writes C[0], which thread (0,0,0) of block (0,0,0) writes", {1, 0, 0}, {0, 0, 0});
    BUG(atomic_and_plain, RACECHECK, "race",
        "writes count[0], which thread (0,0,0) of block (1,0,0)", {2, 0, 0}, {0, 0, 0});
    BUG(no_fence, RACECHECK, "race",
        "reads partial[0], which thread (0,0,0) of block (0,0,0) writes", {3, 0, 0}, {0, 0, 0});
    BUG(late_fence, RACECHECK, "race",
        "reads partial[0], which thread (0,0,0) of block (0,0,0) writes", {3, 0, 0}, {0, 0, 0});
    BUG(block_fence, RACECHECK, "race", "reads partial[0], which thread (0,0,0) of block (0,0,0)",
        {3, 0, 0}, {0, 0, 0});
    BUG(one_fences, RACECHECK, "race", "reads B[1], which thread (1,0,0) of block (0,0,0) writes",
        {3, 0, 0}, {1, 0, 0});
    BUG(merge_after_shuffle, RACECHECK, "race",
        "reads left[30], which thread (30,0,0) of block (0,0,0) writes", {3, 0, 0}, {30, 0, 0});
    BUG(reset_by_store, RACECHECK, "race",
        "writes arrived[0], which thread (0,0,0) of block (1,0,0)", {2, 0, 0}, {0, 0, 0});
    BUG(turn, RACECHECK, "race", "writes sum[0], which thread (0,0,0) of block (0,0,0) writes",
        {1, 0, 0}, {0, 0, 0});
    BUG(lock_without_fence, RACECHECK, "race", "C[0], which thread (0,0,0) of block (0,0,0) writes",
        {1, 0, 0}, {0, 0, 0});
    BUG(lock_fenced_by_one, RACECHECK, "race", "C[1], which thread (1,0,0) of block (0,0,0) writes",
        {1, 0, 0}, {1, 0, 0});
    BUG(no_lock, RACECHECK, "race", "C[0], which thread (0,0,0) of block (0,0,0) writes", {1, 0, 0},
        {0, 0, 0});
}
