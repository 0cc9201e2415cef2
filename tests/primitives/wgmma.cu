/*
 * wgmma.cu - device/wgmma.cuh against the PTX ISA: products of a warpgroup on rows in shared memory. All numbers
 * are small integers, so that every order of summation gives the same result. The ISA's index formulas are
 * written out: the fragments of A and D, and the swizzle of 128 bytes as it moves the bits of an address.
 */
#include "tests/primitives/primitives.h"

#include "device/wgmma.cuh"

constexpr int M = 64, N = 64, ROW = 32; /* floats of a row in shared memory */
constexpr int GROUPS = 2;               /* of N rows of B */

/* D = A B + A B of 8 of a row's features from `k` on and rows N * group and up; A is M x ROW, and B has 2 N rows. */
__global__ void product_kernel(const float *A, const float *B, float *D, int k, int group)
{
    extern __shared__ __align__(1024) char shared[];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    for (int i = threadIdx.x; i < GROUPS * N * ROW; i += blockDim.x) {
        const int address = i * 4, swizzled = address ^ (address & 0x380) >> 3;
        /* the 13 low bits are ignored */
        *(uint32_t *)(shared + swizzled) = __float_as_uint(B[i]) | 0x1abc;
    }
    wgmma_publish();
    __syncthreads();
    uint32_t a[4], same[4];
    for (int i = 0; i < 4; i++) {
        const int row = 16 * warp + lane / 4 + 8 * (i % 2), column = lane % 4 + 4 * (i / 2);
        a[i] = same[i] = __float_as_uint(A[row * ROW + k + column]) | 0x1abc;
    }
    const uint64_t b = wgmma_operand(shared + group * N * ROW * 4) + k * 4 / 16;
    float d[8][4];
    wgmma_fence(a, same);
    wgmma_m64n64k8_tf32<false>(d, a, b);
    wgmma_m64n64k8_tf32<true>(d, same, b);
    wgmma_commit();
    wgmma_wait(d);
    for (int j = 0; j < 8; j++)
        for (int e = 0; e < 4; e++) {
            const int row = 16 * warp + lane / 4 + 8 * (e / 2),
                      column = 8 * j + lane % 4 * 2 + e % 2;
            D[row * N + column] = d[j][e];
        }
}

static void product(int k, int group)
{
    int wrong = 0;
    uint64_t seed = k + group;
    for (int repeat = 0; repeat < 5; repeat++) {
        float A[M * ROW], B[GROUPS * N * ROW], D[M * N];
        for (float &x : A)
            x = (float)((int)(random_bits(&seed) % 65) - 32);
        for (float &x : B)
            x = (float)((int)(random_bits(&seed) % 65) - 32);
        float *a = to_device(A, M * ROW), *b = to_device(B, GROUPS * N * ROW);
        float *d = device_zeros<float>(M * N);
        product_kernel<<<1, 128, sizeof B>>>(a, b, d, k, group);
        FINISH();
        to_host(D, d, M * N);
        CUDA(cudaFree(a));
        CUDA(cudaFree(b));
        for (int i = 0; i < M; i++)
            for (int j = 0; j < N; j++) {
                float sum = 0;
                for (int feature = k; feature < k + 8; feature++)
                    sum += 2 * A[i * ROW + feature] * B[(group * N + j) * ROW + feature];
                wrong += D[i * N + j] != sum;
            }
    }
    tap_ok(wrong == 0, "m64n64k8, tf32: features %d and up, rows %d and up", k, group * N);
}

int main()
{
    for (int group = 0; group < GROUPS; group++)
        for (int k = 0; k < ROW; k += 8)
            if (compute_capability() == 90)
                product(k, group);
            else
                tap_skip("needs compute capability 9.0", "m64n64k8, tf32: features %d, rows %d", k,
                         group * N);
    return tap_done();
}
