/*
 * global.cu - sectors of global memory: one warp, one load or one store, every pattern that has a
 * name. The number of sectors is written down by hand beside each.
 */
#include "tests/counters/expect.h"

#include "device/vec.cuh"

#define LAUNCH(KERNEL, BLOCKS, THREADS, ARGUMENTS) KERNEL<<<BLOCKS, THREADS>>> ARGUMENTS

const int ELEMENTS = 4096;

/* name; type; whether a lane takes part; the element it wants; lanes, sectors, and the sectors that
 * so many bytes fill. 32 lanes x 4 B = 128 B = 4 sectors. */
#define PATTERNS(X)                                                                  \
    X(4_bytes_stride_1, float, true, lane, 32, 4, 4)                                 \
    X(4_bytes_stride_2, float, true, 2 * lane, 32, 8, 4)     /* 4 lanes a sector */  \
    X(4_bytes_stride_8, float, true, 8 * lane, 32, 32, 4)    /* a sector each */     \
    X(4_bytes_stride_32, float, true, 32 * lane, 32, 32, 4)  /* a line each */       \
    X(4_bytes_one_address, float, true, 5, 32, 1, 4)         /* 128 B of one */      \
    X(4_bytes_misaligned, float, true, lane + 1, 32, 5, 4)   /* bytes 4 .. 131 */    \
    X(4_bytes_misaligned_7, float, true, lane + 7, 32, 5, 4) /* bytes 28 .. 155 */   \
    X(4_bytes_sector_later, float, true, lane + 8, 32, 4, 4) /* bytes 32 .. 159 */   \
    X(4_bytes_reversed, float, true, 31 - lane, 32, 4, 4)                            \
    X(4_bytes_permuted, float, true, (13 * lane + 5) % 32, 32, 4, 4)                 \
    X(4_bytes_pairs, float, true, lane / 2, 32, 2, 4) /* 64 B */                     \
    X(4_bytes_two_rows, float, true, lane % 16 + lane / 16 * 1000, 32, 4, 4)         \
    X(4_bytes_four_rows, float, true, lane % 8 + lane / 8 * 1000, 32, 4, 4)          \
    X(4_bytes_interleaved, float, true, lane / 2 + lane % 2 * 64, 32, 4, 4)          \
    X(4_bytes_first_lane, float, lane == 0, lane, 1, 1, 1)                           \
    X(4_bytes_last_lane, float, lane == 31, lane, 1, 1, 1)                           \
    X(4_bytes_8_lanes, float, lane < 8, lane, 8, 1, 1)                               \
    X(4_bytes_9_lanes, float, lane < 9, lane, 9, 2, 2)          /* 36 B */           \
    X(4_bytes_even_lanes, float, lane % 2 == 0, lane, 16, 4, 2) /* 64 B over 128 */  \
    X(4_bytes_lanes_5_up, float, lane >= 5, lane, 27, 4, 4)     /* 108 B */          \
    X(4_bytes_half_stride_8, float, lane < 16, 8 * lane, 16, 16, 2)                  \
    X(8_bytes_stride_1, float2, true, lane, 32, 8, 8)                                \
    X(8_bytes_stride_2, float2, true, 2 * lane, 32, 16, 8)                           \
    X(8_bytes_stride_4, float2, true, 4 * lane, 32, 32, 8)                           \
    X(8_bytes_misaligned, float2, true, lane + 1, 32, 9, 8) /* bytes 8 .. 263 */     \
    X(8_bytes_one_address, float2, true, 3, 32, 1, 8)                                \
    X(8_bytes_reversed, float2, true, 31 - lane, 32, 8, 8)                           \
    X(8_bytes_9_lanes, float2, lane < 9, lane, 9, 3, 3) /* 72 B */                   \
    X(16_bytes_stride_1, float4, true, lane, 32, 16, 16)                             \
    X(16_bytes_stride_2, float4, true, 2 * lane, 32, 32, 16)                         \
    X(16_bytes_misaligned, float4, true, lane + 1, 32, 17, 16) /* bytes 16 .. 527 */ \
    X(16_bytes_one_address, float4, true, 1, 32, 1, 16)                              \
    X(16_bytes_permuted, float4, true, (13 * lane + 5) % 32, 32, 16, 16)             \
    X(16_bytes_8_lanes, float4, lane < 8, lane, 8, 4, 4)                             \
    X(2_bytes_stride_1, unsigned short, true, lane, 32, 2, 2)                        \
    X(2_bytes_stride_2, unsigned short, true, 2 * lane, 32, 4, 2)                    \
    X(2_bytes_stride_16, unsigned short, true, 16 * lane, 32, 32, 2)                 \
    X(2_bytes_misaligned, unsigned short, true, lane + 1, 32, 3, 2) /* 2 .. 65 */    \
    X(2_bytes_one_address, unsigned short, true, 9, 32, 1, 2)                        \
    X(1_byte_stride_1, unsigned char, true, lane, 32, 1, 1)                          \
    X(1_byte_stride_4, unsigned char, true, 4 * lane, 32, 4, 1)                      \
    X(1_byte_stride_32, unsigned char, true, 32 * lane, 32, 32, 1)                   \
    X(1_byte_misaligned, unsigned char, true, lane + 1, 32, 2, 1) /* 1 .. 32 */      \
    X(1_byte_one_address, unsigned char, true, 77, 32, 1, 1)                         \
    X(1_byte_last_lanes, unsigned char, lane > 28, lane, 3, 1, 1)

#define KERNELS(NAME, T, ACTIVE, ELEMENT, LANES, SECTORS, IDEAL)    \
    __global__ void pattern_global_load_##NAME(const T *in, T *out) \
    {                                                               \
        const int lane = threadIdx.x;                               \
        if (ACTIVE) out[lane] = in[ELEMENT];                        \
    }                                                               \
    __global__ void pattern_global_store_##NAME(T *out)             \
    {                                                               \
        const int lane = threadIdx.x;                               \
        T x;                                                        \
        make(x, lane);                                              \
        if (ACTIVE) out[ELEMENT] = x;                               \
    }
PATTERNS(KERNELS)

/* The instructions with a cache hint are the same requests; so is a vector that is put together
 * from an array (device/vec.cuh). Rows of 16 B, 144 B apart: 4.5 sectors, so each touches one
 * alone. */
__global__ void pattern_global_load_vector(const float *in, float *out)
{
    float x[4];
    load_vector(x, in + 36 * threadIdx.x);
    store_vector(out + 4 * threadIdx.x, x);
}
__global__ void pattern_global_load_vector_streaming(const float *in, float *out)
{
    float x[2];
    load_vector_streaming(x, in + 2 * threadIdx.x);
    store_vector_streaming(out + 2 * threadIdx.x, x);
}
__global__ void pattern_global_load_hinted(const float *in, float *out)
{
    __stcs(out + threadIdx.x, __ldg(in + threadIdx.x) + __ldcs(in + 2 * threadIdx.x));
}

/* Compares the counts for one request with those written beside it. */
static void by_hand(const char *name, const access_counters &a, int lanes, int sectors, int ideal)
{
    if (a.requests != 1 || a.lanes != lanes || a.cost != sectors || a.ideal != ideal)
        check(false, "%s: the numbers beside it are wrong: %lld lanes, %lld sectors of %lld", name,
              (long long)a.lanes, (long long)a.cost, (long long)a.ideal);
}

void global_patterns(void)
{
    void *in = device_zeros<float4>(ELEMENTS), *out = device_zeros<float4>(ELEMENTS);
#define RUN(NAME, T, ACTIVE, ELEMENT, LANES, SECTORS, IDEAL)                                  \
    {                                                                                         \
        const uint32_t lanes = lanes_where([](int lane) { return (void)lane, ACTIVE; });      \
        const auto element = [](int lane) { return (void)lane, (int)sizeof(T) * (ELEMENT); }; \
        expectation load, store;                                                              \
        load.access(GLOBAL_LOAD, sizeof(T), lanes, element);                                  \
        load.access(GLOBAL_STORE, sizeof(T), lanes,                                           \
                    [](int lane) { return (int)sizeof(T) * lane; });                          \
        store.access(GLOBAL_STORE, sizeof(T), lanes, element);                                \
        by_hand(#NAME, load.n.access[GLOBAL_LOAD], LANES, SECTORS, IDEAL);                    \
        by_hand(#NAME, store.n.access[GLOBAL_STORE], LANES, SECTORS, IDEAL);                  \
        EXPECT(pattern_global_load_##NAME, 1, 32, ((const T *)in, (T *)out), load);           \
        EXPECT(pattern_global_store_##NAME, 1, 32, ((T *)out), store);                        \
    }
    PATTERNS(RUN)
#undef RUN

    expectation e;
    e.access(GLOBAL_LOAD, 16, ALL_LANES, [](int lane) { return 144 * lane; });
    e.access(GLOBAL_STORE, 16, ALL_LANES, [](int lane) { return 16 * lane; });
    by_hand("vectors", e.n.access[GLOBAL_LOAD], 32, 32, 16);
    EXPECT(pattern_global_load_vector, 1, 32, ((float *)in, (float *)out), e);

    e = {};
    e.access(GLOBAL_LOAD, 8, ALL_LANES, [](int lane) { return 8 * lane; });
    e.access(GLOBAL_STORE, 8, ALL_LANES, [](int lane) { return 8 * lane; });
    EXPECT(pattern_global_load_vector_streaming, 1, 32, ((float *)in, (float *)out), e);

    e = {};
    e.load(ALL_LANES, [](int lane) { return lane; });
    e.load(ALL_LANES, [](int lane) { return 2 * lane; });
    e.store(ALL_LANES, [](int lane) { return lane; });
    EXPECT(pattern_global_load_hinted, 1, 32, ((float *)in, (float *)out), e);
    CUDA(cudaFree(in));
    CUDA(cudaFree(out));
}
