/*
 * mma_sparse.cu - device/mma_sparse.cuh against the PTX ISA. All numbers are small integers, so that every order of
 * summation gives the same result. Fragments and metadata are filled element by element with the index formulas of
 * the ISA's figures for .m16n8k32; lanes that no selector names pass other metadata.
 */
#include "tests/primitives/primitives.h"

#include "device/half.cuh"
#include "device/mma_sparse.cuh"

constexpr int M = 16, N = 8, K = 32, STORED = 16;

template <class H> __device__ uint32_t bits_of(float x)
{
    const H h = narrow<H>(x);
    unsigned short bits;
    memcpy(&bits, &h, sizeof bits);
    return bits;
}

/* D = A B + D for one tile. stored: M x STORED elements of A; place: where in their fours they are; B: K x N. */
template <class H, int SELECTOR>
__global__ void product_kernel(const float *stored, const int *place, const float *B, float *D)
{
    const int lane = threadIdx.x, group = lane >> 2, in_group = lane % 4;
    uint32_t a[4] = {}, b[4] = {}, metadata = 0x9c9c9c9c; /* places 0, 3 and 1, 2 */
    for (int i = 0; i < 8; i++) {                         /* a0 .. a7 */
        const int row = i % 4 < 2 ? group : group + 8;
        const int column = in_group * 2 + (i & 1) + (i < 4 ? 0 : 8);
        a[i / 2] |= bits_of<H>(stored[row * STORED + column]) << 16 * (i % 2);
    }
    for (int i = 0; i < 8; i++) { /* b0 .. b7 */
        const int row = in_group * 2 + (i & 1) + i / 2 * 8;
        b[i / 2] |= bits_of<H>(B[row * N + group]) << 16 * (i % 2);
    }
    if (in_group / 2 == SELECTOR) {
        metadata = 0;
        for (int bit = 0; bit < 32; bit += 2) {
            const int row = group + bit / 16 * 8, column = in_group % 2 * 8 + bit % 16 / 2;
            metadata |= (uint32_t)place[row * STORED + column] << bit;
        }
    }
    float d[4];
    for (int i = 0; i < 4; i++)
        d[i] = D[(group + i / 2 * 8) * N + in_group * 2 + (i & 1)];
    mma_sp_m16n8k32<H, SELECTOR>(d, a, b, metadata);
    for (int i = 0; i < 4; i++)
        D[(group + i / 2 * 8) * N + in_group * 2 + (i & 1)] = d[i];
}

/* The number of wrong elements of one product of random numbers and places. */
template <class H, int SELECTOR> static int wrong_elements(uint64_t *seed)
{
    float stored[M * STORED], B[K * N], D[M * N], want[M * N];
    int place[M * STORED], wrong = 0;
    for (int i = 0; i < M * STORED; i += 2) {
        place[i] = (int)(random_bits(seed) % 3); /* 0, 1 or 2, and a larger one */
        place[i + 1] = place[i] + 1 + (int)(random_bits(seed) % (unsigned)(3 - place[i]));
        stored[i] = (float)((int)(random_bits(seed) % 65) - 32);
        stored[i + 1] = (float)((int)(random_bits(seed) % 65) - 32);
    }
    for (int i = 0; i < K * N; i++)
        B[i] = (float)((int)(random_bits(seed) % 65) - 32);
    for (int i = 0; i < M * N; i++) {
        want[i] = D[i] = (float)((int)(random_bits(seed) % 2001) - 1000);
        for (int k = 0; k < STORED; k++) {
            const int at = i / N * STORED + k;
            want[i] += stored[at] * B[(k / 2 * 4 + place[at]) * N + i % N];
        }
    }
    float *d_stored = to_device(stored, M * STORED), *d_B = to_device(B, K * N);
    float *d_D = to_device(D, M * N);
    int *d_place = to_device(place, M * STORED);
    product_kernel<H, SELECTOR><<<1, 32>>>(d_stored, d_place, d_B, d_D);
    FINISH();
    to_host(D, d_D, M * N);
    CUDA(cudaFree(d_stored));
    CUDA(cudaFree(d_B));
    CUDA(cudaFree(d_place));
    for (int i = 0; i < M * N; i++)
        wrong += D[i] != want[i];
    return wrong;
}

template <class H, int SELECTOR> static void products(const char *name)
{
    int wrong = 0;
    uint64_t seed = 5 + SELECTOR;
    if (compute_capability() < 80) {
        tap_skip("needs compute capability 8.0", "m16n8k32, 2:4, %s", name);
        return;
    }
    for (int repeat = 0; repeat < 50; repeat++)
        wrong += wrong_elements<H, SELECTOR>(&seed);
    tap_ok(wrong == 0, "m16n8k32, 2:4, %s, selector %d: 50 products", name, SELECTOR);
}

int main()
{
    products<__half, 0>("fp16");
    products<__half, 1>("fp16");
    products<__nv_bfloat16, 0>("bf16");
    products<__nv_bfloat16, 1>("bf16");
    return tap_done();
}
