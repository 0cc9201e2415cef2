/*
 * shared_sums.cu - sums that warps exchange (device/sums_exchange.cuh) and that blocks post for each other
 * (device/posted_sums.cuh): every sum arrives once, in the order promised, in every round and every launch.
 */
#include "tests/primitives/primitives.h"

#include "device/posted_sums.cuh"
#include "device/sums_exchange.cuh"

/* A value that rounding tells from its neighbours when sums come in another order. */
__host__ __device__ static float value(int who, int what, int lane, int j)
{
    return 1.0f / (float)(1 + who * 5 + what * 3 + lane + 7 * j);
}

/* ---- between blocks ------------------------------------------------------------------------------- */

enum { TILES = 2, PIECES = TILES * 4 * WARP_SIZE };

/* Blocks of one warp; the last adds what the others post. */
static __global__ void post_kernel(float *posted, unsigned *ticket, float *to)
{
    const int block = started_block(ticket), last = gridDim.x - 1, lane = lane_id();
    const auto place_of = [=](int b) { return posted + b * PIECES + lane * 4; };
    float sum[1][TILES][4];
    for (int n = 0; n < TILES; n++)
        for (int j = 0; j < 4; j++)
            sum[0][n][j] = value(block, n, lane, j);
    if (block < last) {
        post_sums(place_of(block), sum);
        return;
    }
    add_posted_sums<3, PIECES>(0, last, place_of, sum);
    for (int n = 0; n < TILES; n++)
        store_vector(to + (n * WARP_SIZE + lane) * 4, sum[0][n]);
}

/* Launches twice on the same memory: the second launch must find it as the first did. */
static void posted(int blocks)
{
    const size_t bytes = (size_t)blocks * PIECES * sizeof(float);
    float *d_posted, got[PIECES], *d_to = device_zeros<float>(PIECES);
    unsigned *d_ticket = device_zeros<unsigned>(1);
    int wrong = 0;
    CUDA(cudaMalloc(&d_posted, bytes));
    CUDA(cudaMemset(d_posted, NOT_POSTED & 0xff, bytes));
    for (int launch = 0; launch < 2; launch++) {
        CUDA(cudaMemset(d_to, 0, sizeof got));
        post_kernel<<<blocks, WARP_SIZE>>>(d_posted, d_ticket, d_to);
        FINISH();
        CUDA(cudaMemcpy(got, d_to, sizeof got, cudaMemcpyDeviceToHost));
        for (int i = 0; i < PIECES; i++) {
            const int n = i / 4 / WARP_SIZE, lane = i / 4 % WARP_SIZE, j = i % 4;
            float want = value(blocks - 1, n, lane, j);
            for (int b = 0; b < blocks - 1; b++)
                want += value(b, n, lane, j);
            wrong += got[i] != want;
        }
    }
    tap_ok(wrong == 0, "sums of %d blocks, from left to right, twice", blocks);
    CUDA(cudaFree(d_posted));
    CUDA(cudaFree(d_ticket));
    CUDA(cudaFree(d_to));
}

/* ---- between warps -------------------------------------------------------------------------------- */

enum { MOST_WAYS = 4, ROUNDS = 3 };

/* A set of `ways` warps; to[round][strip]. */
static __global__ void exchange_kernel(int ways, float *to)
{
    __shared__ mbarrier given, taken;
    __shared__ float4 shared[(MOST_WAYS - 1) * EXCHANGED_STRIPS * WARP_SIZE];
    const int way = warp_id(), lane = lane_id();
    if (threadIdx.x == 0) {
        mbarrier_init(&given, ways * WARP_SIZE);
        mbarrier_init(&taken, EXCHANGED_STRIPS * WARP_SIZE);
        mbarrier_publish();
    }
    __syncthreads();
    sums_exchange<1> exchange(&given, &taken, shared, 0, way, ways);
    for (int round = 0; round < ROUNDS; round++) {
        float sum[EXCHANGED_STRIPS][1][4], mine[1][1][4];
        for (int strip = 0; strip < EXCHANGED_STRIPS; strip++)
            for (int j = 0; j < 4; j++)
                sum[strip][0][j] = value(way + round, strip, lane, j);
        exchange.bring_together(sum, mine);
        if (exchange.receives())
            store_vector(to + ((round * EXCHANGED_STRIPS + way) * WARP_SIZE + lane) * 4,
                         mine[0][0]);
    }
}

static void exchanged(int ways)
{
    constexpr int COUNT = ROUNDS * EXCHANGED_STRIPS * WARP_SIZE * 4;
    float got[COUNT], *d = device_zeros<float>(COUNT);
    int wrong = 0;
    exchange_kernel<<<1, ways * WARP_SIZE>>>(ways, d);
    FINISH();
    to_host(got, d, COUNT);
    for (int i = 0; i < COUNT; i++) {
        const int j = i % 4, lane = i / 4 % WARP_SIZE, strip = i / 4 / WARP_SIZE % EXCHANGED_STRIPS;
        const int round = i / 4 / WARP_SIZE / EXCHANGED_STRIPS;
        float want = value(strip + round, strip, lane, j);
        for (int giver = 0; giver < ways; giver++)
            if (giver != strip) want += value(giver + round, strip, lane, j);
        wrong += got[i] != want;
    }
    tap_ok(wrong == 0, "two strips of %d warps, %d rounds", ways, (int)ROUNDS);
}

int main()
{
    if (compute_capability() < 90) {
        tap_skip("compute capability 9.0 and up", "sums that warps and blocks share");
        return tap_done();
    }
    for (int blocks : {1, 2, 4, 9})
        posted(blocks);
    for (int ways : {2, 4})
        exchanged(ways);
    return tap_done();
}
