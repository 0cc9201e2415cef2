/*
 * cublas.cu - the dense products that applications call, against their definition: all types,
 * transpositions, leading dimensions, batches, alpha and beta.
 */
#include "tests/primitives/primitives.h"

#include <cublas_v2.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <math.h>

static cublasHandle_t handle;
static const cudaDataType types[] = {CUDA_R_32F, CUDA_R_16F, CUDA_R_16BF};
static const char *const type_names[] = {"fp32", "fp16", "bf16"};

/* A product's shape: op(A) is m x k, op(B) is k x n; leading dimensions are `gap` larger than they must be. */
struct shape {
    int m, n, k, gap, count;
};

/* Quarters from -2 to 2, which all types hold; so are their products and sums of few. */
static float number(uint32_t i)
{
    return (float)(int)((i * 2654435761u >> 13) % 17 - 8u) / 4;
}

static void put(void *to, cudaDataType type, size_t i, float x)
{
    if (type == CUDA_R_32F) ((float *)to)[i] = x;
    if (type == CUDA_R_16F) ((__half *)to)[i] = __float2half(x);
    if (type == CUDA_R_16BF) ((__nv_bfloat16 *)to)[i] = __float2bfloat16(x);
}

static float get(const void *from, cudaDataType type, size_t i)
{
    if (type == CUDA_R_32F) return ((const float *)from)[i];
    if (type == CUDA_R_16F) return __half2float(((const __half *)from)[i]);
    return __bfloat162float(((const __nv_bfloat16 *)from)[i]);
}

static size_t bytes_of(cudaDataType type)
{
    return type == CUDA_R_32F ? 4 : 2;
}

/* Fills host and device with numbers; NaN: with those. */
static char *filled(char *host, size_t count, cudaDataType type, uint32_t seed, bool nan)
{
    for (size_t i = 0; i < count; i++)
        put(host, type, i, nan ? NAN : number(seed + (uint32_t)i));
    return to_device(host, count * bytes_of(type));
}

/* Multiplies on the device and compares every element, those of the gaps too: nothing may be written there. */
static void product(const shape &s, cudaDataType type, cudaDataType result, bool ta, bool tb,
                    float alpha, float beta, const char *what)
{
    const int lda = (ta ? s.k : s.m) + s.gap, ldc = s.m + s.gap;
    const int ldb = max(1, tb ? s.n : s.k) + s.gap; /* that of an empty matrix is 1 */
    const size_t na = (size_t)lda * (ta ? s.m : s.k), nb = (size_t)ldb * (tb ? s.k : s.n),
                 nc = (size_t)ldc * s.n, count = s.count;
    char *A = (char *)malloc(4 * na * count + 4), *B = (char *)malloc(4 * nb * count + 4);
    char *C = (char *)malloc(4 * nc * count + 4), *old = (char *)malloc(4 * nc * count + 4);
    char *d_A = filled(A, na * count, type, 1, false),
         *d_B = filled(B, nb * count, type, 77, false);
    char *d_C = filled(old, nc * count, result, 555, beta == 0);
    const cublasStatus_t status = cublasGemmStridedBatchedEx(
        handle, ta ? CUBLAS_OP_T : CUBLAS_OP_N, tb ? CUBLAS_OP_T : CUBLAS_OP_N, s.m, s.n, s.k,
        &alpha, d_A, type, lda, na, d_B, type, ldb, nb, &beta, d_C, result, ldc, nc, s.count,
        CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
    CUDA(cudaDeviceSynchronize());
    to_host(C, d_C, nc * count * bytes_of(result));
    CUDA(cudaFree(d_A));
    CUDA(cudaFree(d_B));
    int wrong = 0;
    for (size_t z = 0; z < nc * count; z++) {
        const size_t b = z / nc, j = z % nc / ldc, i = z % ldc;
        double sum = 0;
        for (int p = 0; i < (size_t)s.m && p < s.k; p++)
            sum += get(A, type, b * na + (ta ? p + i * lda : i + (size_t)p * lda)) *
                   get(B, type, b * nb + (tb ? j + (size_t)p * ldb : p + j * ldb));
        const float before = get(old, result, z);
        float want = before;
        if (i < (size_t)s.m) {
            put(old, result, z, (float)(alpha * sum + (beta == 0 ? 0 : beta * before)));
            want = get(old, result, z);
        }
        const float got = get(C, result, z);
        wrong += !(got == want || (isnan(got) && isnan(want)));
    }
    tap_ok(status == CUBLAS_STATUS_SUCCESS && wrong == 0,
           "%s: %d of %zu elements are wrong, status %d", what, wrong, nc * count, (int)status);
    free(A);
    free(B);
    free(C);
    free(old);
}

static void all_products()
{
    char what[128];
    const shape s = {13, 9, 21, 3, 2};
    for (int t = 0; t < 3; t++)
        for (int wide = 0; wide < (t ? 2 : 1); wide++)
            for (int ta = 0; ta < 2; ta++)
                for (int tb = 0; tb < 2; tb++) {
                    snprintf(what, sizeof what, "%s%s, op(A) %c, op(B) %c", type_names[t],
                             wide ? " to fp32" : "", "NT"[ta], "NT"[tb]);
                    product(s, types[t], wide ? CUDA_R_32F : types[t], ta, tb, 1, 0, what);
                }
    product(s, CUDA_R_32F, CUDA_R_32F, false, true, -0.5f, 2, "alpha and beta");
    product({1, 1, 1, 0, 1}, CUDA_R_32F, CUDA_R_32F, false, false, 1, 1, "one element");
    product({5, 4, 0, 0, 1}, CUDA_R_32F, CUDA_R_32F, false, false, 1, 0, "an empty sum");
    product({64, 65, 128, 0, 1}, CUDA_R_16F, CUDA_R_32F, true, false, 1, 0, "long sums");
}

static void single_precision()
{
    const float A[] = {1, 2, 3, 4}, B[] = {5, 6, 7, 8}, want[] = {23, 34, 31, 46};
    float C[4];
    float *d_A = to_device(A, 4), *d_B = to_device(B, 4), *d_C = device_zeros<float>(4);
    const float one = 1, zero = 0;
    const cublasStatus_t status =
        cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, &one, d_A, 2, d_B, 2, &zero, d_C, 2);
    tap_ok(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, &one, d_A, 1, d_B, 2, &zero, d_C,
                       2) == CUBLAS_STATUS_INVALID_VALUE,
           "a leading dimension below the rows is refused");
    to_host(C, d_C, 4);
    tap_ok(status == CUBLAS_STATUS_SUCCESS && memcmp(C, want, sizeof C) == 0,
           "cublasSgemm multiplies by columns");
    CUDA(cudaFree(d_A));
    CUDA(cudaFree(d_B));
}

/* 1 + 2^-11 has 11 bits behind the point, of which tf32 keeps 10. */
static void tf32_is_shorter()
{
    const float a = 1 + 0x1p-11f, one = 1, zero = 0;
    float *d_a = to_device(&a, 1), *d_one = to_device(&one, 1), *d_c = device_zeros<float>(1), c[2];
    for (int i = 0; i < 2; i++) {
        cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, d_a, CUDA_R_32F, 1, d_one,
                     CUDA_R_32F, 1, &zero, d_c, CUDA_R_32F, 1,
                     i ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
        CUDA(cudaMemcpy(c + i, d_c, sizeof *c, cudaMemcpyDeviceToHost));
    }
    /* A library may leave the tensor cores alone in a product of one element. */
    tap_ok(c[0] == a && (c[1] == a || fabsf(c[1] - 1) <= 0x1p-10f), "tf32 keeps 10 bits: %a and %a",
           c[0], c[1]);
    CUDA(cudaFree(d_a));
    CUDA(cudaFree(d_one));
    CUDA(cudaFree(d_c));
}

/* Groups of unlike sizes, one of two products, one of none: each product as cublasGemmEx makes it. */
static void grouped()
{
    enum { GROUPS = 3, PRODUCTS = 3, ROOM = 64 };
    const int m[GROUPS] = {8, 16, 8}, n[GROUPS] = {3, 1, 5}, k[GROUPS] = {8, 16, 8},
              each[GROUPS] = {2, 1, 0}, group_of[PRODUCTS] = {0, 0, 1};
    const cublasOperation_t no[GROUPS] = {CUBLAS_OP_N, CUBLAS_OP_N, CUBLAS_OP_N};
    const float one[GROUPS] = {1, 1, 1}, zero[GROUPS] = {0, 0, 0};
    __half host[PRODUCTS * 256];
    char *d_A = filled((char *)host, PRODUCTS * 256, CUDA_R_16F, 1, false);
    char *d_B = filled((char *)host, PRODUCTS * 256, CUDA_R_16F, 999, false);
    __half *d_C[2] = {device_zeros<__half>(PRODUCTS * ROOM), device_zeros<__half>(PRODUCTS * ROOM)};
    const void *at[3][PRODUCTS];
    for (int i = 0; i < PRODUCTS; i++) {
        const int g = group_of[i];
        at[0][i] = d_A + i * 512;
        at[1][i] = d_B + i * 512;
        at[2][i] = d_C[0] + i * ROOM;
        cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, m[g], n[g], k[g], one, at[0][i], CUDA_R_16F,
                     m[g], at[1][i], CUDA_R_16F, k[g], zero, d_C[1] + i * ROOM, CUDA_R_16F, m[g],
                     CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
    }
    const void **d_at[3];
    for (int i = 0; i < 3; i++)
        d_at[i] = to_device(at[i], PRODUCTS);
    const cublasStatus_t status = cublasGemmGroupedBatchedEx(
        handle, no, no, m, n, k, one, d_at[0], CUDA_R_16F, m, d_at[1], CUDA_R_16F, k, zero,
        (void *const *)d_at[2], CUDA_R_16F, m, GROUPS, each, CUBLAS_COMPUTE_32F);
    CUDA(cudaDeviceSynchronize());
    __half C[2][PRODUCTS * ROOM];
    to_host(C[0], d_C[0], PRODUCTS * ROOM);
    to_host(C[1], d_C[1], PRODUCTS * ROOM);
    tap_ok(status == CUBLAS_STATUS_SUCCESS && __half2float(C[0][0]) != 0 &&
               memcmp(C[0], C[1], sizeof C[0]) == 0,
           "groups of products, status %d", (int)status);
    tap_ok(cublasGemmGroupedBatchedEx(handle, no, no, m, n, k, one, d_at[0], CUDA_R_16F, n, d_at[1],
                                      CUDA_R_16F, k, zero, (void *const *)d_at[2], CUDA_R_16F, m,
                                      GROUPS, each,
                                      CUBLAS_COMPUTE_32F) == CUBLAS_STATUS_INVALID_VALUE,
           "a leading dimension below the rows is refused in a group");
    for (int i = 0; i < 3; i++)
        CUDA(cudaFree(d_at[i]));
    CUDA(cudaFree(d_A));
    CUDA(cudaFree(d_B));
}

int main(void)
{
    if (cublasCreate(&handle) != CUBLAS_STATUS_SUCCESS) {
        printf("Bail out! there is no cuBLAS\n");
        return 1;
    }
    cudaStream_t stream;
    CUDA(cudaStreamCreate(&stream));
    cublasSetStream(handle, stream);
    all_products();
    single_precision();
    tf32_is_shorter();
    grouped();
    tap_ok(cublasDestroy(handle) == CUBLAS_STATUS_SUCCESS, "the handle is destroyed");
    CUDA(cudaStreamDestroy(stream));
    return tap_done();
}
