/*
 * mbarrier.cu - device/mbarrier.cuh against PTX's mbarrier and cp.async.bulk: phases, parities,
 * announced bytes, and a ring of buffers between a warp that fills and warps that read.
 */
#include "tests/primitives/primitives.h"

#include "device/mbarrier.cuh"
#include "device/warp.cuh"

enum { THREADS = 128, TILE = 64, STAGES = 3 };

/* Each phase needs all threads; a thread leaves behind each phase what all see in the next. */
__global__ void phases_kernel(int *to, int phases)
{
    __shared__ mbarrier b;
    __shared__ int x[2][THREADS];
    const int t = threadIdx.x;
    if (t == 0) {
        mbarrier_init(&b, THREADS);
        mbarrier_publish();
    }
    __syncthreads();
    int sum = t;
    for (int i = 0; i < phases; i++) {
        x[i % 2][t] = sum;
        mbarrier_arrive(&b);
        mbarrier_wait(&b, i % 2);
        sum += x[i % 2][(t + 37) % THREADS];
    }
    to[t] = sum;
}

static void phases(int count)
{
    int to[THREADS], want[THREADS], next[THREADS], *d = device_zeros<int>(THREADS);
    phases_kernel<<<1, THREADS>>>(d, count);
    FINISH();
    to_host(to, d, THREADS);
    for (int t = 0; t < THREADS; t++)
        want[t] = t;
    for (int i = 0; i < count; i++) {
        for (int t = 0; t < THREADS; t++)
            next[t] = want[t] + want[(t + 37) % THREADS];
        memcpy(want, next, sizeof want);
    }
    tap_ok(!memcmp(to, want, sizeof to), "%d phases in a row, parities in turn", count);
}

/* Checks a new barrier: phase -1 has ended, so the other parity does not wait; bytes keep a phase from
 * ending although all have arrived; several copies fill up one announcement. */
__global__ void bytes_kernel(const int *from, int *to)
{
    __shared__ mbarrier b;
    __shared__ __align__(16) int x[2 * TILE];
    const int t = threadIdx.x;
    if (t == 0) {
        mbarrier_init(&b, 2);
        mbarrier_publish();
    }
    __syncthreads();
    if (t == 0) {
        mbarrier_wait(&b, 1);
        mbarrier_expect(&b, sizeof x);
        bulk_copy(x, from, TILE * sizeof *x, &b);
        mbarrier_arrive(&b);
        bulk_copy(x + TILE, from + TILE, (TILE - 4) * sizeof *x, &b);
        bulk_copy(x + 2 * TILE - 4, from + 2 * TILE - 4, 4 * sizeof *x, &b);
    }
    mbarrier_wait(&b, 0);
    mbarrier_wait(&b, 0); /* still the latest of that parity */
    to[t] = x[THREADS - 1 - t];
}

static void bytes(void)
{
    int from[2 * TILE], to[THREADS], wrong = 0;
    for (int i = 0; i < 2 * TILE; i++)
        from[i] = 3 * i + 1;
    int *d_from = to_device(from, 2 * TILE), *d = device_zeros<int>(THREADS);
    bytes_kernel<<<1, THREADS>>>(d_from, d);
    FINISH();
    to_host(to, d, THREADS);
    CUDA(cudaFree(d_from));
    for (int t = 0; t < THREADS; t++)
        wrong += to[t] != from[THREADS - 1 - t];
    tap_ok(wrong == 0, "three copies fill up what was announced; a new barrier's other parity");
}

/* The last warp fills a ring of tiles; each of the others adds up all of them. */
__global__ void ring_kernel(const int *from, int *to, int tiles)
{
    __shared__ mbarrier full[STAGES], empty[STAGES];
    __shared__ __align__(16) int tile[STAGES][TILE];
    const int readers = blockDim.x / WARP_SIZE - 1;
    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; i++) {
            mbarrier_init(&full[i], 1);
            mbarrier_init(&empty[i], readers);
        }
        mbarrier_publish();
    }
    __syncthreads();
    int sum = 0;
    for (int i = 0; i < tiles; i++) {
        const int s = i % STAGES, round = i / STAGES % 2;
        if (warp_id() < readers) {
            mbarrier_wait(&full[s], round);
            for (int k = 0; k < TILE; k++)
                sum = 3 * sum + tile[s][k];
            __syncwarp();
            if (lane_id() == 0) mbarrier_arrive(&empty[s]);
        } else if (lane_id() == 0) {
            mbarrier_wait(&empty[s], round ^ 1);
            mbarrier_expect(&full[s], sizeof tile[s]);
            bulk_copy(tile[s], from + (size_t)i * TILE, sizeof tile[s], &full[s]);
        }
    }
    to[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

static void ring(int tiles)
{
    enum { BLOCKS = 3, ALL = BLOCKS * THREADS };
    const int n = tiles * TILE;
    int *from = (int *)calloc((size_t)n + 1, sizeof *from), to[ALL], wrong = 0, want = 0;
    for (int i = 0; i < n; i++) {
        from[i] = i % 17;
        want = (int)(3u * (unsigned)want + (unsigned)from[i]);
    }
    int *d_from = to_device(from, (size_t)n + 1), *d = device_zeros<int>(ALL);
    ring_kernel<<<BLOCKS, THREADS>>>(d_from, d, tiles);
    FINISH();
    to_host(to, d, ALL);
    CUDA(cudaFree(d_from));
    free(from);
    for (int t = 0; t < ALL; t++)
        wrong += to[t] != (t % THREADS < THREADS - WARP_SIZE ? want : 0);
    tap_ok(wrong == 0, "a ring of three tiles, %d times filled", tiles);
}

int main()
{
    if (compute_capability() < 90) {
        tap_skip("compute capability 9.0 and up", "barriers in shared memory");
        return tap_done();
    }
    for (int count : {0, 1, 2, 3, 10})
        phases(count);
    bytes();
    for (int tiles : {0, 1, 2, 3, 4, 11})
        ring(tiles);
    return tap_done();
}
