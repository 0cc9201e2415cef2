/*
 * warp.cu - device/warp.cuh: a thread's place, sums over warps and subwarps; clocks.
 */
#include "tests/primitives/primitives.h"

#include "device/warp.cuh"

__global__ void place_kernel(int *lane, int *warp, int *sm)
{
    const int t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    lane[t] = lane_id();
    warp[t] = warp_id();
    sm[t] = sm_id();
}

static void place(dim3 block)
{
    const int n = (int)(block.x * block.y * block.z);
    int *d_lane = device_zeros<int>(n), *d_warp = device_zeros<int>(n),
        *d_sm = device_zeros<int>(n);
    static int lane[1024], warp[1024], sm[1024];
    place_kernel<<<1, block>>>(d_lane, d_warp, d_sm);
    FINISH();
    to_host(lane, d_lane, n);
    to_host(warp, d_warp, n);
    to_host(sm, d_sm, n);
    int sms, wrong = 0;
    CUDA(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
    for (int t = 0; t < n; t++)
        wrong +=
            lane[t] != t % 32 || warp[t] != t / 32 || sm[t] != sm[0] || sm[t] < 0 || sm[t] >= sms;
    tap_ok(wrong == 0, "lane, warp and multiprocessor in a block of (%u,%u,%u)", block.x, block.y,
           block.z);
}

/* Subwarps of WIDTH lanes, each as many times as its number says, so that they part. */
template <int WIDTH> __global__ void sums_kernel(int *sum, int *most, float *fsum, unsigned *mask)
{
    const int t = threadIdx.x, group = lane_id() / WIDTH;
    mask[t] = subwarp_mask<WIDTH>();
    for (int i = 0; i <= group; i++) {
        sum[t] = subwarp_sum<WIDTH>(t * t + i);
        most[t] = subwarp_max<WIDTH>((t * 37) % 64 - 32);
        fsum[t] = subwarp_sum<WIDTH>(0.1f * t + i);
    }
}

template <int WIDTH> static void sums(void)
{
    const int n = 64;
    int *d_sum = device_zeros<int>(n), *d_most = device_zeros<int>(n), sum[n], most[n];
    float *d_fsum = device_zeros<float>(n), fsum[n];
    unsigned *d_mask = device_zeros<unsigned>(n), mask[n];
    sums_kernel<WIDTH><<<1, n>>>(d_sum, d_most, d_fsum, d_mask);
    FINISH();
    to_host(sum, d_sum, n);
    to_host(most, d_most, n);
    to_host(fsum, d_fsum, n);
    to_host(mask, d_mask, n);
    int wrong = 0;
    for (int t = 0; t < n; t++) {
        const int first = t / WIDTH * WIDTH, group = t % 32 / WIDTH;
        int want = 0, largest = -1000;
        double fwant = 0;
        unsigned members = 0;
        for (int u = first; u < first + WIDTH; u++) {
            want += u * u + group;
            fwant += 0.1 * u + group;
            if ((u * 37) % 64 - 32 > largest) largest = (u * 37) % 64 - 32;
            members |= 1u << u % 32;
        }
        wrong += sum[t] != want || most[t] != largest || mask[t] != members;
        wrong += !(fsum[t] > fwant - 1e-3 && fsum[t] < fwant + 1e-3) || fsum[t] != fsum[first];
    }
    tap_ok(wrong == 0, "mask, sum and maximum over %d lanes", WIDTH);
}

__global__ void whole_kernel(double *sum, unsigned *most)
{
    sum[threadIdx.x] = warp_sum((double)threadIdx.x);
    most[threadIdx.x] = warp_max(threadIdx.x);
}

__global__ void clock_kernel(long long *out)
{
    const long long a = clock64(), c = global_nanoseconds();
    const clock_t s = clock();
    __nanosleep(1000);
    const long long b = clock64(), d = global_nanoseconds();
    out[0] = b - a;
    out[1] = d - c;
    out[2] = (long long)(clock() - s);
}

int main()
{
    place(32);
    place(100);
    place(dim3(8, 16, 8));
    place(dim3(3, 5, 7));
    sums<1>();
    sums<2>();
    sums<4>();
    sums<8>();
    sums<16>();
    sums<32>();

    double *d_sum = device_zeros<double>(64), sum[64];
    unsigned *d_most = device_zeros<unsigned>(64), most[64];
    whole_kernel<<<1, 64>>>(d_sum, d_most);
    FINISH();
    to_host(sum, d_sum, 64);
    to_host(most, d_most, 64);
    bool right = true;
    for (int t = 0; t < 64; t++)
        right &= sum[t] == (t < 32 ? 496 : 1520) && most[t] == (t < 32 ? 31u : 63u);
    tap_ok(right, "warp_sum of double, warp_max of unsigned");

    long long *d = device_zeros<long long>(3), h[3];
    clock_kernel<<<1, 1>>>(d);
    FINISH();
    to_host(h, d, 3);
    tap_ok(h[0] > 0 && h[1] >= 0 && h[2] >= 0, "clocks go forward");
    return tap_done();
}
