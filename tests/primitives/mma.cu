/*
 * mma.cu - device/mma.cuh against the PTX ISA: matrix products and ldmatrix. All numbers are small
 * integers, so that every order of summation gives the same result. Fragments are filled and read
 * element by element with the index formulas of the ISA's figures.
 */
#include "tests/primitives/primitives.h"

#include "device/mma.cuh"
#include <cuda_bf16.h>
#include <cuda_fp16.h>

enum kind { K8_F16, K8_TF32, K16_F16, K16_BF16 };

__device__ uint32_t encode(enum kind kind, float x)
{
    if (kind == K8_TF32) return to_tf32(x) | 0x1abc; /* bits that the unit ignores */
    if (kind == K16_BF16) return __bfloat16_as_ushort(__float2bfloat16_rn(x));
    return __half_as_ushort(__float2half_rn(x));
}

/* The figures of the PTX ISA: where element `i` of the calling lane's fragment lies. */
__device__ void a_place(enum kind kind, int lane, int i, int *row, int *col)
{
    const int group = lane >> 2, in_group = lane % 4;
    if (kind == K8_TF32) { /* a0 .. a3 */
        *row = i == 0 || i == 2 ? group : group + 8;
        *col = i < 2 ? in_group : in_group + 4;
    } else if (kind == K8_F16) {
        *row = i < 2 ? group : group + 8;
        *col = in_group * 2 + (i & 1);
    } else {
        *row = i < 2 || (i >= 4 && i < 6) ? group : group + 8;
        *col = i < 4 ? in_group * 2 + (i & 1) : in_group * 2 + (i & 1) + 8;
    }
}
__device__ void b_place(enum kind kind, int lane, int i, int *row, int *col)
{
    const int group = lane >> 2, in_group = lane % 4;
    *col = group;
    if (kind == K8_TF32)
        *row = i == 0 ? in_group : in_group + 4;
    else
        *row = i < 2 ? in_group * 2 + (i & 1) : in_group * 2 + (i & 1) + 8;
}

/* D = A B + C for one tile; A is 16 x K and B is K x 8, both row-major here. */
__global__ void product_kernel(enum kind kind, const float *A, const float *B, const float *C,
                               float *D)
{
    const int lane = threadIdx.x, K = kind == K16_F16 || kind == K16_BF16 ? 16 : 8;
    const int per_word = kind == K8_TF32 ? 1 : 2;
    uint32_t a[4] = {}, b[2] = {};
    for (int i = 0; i < 16 * K / 32; i++) {
        int row, col;
        a_place(kind, lane, i, &row, &col);
        a[i / per_word] |= encode(kind, A[row * K + col]) << 16 * (i % per_word);
    }
    for (int i = 0; i < 8 * K / 32; i++) {
        int row, col;
        b_place(kind, lane, i, &row, &col);
        b[i / per_word] |= encode(kind, B[row * 8 + col]) << 16 * (i % per_word);
    }
    float c[4], d[4];
    for (int i = 0; i < 4; i++)
        c[i] = C[((lane >> 2) + (i < 2 ? 0 : 8)) * 8 + (lane % 4) * 2 + (i & 1)];
    if (kind == K8_F16) {
        const uint32_t a2[2] = {a[0], a[1]}, b1[1] = {b[0]};
        mma_m16n8k8_f16(d, a2, b1, c);
    } else if (kind == K8_TF32) {
        mma_m16n8k8_tf32(d, a, b, c);
    } else if (kind == K16_F16) {
        mma_m16n8k16_f16(d, a, b, c);
    } else {
        mma_m16n8k16_bf16(d, a, b, c);
    }
    for (int i = 0; i < 4; i++)
        D[((lane >> 2) + (i < 2 ? 0 : 8)) * 8 + (lane % 4) * 2 + (i & 1)] = d[i];
}

static void product(enum kind kind, const char *name)
{
    if (kind != K8_F16 && compute_capability() < 80) {
        tap_skip("needs compute capability 8.0", "%s", name);
        return;
    }
    const int K = kind == K16_F16 || kind == K16_BF16 ? 16 : 8;
    int wrong = 0;
    uint64_t seed = kind;
    for (int repeat = 0; repeat < 50; repeat++) {
        float A[16 * 16], B[16 * 8], C[16 * 8], D[16 * 8];
        for (int i = 0; i < 16 * K; i++)
            A[i] = (float)((int)(random_bits(&seed) % 65) - 32);
        for (int i = 0; i < K * 8; i++)
            B[i] = (float)((int)(random_bits(&seed) % 65) - 32);
        for (int i = 0; i < 16 * 8; i++)
            C[i] = (float)((int)(random_bits(&seed) % 2001) - 1000);
        float *a = to_device(A, 16 * K), *b = to_device(B, K * 8), *c = to_device(C, 16 * 8);
        float *d = device_zeros<float>(16 * 8);
        product_kernel<<<1, 32>>>(kind, a, b, c, d);
        FINISH();
        to_host(D, d, 16 * 8);
        CUDA(cudaFree(a));
        CUDA(cudaFree(b));
        CUDA(cudaFree(c));
        for (int i = 0; i < 16; i++)
            for (int j = 0; j < 8; j++) {
                float sum = C[8 * i + j];
                for (int k = 0; k < K; k++)
                    sum += A[K * i + k] * B[8 * k + j];
                wrong += D[8 * i + j] != sum;
            }
    }
    tap_ok(wrong == 0, "%s: 50 products", name);
}

/* ---- ldmatrix ---------------------------------------------------------------------------------
 */

/* Four 8 x 8 tiles; element (r, c) of tile m is 64 * m + 8 * r + c. Rows lie 24 elements apart. If
 * `junk`, the lanes whose addresses x1 and x2 do not use pass one that leads nowhere. */
__global__ void ldmatrix_kernel(uint32_t *out, bool junk)
{
    __shared__ __align__(16) unsigned short tiles[32 * 24];
    const int lane = threadIdx.x;
    for (int c = 0; c < 8; c++)
        tiles[lane * 24 + c] = (unsigned short)(8 * lane + c);
    __syncwarp();
    const void *row = &tiles[lane * 24], *nowhere = (const void *)(uintptr_t)12345;
    const void *row1 = junk && lane >= 8 ? nowhere : row;
    const void *row2 = junk && lane >= 16 ? nowhere : row;
    uint32_t r1[1], r2[2], r4[4];
    ldmatrix_x1(r1, row1);
    out[lane] = r1[0];
    ldmatrix_x2(r2, row2);
    for (int i = 0; i < 2; i++)
        out[32 * (1 + i) + lane] = r2[i];
    ldmatrix_x4(r4, row);
    for (int i = 0; i < 4; i++)
        out[32 * (3 + i) + lane] = r4[i];
    ldmatrix_x1_trans(r1, row1);
    out[32 * 7 + lane] = r1[0];
    ldmatrix_x2_trans(r2, row2);
    for (int i = 0; i < 2; i++)
        out[32 * (8 + i) + lane] = r2[i];
    ldmatrix_x4_trans(r4, row);
    for (int i = 0; i < 4; i++)
        out[32 * (10 + i) + lane] = r4[i];
}

static void loads(void)
{
    uint32_t *d = device_zeros<uint32_t>(14 * 32), got[14][32];
    ldmatrix_kernel<<<1, 32>>>(d, compute_capability() >= 80); /* below, all must be valid */
    FINISH();
    to_host(&got[0][0], d, 14 * 32);
    static const struct {
        const char *name;
        int first, count;
        bool transposed;
    } forms[] = {{"x1", 0, 1, false},      {"x2", 1, 2, false},      {"x4", 3, 4, false},
                 {"x1.trans", 7, 1, true}, {"x2.trans", 8, 2, true}, {"x4.trans", 10, 4, true}};
    for (const auto &f : forms) {
        int wrong = 0;
        for (int m = 0; m < f.count; m++)
            for (int lane = 0; lane < 32; lane++) {
                const int r = lane / 4, c = lane % 4 * 2;
                const int low = f.transposed ? 8 * c + r : 8 * r + c;
                const int high = f.transposed ? 8 * (c + 1) + r : 8 * r + c + 1;
                wrong +=
                    got[f.first + m][lane] != (uint32_t)((64 * m + high) << 16 | (64 * m + low));
            }
        tap_ok(wrong == 0, "ldmatrix %s", f.name);
    }
}

/* ---- tf32 -------------------------------------------------------------------------------------
 */

__global__ void tf32_kernel(const float *x, uint32_t *out)
{
    out[threadIdx.x] = to_tf32(x[threadIdx.x]);
}

static void rounding(void)
{
    /* 13 bits go; half a unit is 0x1000 and goes away from zero. */
    static const uint32_t cases[][2] = {{0x3f800000, 0x3f800000}, {0x3f800fff, 0x3f800000},
                                        {0x3f801000, 0x3f802000}, {0x3f801001, 0x3f802000},
                                        {0xbf801000, 0xbf802000}, {0x3fffffff, 0x40000000},
                                        {0x80000000, 0x80000000}, {0x7f800000, 0x7f800000}};
    float x[8];
    uint32_t got[8];
    for (int i = 0; i < 8; i++)
        memcpy(&x[i], &cases[i][0], sizeof *x);
    float *d_x = to_device(x, 8);
    uint32_t *d = device_zeros<uint32_t>(8);
    tf32_kernel<<<1, 8>>>(d_x, d);
    FINISH();
    to_host(got, d, 8);
    CUDA(cudaFree(d_x));
    bool right = true;
    for (int i = 0; i < 8; i++)
        right &= got[i] == cases[i][1];
    tap_ok(right, "to_tf32: nearest, ties away from zero");
}

int main()
{
    product(K8_F16, "m16n8k8, fp16");
    product(K16_F16, "m16n8k16, fp16");
    product(K16_BF16, "m16n8k16, bf16");
    product(K8_TF32, "m16n8k8, tf32");
    loads();
    rounding();
    return tap_done();
}
