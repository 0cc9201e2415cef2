/*
 * shared.cu - wavefronts of shared memory: one warp, one load or one store, with and without bank
 * conflicts. The number of wavefronts is written down by hand beside each.
 *
 * There are 32 banks of 4 bytes. 8 bytes a lane are served half a warp at a time, 16 bytes a quarter:
 * 128 bytes either way. Lanes of one such part that want the same word share it. In some loads lanes
 * l and l ^ 1 agree for all l, or lanes l and l ^ 2. They are served twice as many lanes at a time.
 */
#include "tests/counters/expect.h"

#include "device/mma.cuh"

#define LAUNCH(KERNEL, BLOCKS, THREADS, ARGUMENTS) KERNEL<<<BLOCKS, THREADS>>> ARGUMENTS

const int ELEMENTS = 33 * 32;

/* name; type; whether a lane takes part; the element it wants; wavefronts of a load, and of a store;
 * those that so many bytes fill. */
#define PATTERNS(X)                                                                       \
    X(4_bytes_stride_1, float, true, lane, 1, 1, 1)                                       \
    X(4_bytes_reversed, float, true, 31 - lane, 1, 1, 1)                                  \
    X(4_bytes_permuted, float, true, (13 * lane + 5) % 32, 1, 1, 1)                       \
    X(4_bytes_stride_2, float, true, 2 * lane, 2, 2, 1)                                   \
    X(4_bytes_stride_3, float, true, 3 * lane, 1, 1, 1) /* odd: all banks */              \
    X(4_bytes_stride_4, float, true, 4 * lane, 4, 4, 1)                                   \
    X(4_bytes_stride_8, float, true, 8 * lane, 8, 8, 1)                                   \
    X(4_bytes_stride_32, float, true, 32 * lane, 32, 32, 1) /* a column */                \
    X(4_bytes_stride_33, float, true, 33 * lane, 1, 1, 1)   /* padded */                  \
    X(4_bytes_broadcast, float, true, 7, 1, 1, 1)                                         \
    X(4_bytes_pairs, float, true, lane / 2, 1, 1, 1)                                      \
    X(4_bytes_two_words_of_a_bank, float, true, lane / 16 * 32, 2, 2, 1)                  \
    X(4_bytes_halves_32_apart, float, true, lane % 16 + lane / 16 * 32, 2, 2, 1)          \
    X(4_bytes_halves_48_apart, float, true, lane % 16 + lane / 16 * 48, 1, 1, 1)          \
    X(4_bytes_half_stride_2, float, lane < 16, 2 * lane, 1, 1, 1) /* 16 banks, once */    \
    X(4_bytes_even_lanes, float, lane % 2 == 0, lane, 1, 1, 1)                            \
    X(4_bytes_even_lanes_stride_2, float, lane % 2 == 0, 2 * lane, 2, 2, 1)               \
    X(4_bytes_last_lane, float, lane == 31, lane, 1, 1, 1)                                \
    X(2_bytes_stride_1, unsigned short, true, lane, 1, 1, 1) /* 2 lanes a word */         \
    X(2_bytes_stride_2, unsigned short, true, 2 * lane, 1, 1, 1)                          \
    X(2_bytes_stride_4, unsigned short, true, 4 * lane, 2, 2, 1)                          \
    X(2_bytes_stride_32, unsigned short, true, 32 * lane, 16, 16, 1) /* banks 0 and 16 */ \
    X(1_byte_stride_1, unsigned char, true, lane, 1, 1, 1)           /* 4 lanes a word */ \
    X(1_byte_stride_4, unsigned char, true, 4 * lane, 1, 1, 1)                            \
    X(1_byte_stride_32, unsigned char, true, 32 * lane, 8, 8, 1) /* banks 0, 8, 16, 24 */ \
    X(8_bytes_stride_1, float2, true, lane, 2, 2, 2)                                      \
    X(8_bytes_reversed, float2, true, 31 - lane, 2, 2, 2)                                 \
    X(8_bytes_permuted, float2, true, (13 * lane + 5) % 32, 2, 2, 2)                      \
    X(8_bytes_stride_2, float2, true, 2 * lane, 4, 4, 2) /* 16 lanes, 2 to a bank */      \
    X(8_bytes_stride_4, float2, true, 4 * lane, 8, 8, 2)                                  \
    X(8_bytes_stride_16, float2, true, 16 * lane, 32, 32, 2)                              \
    X(8_bytes_stride_17, float2, true, 17 * lane, 2, 2, 2) /* padded */                   \
    X(8_bytes_broadcast, float2, true, 7, 1, 2, 2)                                        \
    X(8_bytes_pairs, float2, true, lane / 2, 1, 2, 2)                                     \
    X(8_bytes_pairs_2_apart, float2, true, lane % 2 + lane / 4 * 2, 1, 2, 2)              \
    X(8_bytes_fours, float2, true, lane / 4, 1, 2, 2)                                     \
    X(8_bytes_one_a_half, float2, true, lane / 16, 1, 2, 2)                               \
    X(8_bytes_halves_alike, float2, true, lane % 16, 2, 2, 2)                             \
    X(8_bytes_halves_in_other_banks, float2, true, lane % 8 + lane / 16 * 8, 2, 2, 2)     \
    X(8_bytes_lower_half, float2, lane < 16, lane, 1, 1, 1)                               \
    X(8_bytes_upper_half, float2, lane >= 16, lane, 1, 1, 1)                              \
    X(8_bytes_middle_half, float2, lane >= 8 && lane < 24, lane, 2, 2, 1)                 \
    X(8_bytes_even_lanes, float2, lane % 2 == 0, lane, 2, 2, 1)                           \
    X(8_bytes_even_lanes_close, float2, lane % 2 == 0, lane / 2, 1, 2, 1)                 \
    X(8_bytes_lanes_0_and_16, float2, lane % 16 == 0, lane, 2, 2, 1)                      \
    X(8_bytes_first_lane, float2, lane == 0, lane, 1, 1, 1)                               \
    X(16_bytes_stride_1, float4, true, lane, 4, 4, 4)                                     \
    X(16_bytes_reversed, float4, true, 31 - lane, 4, 4, 4)                                \
    X(16_bytes_stride_2, float4, true, 2 * lane, 8, 8, 4) /* 8 lanes, 2 to a bank */      \
    X(16_bytes_stride_4, float4, true, 4 * lane, 16, 16, 4)                               \
    X(16_bytes_stride_8, float4, true, 8 * lane, 32, 32, 4)                               \
    X(16_bytes_stride_9, float4, true, 9 * lane, 4, 4, 4) /* padded */                    \
    X(16_bytes_broadcast, float4, true, 7, 2, 4, 4)                                       \
    X(16_bytes_pairs, float4, true, lane / 2, 2, 4, 4)                                    \
    X(16_bytes_pairs_2_apart, float4, true, lane % 2 + lane / 4 * 2, 2, 4, 4)             \
    X(16_bytes_fours, float4, true, lane / 4, 2, 4, 4)                                    \
    X(16_bytes_one_a_quarter, float4, true, lane / 8, 2, 4, 4)                            \
    X(16_bytes_one_a_half, float4, true, lane / 16, 2, 4, 4)                              \
    X(16_bytes_quarters_alike, float4, true, lane % 8, 4, 4, 4)                           \
    X(16_bytes_halves_alike, float4, true, lane % 16, 4, 4, 4)                            \
    X(16_bytes_two_a_warp, float4, true, lane % 2, 2, 4, 4)                               \
    X(16_bytes_8_lanes, float4, lane < 8, lane, 1, 1, 1)                                  \
    X(16_bytes_lower_half, float4, lane < 16, lane, 2, 2, 2)                              \
    X(16_bytes_even_lanes, float4, lane % 2 == 0, lane, 4, 4, 2)                          \
    X(16_bytes_one_lane_a_quarter, float4, lane % 8 == 0, lane, 4, 4, 1)                  \
    X(16_bytes_first_lane, float4, lane == 0, lane, 1, 1, 1)

/* The tile is filled in order before, and read in order afterwards, neither with a conflict. */
#define KERNELS(NAME, T, ACTIVE, ELEMENT, LOAD, STORE, IDEAL) \
    __global__ void pattern_shared_load_##NAME(T *out)        \
    {                                                         \
        __shared__ __align__(128) T tile[ELEMENTS];           \
        const int lane = threadIdx.x;                         \
        for (int i = lane; i < ELEMENTS; i += 32)             \
            make(tile[i], i);                                 \
        __syncthreads();                                      \
        if (ACTIVE) out[lane] = tile[ELEMENT];                \
    }                                                         \
    __global__ void pattern_shared_store_##NAME(T *out)       \
    {                                                         \
        __shared__ __align__(128) T tile[ELEMENTS];           \
        const int lane = threadIdx.x;                         \
        T x;                                                  \
        make(x, lane);                                        \
        if (ACTIVE) tile[ELEMENT] = x;                        \
        __syncthreads();                                      \
        out[lane] = tile[lane];                               \
    }
PATTERNS(KERNELS)

/* ---- ldmatrix: 8 rows of 16 B a matrix, ROW bytes from one to the next -------------------------- */

/* The banks repeat every 128 B: packed rows of 16 B fill them once for each matrix; of 8 rows that are
 * 32 B apart two share their banks, 64 B four, 128 B all; 144 B apart, the eighth row begins 112 B
 * further round. */
#define MATRICES(X)                                    \
    X(x1_row_16, 1, ldmatrix_x1, 16, 1)                \
    X(x1_row_128, 1, ldmatrix_x1, 128, 8)              \
    X(x2_row_16, 2, ldmatrix_x2, 16, 2)                \
    X(x2_row_64, 2, ldmatrix_x2, 64, 8)                \
    X(x4_row_16, 4, ldmatrix_x4, 16, 4)                \
    X(x4_row_32, 4, ldmatrix_x4, 32, 8)                \
    X(x4_row_64, 4, ldmatrix_x4, 64, 16)               \
    X(x4_row_128, 4, ldmatrix_x4, 128, 32)             \
    X(x4_row_144_padded, 4, ldmatrix_x4, 144, 4)       \
    X(x4_row_80_padded, 4, ldmatrix_x4, 80, 4)         \
    X(x2_row_16_trans, 2, ldmatrix_x2_trans, 16, 2)    \
    X(x4_row_128_trans, 4, ldmatrix_x4_trans, 128, 32) \
    X(x4_row_144_padded_trans, 4, ldmatrix_x4_trans, 144, 4)

#define MATRIX_KERNELS(NAME, COUNT, LOAD, ROW, WAVEFRONTS)     \
    __global__ void pattern_ldmatrix_##NAME(unsigned *out)     \
    {                                                          \
        __shared__ __align__(128) unsigned tile[32 * ROW / 4]; \
        const int lane = threadIdx.x;                          \
        for (int i = lane; i < 32 * ROW / 4; i += 32)          \
            tile[i] = (unsigned)i;                             \
        __syncthreads();                                       \
        uint32_t r[COUNT], sum = 0;                            \
        LOAD(r, tile + lane * ROW / 4);                        \
        for (int i = 0; i < COUNT; i++)                        \
            sum += r[i];                                       \
        out[lane] = sum;                                       \
    }
MATRICES(MATRIX_KERNELS)

/* ---- a tile that is transposed ----------------------------------------------------------------- */

/* 8 warps; warp w has rows w, w + 8, w + 16, w + 24 of 32 x 32. It writes rows and reads columns. */
template <int PITCH>
static __device__ __forceinline__ void transpose(float (*tile)[PITCH], const float *in, float *out)
{
    const int x = threadIdx.x % 32, y = threadIdx.x / 32;
    for (int r = y; r < 32; r += 8)
        tile[r][x] = in[r * 32 + x];
    __syncthreads();
    for (int r = y; r < 32; r += 8)
        out[r * 32 + x] = tile[x][r];
}
__global__ void pattern_shared_transpose(const float *in, float *out)
{
    __shared__ __align__(128) float tile[32][32];
    transpose(tile, in, out);
}
__global__ void pattern_shared_transpose_padded(const float *in, float *out)
{
    __shared__ __align__(128) float tile[32][33];
    transpose(tile, in, out);
}

/* ---- checks ------------------------------------------------------------------------------------ */

static void by_hand(const char *name, const access_counters &a, int wavefronts, int ideal)
{
    if (a.cost != wavefronts || a.ideal != ideal)
        check(false, "%s: the numbers beside it are wrong: %lld wavefronts of %lld", name,
              (long long)a.cost, (long long)a.ideal);
}

static expectation of_transpose(int pitch)
{
    expectation e;
    for (int r = 0; r < 32; r++) {
        e.load(ALL_LANES, [=](int lane) { return r * 32 + lane; });
        e.access(SHARED_STORE, 4, ALL_LANES, [=](int lane) { return 4 * (r * pitch + lane); });
        e.access(SHARED_LOAD, 4, ALL_LANES, [=](int lane) { return 4 * (lane * pitch + r); });
        e.store(ALL_LANES, [=](int lane) { return r * 32 + lane; });
    }
    e.operation(OP_BARRIER, 8);
    return e;
}

void shared_patterns(void)
{
    float4 *memory = device_zeros<float4>(32);
#define RUN(NAME, T, ACTIVE, ELEMENT, LOAD, STORE, IDEAL)                                     \
    {                                                                                         \
        const uint32_t lanes = lanes_where([](int lane) { return (void)lane, ACTIVE; });      \
        const auto element = [](int lane) { return (void)lane, (int)sizeof(T) * (ELEMENT); }; \
        const auto in_order = [](int lane) { return (int)sizeof(T) * lane; };                 \
        expectation load, store;                                                              \
        load.access(SHARED_LOAD, sizeof(T), lanes, element);                                  \
        load.access(GLOBAL_STORE, sizeof(T), lanes, in_order);                                \
        store.access(SHARED_STORE, sizeof(T), lanes, element);                                \
        by_hand(#NAME, load.n.access[SHARED_LOAD], LOAD, LOAD < IDEAL ? LOAD : IDEAL);        \
        by_hand(#NAME, store.n.access[SHARED_STORE], STORE, IDEAL);                           \
        for (int i = 0; i < ELEMENTS / 32; i++)                                               \
            load.access(SHARED_STORE, sizeof(T), ALL_LANES, in_order);                        \
        store.access(SHARED_LOAD, sizeof(T), ALL_LANES, in_order);                            \
        store.access(GLOBAL_STORE, sizeof(T), ALL_LANES, in_order);                           \
        load.operation(OP_BARRIER);                                                           \
        store.operation(OP_BARRIER);                                                          \
        EXPECT(pattern_shared_load_##NAME, 1, 32, ((T *)memory), load);                       \
        EXPECT(pattern_shared_store_##NAME, 1, 32, ((T *)memory), store);                     \
    }
    PATTERNS(RUN)
#undef RUN

#define RUN(NAME, COUNT, LOAD, ROW, WAVEFRONTS)                                        \
    {                                                                                  \
        expectation e;                                                                 \
        const uint32_t lanes = lanes_where([](int lane) { return lane < 8 * COUNT; }); \
        e.access(SHARED_LOAD, 16, lanes, [](int lane) { return ROW * lane; });         \
        by_hand(#NAME, e.n.access[SHARED_LOAD], WAVEFRONTS, COUNT);                    \
        for (int i = 0; i < ROW / 4; i++)                                              \
            e.access(SHARED_STORE, 4, ALL_LANES, [](int lane) { return 4 * lane; });   \
        e.store(ALL_LANES, [](int lane) { return lane; });                             \
        e.operation(OP_BARRIER);                                                       \
        e.operation(OP_LDMATRIX);                                                      \
        EXPECT(pattern_ldmatrix_##NAME, 1, 32, ((unsigned *)memory), e);               \
    }
    MATRICES(RUN)
#undef RUN
    CUDA(cudaFree(memory));

    float *in = device_zeros<float>(1024), *out = device_zeros<float>(1024);
    expectation e = of_transpose(32), padded = of_transpose(33);
    by_hand("transpose", e.n.access[SHARED_LOAD], 32 * 32, 32); /* each column lies in one bank */
    by_hand("transpose, padded", padded.n.access[SHARED_LOAD], 32, 32);
    EXPECT(pattern_shared_transpose, 1, 256, (in, out), e);
    EXPECT(pattern_shared_transpose_padded, 1, 256, (in, out), padded);
    CUDA(cudaFree(in));
    CUDA(cudaFree(out));
}
