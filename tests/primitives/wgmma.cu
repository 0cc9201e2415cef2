/*
 * wgmma.cu - device/wgmma.cuh against the PTX ISA: products of a warpgroup on rows in shared memory. All numbers
 * are small integers, so that every order of summation gives the same result. The ISA's index formulas are
 * written out: the fragments of A and D, and the swizzle of 128 bytes as it moves the bits of an address.
 */
#include "tests/primitives/primitives.h"

#include "device/wgmma.cuh"

constexpr int M = 64, N = 64, ROW = 32; /* floats of a row in shared memory */
constexpr int GROUPS = 2;               /* of N rows of B */

/* Fills x with small whole numbers, which 16 bits hold. */
static void fill(float *x, int count, uint64_t *seed)
{
    for (int i = 0; i < count; i++)
        x[i] = (float)((int)(random_bits(seed) % 65) - 32);
}

/* The same, and returns them on the device as numbers of 16 bits. */
template <class H> static H *fill_16(float *x, int count, uint64_t *seed)
{
    fill(x, count, seed);
    H *const narrow = new H[count];
    for (int i = 0; i < count; i++)
        narrow[i] = (H)x[i];
    H *const on_device = to_device(narrow, count);
    delete[] narrow;
    return on_device;
}

/* Returns what D holds before the products of 16-bit numbers; begin_sums puts the same into a lane's fragments. */
static float what_was(int i, int j)
{
    return (float)(j / 8 + i % 16 / 8 * 2 + j % 2);
}

template <int TILES> __device__ static void begin_sums(float (&d)[TILES][4])
{
    for (int j = 0; j < TILES; j++)
        for (int e = 0; e < 4; e++)
            d[j][e] = (float)(j + e);
}

/* Stores a lane's fragments of D, which has 8 TILES columns. */
template <int TILES> __device__ static void store_sums(const float (&d)[TILES][4], float *D)
{
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    for (int j = 0; j < TILES; j++)
        for (int e = 0; e < 4; e++) {
            const int row = 16 * warp + lane / 4 + 8 * (e / 2),
                      column = 8 * j + lane % 4 * 2 + e % 2;
            D[row * 8 * TILES + column] = d[j][e];
        }
}

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
    store_sums(d, D);
}

static void product(int k, int group)
{
    int wrong = 0;
    uint64_t seed = k + group;
    for (int repeat = 0; repeat < 5; repeat++) {
        float A[M * ROW], B[GROUPS * N * ROW], D[M * N];
        fill(A, M * ROW, &seed);
        fill(B, GROUPS * N * ROW, &seed);
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

/* ---- 16-bit numbers --------------------------------------------------------------------------- */

constexpr int DEPTH = 64; /* of A, and at least of B */

/* D += A B, DEPTH / 16 products in groups of their own, for B of COLUMNS columns. In shared memory a row has SIDE
 * numbers: of a column of B along its depth, or, ACROSS, of a row of B, in COLUMNS / SIDE panels. */
template <class H, int SIDE, bool ACROSS, int COLUMNS>
__global__ void product16_kernel(const H *A, const H *B, float *D)
{
    constexpr int COUNT = COLUMNS * (ACROSS ? DEPTH : SIDE);
    extern __shared__ __align__(1024) char shared[];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    for (int i = threadIdx.x; i < COUNT; i += blockDim.x) {
        const int at = 2 * i, mask = SIDE == 64 ? 0x380 : 0x180;
        *(H *)(shared + (at ^ (at & mask) >> 3)) = B[i];
    }
    wgmma_publish();
    __syncthreads();
    constexpr int PRODUCTS = ACROSS ? DEPTH / 16 : SIDE / 16;
    uint32_t a[PRODUCTS][4];
    for (int k = 0; k < PRODUCTS; k++)
        for (int i = 0; i < 4; i++) {
            const int row = 16 * warp + lane / 4 + 8 * (i % 2);
            const int column = 16 * k + lane % 4 * 2 + 8 * (i / 2);
            a[k][i] = *(const uint32_t *)(A + row * DEPTH + column);
        }
    float d[COLUMNS / 8][4];
    begin_sums(d);
    const uint64_t b = wgmma_operand<2 * SIDE>(shared, 2 * SIDE * DEPTH);
    wgmma_fence(a);
#pragma unroll
    for (int k = 0; k < PRODUCTS; k++) {
        wgmma_k16<H, ACROSS>(d, a[k], b + k * (ACROSS ? 16 * 2 * SIDE / 16 : 2));
        wgmma_commit();
    }
    wgmma_wait_but<1>(a);
    wgmma_wait(d);
    store_sums(d, D);
}

template <class H, int SIDE, bool ACROSS, int COLUMNS> static void product16(const char *type)
{
    constexpr int COUNT = COLUMNS * (ACROSS ? DEPTH : SIDE);
    constexpr int DEEP = ACROSS ? DEPTH : SIDE;
    int wrong = 0;
    if (compute_capability() != 90) {
        tap_skip("needs compute capability 9.0", "m64n%dk16, %s, rows of %d", COLUMNS, type, SIDE);
        return;
    }
    uint64_t seed = SIDE + COLUMNS + ACROSS;
    float A[M * DEPTH], B[COUNT], D[M * COLUMNS];
    H *a = fill_16<H>(A, M * DEPTH, &seed), *b = fill_16<H>(B, COUNT, &seed);
    float *d = device_zeros<float>(M * COLUMNS);
    product16_kernel<H, SIDE, ACROSS, COLUMNS><<<1, 128, COUNT * sizeof(H)>>>(a, b, d);
    FINISH();
    to_host(D, d, M * COLUMNS);
    CUDA(cudaFree(a));
    CUDA(cudaFree(b));
    for (int i = 0; i < M; i++)
        for (int j = 0; j < COLUMNS; j++) {
            float sum = what_was(i, j);
            for (int k = 0; k < DEEP; k++)
                sum += A[i * DEPTH + k] *
                       B[ACROSS ? (j / SIDE * DEPTH + k) * SIDE + j % SIDE : j * SIDE + k];
            wrong += D[i * COLUMNS + j] != sum;
        }
    tap_ok(wrong == 0, "m64n%dk16, %s, rows of %d numbers, %s", COLUMNS, type, SIDE,
           ACROSS ? "rows of B" : "columns of B");
}

template <class H> static void products16(const char *type)
{
    product16<H, 64, false, 64>(type);
    product16<H, 64, true, 64>(type);
    product16<H, 64, false, 32>(type);
    product16<H, 32, false, 64>(type);
    product16<H, 32, false, 32>(type);
    product16<H, 32, true, 32>(type);
    product16<H, 32, true, 64>(type);
}

/* ---- both operands in shared memory ------------------------------------------------------------ */

constexpr int TOKENS = 32, PANEL = 64; /* rows of both, in panels of so many numbers */

/* D += A^T B: TOKENS / 16 products. A and B have a row for each token. */
template <class H, int COLUMNS>
__global__ void product_shared_kernel(const H *A, const H *B, float *D)
{
    extern __shared__ __align__(1024) char shared[];
    for (int i = threadIdx.x; i < TOKENS * (M + COLUMNS); i += blockDim.x) {
        const int panel = i / (TOKENS * PANEL), row = i / PANEL % TOKENS, column = i % PANEL;
        const int at = 2 * i, left = (panel - 1) * PANEL + column;
        *(H *)(shared + (at ^ (at & 0x380) >> 3)) =
            panel == 0 ? A[row * M + column] : B[row * COLUMNS + left];
    }
    wgmma_publish();
    __syncthreads();
    float d[COLUMNS / 8][4];
    begin_sums(d);
    constexpr int PANEL_BYTES = TOKENS * PANEL * 2, NEXT = 16 * PANEL * 2 / 16;
    const uint64_t a = wgmma_operand(shared), b = wgmma_operand(shared + PANEL_BYTES, PANEL_BYTES);
    wgmma_fence(d);
#pragma unroll
    for (int k = 0; k < TOKENS / 16; k++)
        wgmma_k16_shared<H>(d, a + k * NEXT, b + k * NEXT);
    wgmma_commit();
    wgmma_wait(d);
    store_sums(d, D);
}

template <class H, int COLUMNS> static void product_shared(const char *type)
{
    static float A[TOKENS * M], B[TOKENS * COLUMNS], D[M * COLUMNS];
    int wrong = 0;
    if (compute_capability() != 90) {
        tap_skip("needs compute capability 9.0", "m64n%dk16, %s, A in shared memory", COLUMNS,
                 type);
        return;
    }
    uint64_t seed = COLUMNS;
    H *a = fill_16<H>(A, TOKENS * M, &seed), *b = fill_16<H>(B, TOKENS * COLUMNS, &seed);
    float *d = device_zeros<float>(M * COLUMNS);
    product_shared_kernel<H, COLUMNS><<<1, 128, TOKENS *(M + COLUMNS) * sizeof(H)>>>(a, b, d);
    FINISH();
    to_host(D, d, M * COLUMNS);
    CUDA(cudaFree(a));
    CUDA(cudaFree(b));
    for (int i = 0; i < M; i++)
        for (int j = 0; j < COLUMNS; j++) {
            float sum = what_was(i, j);
            for (int token = 0; token < TOKENS; token++)
                sum += A[token * M + i] * B[token * COLUMNS + j];
            wrong += D[i * COLUMNS + j] != sum;
        }
    tap_ok(wrong == 0, "m64n%dk16, %s, A in shared memory", COLUMNS, type);
}

template <class H> static void products_shared(const char *type)
{
    product_shared<H, 64>(type);
    product_shared<H, 128>(type);
    product_shared<H, 256>(type);
}

int main()
{
    products_shared<__half>("fp16");
    products_shared<__nv_bfloat16>("bf16");
    products16<__half>("fp16");
    products16<__nv_bfloat16>("bf16");
    for (int group = 0; group < GROUPS; group++)
        for (int k = 0; k < ROW; k += 8)
            if (compute_capability() == 90)
                product(k, group);
            else
                tap_skip("needs compute capability 9.0", "m64n64k8, tf32: features %d, rows %d", k,
                         group * N);
    return tap_done();
}
