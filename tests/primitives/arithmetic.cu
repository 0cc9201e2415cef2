/*
 * arithmetic.cu - integer, bit and floating-point intrinsics, against their descriptions in the
 * CUDA Math API, written out bit by bit.
 */
#include "tests/primitives/primitives.h"

#include <math.h>

enum { N = 4096 };
static uint64_t a_values[N], b_values[N];

static void fill(void)
{
    static const uint64_t edges[] = {0,
                                     1,
                                     2,
                                     31,
                                     32,
                                     33,
                                     0x7fffffff,
                                     0x80000000,
                                     0xffffffff,
                                     UINT64_C(1) << 63,
                                     ~UINT64_C(0),
                                     UINT64_C(0x0123456789abcdef)};
    uint64_t seed = 3;
    for (int i = 0; i < N; i++) {
        a_values[i] = i < 144 ? edges[i / 12] : random_bits(&seed);
        b_values[i] = i < 144 ? edges[i % 12] : random_bits(&seed);
        if (i >= 144) a_values[i] >>= i % 64; /* of every magnitude */
    }
}

/* Runs f(a, b) for all values on the device and compares with g(a, b) here. Both return bits. */
template <class F> __global__ void apply_kernel(const uint64_t *a, const uint64_t *b, uint64_t *out)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N) out[i] = F::device(a[i], b[i]);
}

template <class F> static void check(const char *name)
{
    static uint64_t got[N];
    uint64_t *a = to_device(a_values, N), *b = to_device(b_values, N),
             *d = device_zeros<uint64_t>(N);
    apply_kernel<F><<<(N + 127) / 128, 128>>>(a, b, d);
    FINISH();
    to_host(got, d, N);
    CUDA(cudaFree(a));
    CUDA(cudaFree(b));
    int wrong = 0;
    for (int i = 0; i < N; i++) {
        const uint64_t want = F::host(a_values[i], b_values[i]);
        if (want != got[i] && !wrong++)
            tap_note("%s(%#llx, %#llx) = %#llx, not %#llx", name, (unsigned long long)a_values[i],
                     (unsigned long long)b_values[i], (unsigned long long)got[i],
                     (unsigned long long)want);
    }
    tap_ok(wrong == 0, "%s", name);
}

/* One test: the device's expression and the host's statements, both of 64-bit a and b. */
#define TEST(NAME, DEVICE, ...)                                                                    \
    struct test_##NAME {                                                                           \
        static __device__ uint64_t device([[maybe_unused]] uint64_t a,                             \
                                          [[maybe_unused]] uint64_t b)                             \
        {                                                                                          \
            return (uint64_t)(DEVICE);                                                             \
        }                                                                                          \
        static uint64_t host([[maybe_unused]] uint64_t a, [[maybe_unused]] uint64_t b) __VA_ARGS__ \
    };

static uint32_t bit(uint64_t x, int i)
{
    return i < 64 ? x >> i & 1 : 0;
}
static float as_float(uint64_t x)
{
    const uint32_t bits = (uint32_t)x;
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}
static uint32_t as_bits(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
}

TEST(popc, __popc((unsigned)a), {
    int n = 0;
    for (int i = 0; i < 32; i++)
        n += bit(a, i);
    return n;
})
TEST(popcll, __popcll(a), {
    int n = 0;
    for (int i = 0; i < 64; i++)
        n += bit(a, i);
    return n;
})
TEST(ffs, __ffs((int)a), {
    for (int i = 0; i < 32; i++)
        if (bit(a, i)) return i + 1;
    return 0;
})
TEST(ffsll, __ffsll((long long)a), {
    for (int i = 0; i < 64; i++)
        if (bit(a, i)) return i + 1;
    return 0;
})
TEST(clz, __clz((int)a), {
    int n = 0;
    while (n < 32 && !bit(a, 31 - n))
        n++;
    return n;
})
TEST(clzll, __clzll((long long)a), {
    int n = 0;
    while (n < 64 && !bit(a, 63 - n))
        n++;
    return n;
})
TEST(brev, __brev((unsigned)a), {
    uint32_t r = 0;
    for (int i = 0; i < 32; i++)
        r |= bit(a, i) << (31 - i);
    return r;
})
TEST(brevll, __brevll(a), {
    uint64_t r = 0;
    for (int i = 0; i < 64; i++)
        r |= (uint64_t)bit(a, i) << (63 - i);
    return r;
})
/* prmt in its default mode: byte 0..7 of {y, x}, or its sign spread over the byte. */
TEST(byte_perm, __byte_perm((unsigned)a, (unsigned)(a >> 32), (unsigned)b & 0xffff), {
    uint32_t r = 0;
    for (int i = 0; i < 4; i++)
        r |= (uint32_t)(uint8_t)(a >> 8 * (b >> 4 * i & 7)) << 8 * i;
    return r;
})
TEST(funnelshift_l, __funnelshift_l((unsigned)a, (unsigned)(a >> 32), (unsigned)b), {
    uint32_t r = 0;
    for (int i = 0; i < 32; i++)
        r |= bit(a, i + 32 - (int)(b & 31)) << i;
    return r;
})
TEST(funnelshift_r, __funnelshift_r((unsigned)a, (unsigned)(a >> 32), (unsigned)b), {
    uint32_t r = 0;
    for (int i = 0; i < 32; i++)
        r |= bit(a, i + (int)(b & 31)) << i;
    return r;
})
TEST(funnelshift_lc, __funnelshift_lc((unsigned)a, (unsigned)(a >> 32), (unsigned)b), {
    const int shift = (uint32_t)b < 32 ? (int)b : 32;
    uint32_t r = 0;
    for (int i = 0; i < 32; i++)
        r |= bit(a, i + 32 - shift) << i;
    return r;
})
TEST(funnelshift_rc, __funnelshift_rc((unsigned)a, (unsigned)(a >> 32), (unsigned)b), {
    const int shift = (uint32_t)b < 32 ? (int)b : 32;
    uint32_t r = 0;
    for (int i = 0; i < 32; i++)
        r |= bit(a, i + shift) << i;
    return r;
})
TEST(umulhi, __umulhi((unsigned)a, (unsigned)b),
     { return (uint64_t)(uint32_t)a * (uint32_t)b >> 32; })
TEST(mulhi, (unsigned)__mulhi((int)a, (int)b),
     { return (uint32_t)((int64_t)(int32_t)a * (int32_t)b >> 32); })
TEST(umul64hi, __umul64hi(a, b),
     { /* by halves */
       const uint64_t al = (uint32_t)a, ah = a >> 32, bl = (uint32_t)b, bh = b >> 32;
       const uint64_t middle = (al * bl >> 32) + (uint32_t)(ah * bl) + (uint32_t)(al * bh);
       return ah * bh + (ah * bl >> 32) + (al * bh >> 32) + (middle >> 32);
     })
TEST(mul64hi, __mul64hi((long long)a, (long long)b),
     { return test_umul64hi::host(a, b) - (a >> 63 ? b : 0) - (b >> 63 ? a : 0); })
TEST(umul24, __umul24((unsigned)a, (unsigned)b),
     { return (uint32_t)((a & 0xffffff) * (b & 0xffffff)); })
TEST(mul24, (unsigned)__mul24((int)a, (int)b), {
    const int64_t x = (int64_t)(a << 40) >> 40;
    const int64_t y = (int64_t)(b << 40) >> 40;
    return (uint32_t)(x * y);
})
TEST(sad, __sad((int)a, (int)b, 5u), {
    const int64_t d = (int64_t)(int32_t)a - (int32_t)b;
    return (uint32_t)((d < 0 ? -d : d) + 5);
})
TEST(usad, __usad((unsigned)a, (unsigned)b, 5u), {
    const int64_t d = (int64_t)(uint32_t)a - (uint32_t)b;
    return (uint32_t)((d < 0 ? -d : d) + 5);
})
TEST(dp4a, (unsigned)__dp4a((int)a, (int)b, (int)(a >> 32)), {
    int64_t sum = (int64_t)(a >> 32);
    for (int i = 0; i < 4; i++)
        sum += (int64_t)(int8_t)(a >> 8 * i) * (int8_t)(b >> 8 * i);
    return (uint32_t)sum;
})
TEST(udp4a, __dp4a((unsigned)a, (unsigned)b, (unsigned)(a >> 32)), {
    uint64_t sum = a >> 32;
    for (int i = 0; i < 4; i++)
        sum += (uint64_t)(uint8_t)(a >> 8 * i) * (uint8_t)(b >> 8 * i);
    return (uint32_t)sum;
})
TEST(min_mixed, min((int)a, (unsigned)b),
     { return (uint32_t)a < (uint32_t)b ? (uint32_t)a : (uint32_t)b; })
TEST(max_signed, (unsigned)max((int)a, (int)b),
     { return (uint32_t)((int32_t)a > (int32_t)b ? (int32_t)a : (int32_t)b); })
TEST(min_64, min((long long)a, (long long)b),
     { return (uint64_t)((int64_t)a < (int64_t)b ? a : b); })

/* ---- reinterpretation ------------------------------------------------------------------------ */

TEST(float_bits, (unsigned)__float_as_int(__int_as_float((int)a)), { return (uint32_t)a; })
TEST(float_ubits, __float_as_uint(__uint_as_float((unsigned)a)), { return (uint32_t)a; })
TEST(double_bits, __double_as_longlong(__longlong_as_double((long long)a)), { return a; })
TEST(double_halves,
     (uint64_t)(unsigned)__double2hiint(__hiloint2double((int)(a >> 32), (int)a)) << 32 |
         (unsigned)__double2loint(__hiloint2double((int)(a >> 32), (int)a)),
     { return a; })

/* ---- conversion: out of range to the nearest, NaN to 0 ----------------------------------------
 */

/* The integer that x rounds to, mode 'n', 'z', 'u' or 'd', by comparing with its neighbours. */
static double round_by(char mode, double x)
{
    const double below = floor(x);
    if (below == x || mode == 'd') return below;
    if (mode == 'u' || (mode == 'z' && x < 0)) return below + 1;
    if (mode == 'z') return below;
    if (x - below != 0.5) return x - below < 0.5 ? below : below + 1;
    return fmod(below, 2) == 0 ? below : below + 1;
}
static uint64_t to_integer(char mode, double x, double least, double most)
{
    if (x != x) return 0;
    const double r = round_by(mode, x);
    if (r < least) return (uint32_t)(int32_t)least;
    if (r > most) return (uint32_t)most;
    return least < 0 ? (uint32_t)(int32_t)r : (uint32_t)r;
}
#define SMALL(x) ((x)*0.25f) /* many ties */
#define CONVERT(NAME, FUNCTION, MODE, LEAST, MOST)                               \
    TEST(NAME, (unsigned)FUNCTION(__uint_as_float((unsigned)a)),                 \
         { return to_integer(MODE, as_float(a), LEAST, MOST); })                 \
    TEST(NAME##_ties, (unsigned)FUNCTION(SMALL((float)((int)(a & 0xff) - 128))), \
         { return to_integer(MODE, SMALL((float)((int)(a & 0xff) - 128)), LEAST, MOST); })
CONVERT(float2int_rn, __float2int_rn, 'n', -2147483648.0, 2147483647.0)
CONVERT(float2int_rz, __float2int_rz, 'z', -2147483648.0, 2147483647.0)
CONVERT(float2int_ru, __float2int_ru, 'u', -2147483648.0, 2147483647.0)
CONVERT(float2int_rd, __float2int_rd, 'd', -2147483648.0, 2147483647.0)
CONVERT(float2uint_rn, __float2uint_rn, 'n', 0.0, 4294967295.0)
CONVERT(float2uint_rz, __float2uint_rz, 'z', 0.0, 4294967295.0)
/* NaN becomes 0, or the top bit alone where a 64-bit type is on either side. */
TEST(nan2int, (unsigned)__float2int_rn(nanf("")), { return 0; })
TEST(nan2ll, __float2ll_rz(nanf("")), { return UINT64_C(1) << 63; })
TEST(double_nan2int, (unsigned)__double2int_rz(nan("")), { return 0x80000000u; })
TEST(int2float, __float_as_uint(__int2float_rn((int)a)), {
    /* 24 bits kept, ties to even */
    const int64_t x = (int32_t)a;
    int64_t m = x < 0 ? -x : x;
    int shift = 0;
    while (m >> shift >= 1 << 24)
        shift++;
    const int64_t unit = INT64_C(1) << shift, rest = m & (unit - 1);
    m -= rest;
    if (2 * rest > unit || (2 * rest == unit && (m >> shift & 1))) m += unit;
    return as_bits((float)(x < 0 ? -m : m));
})

/* ---- floating point -------------------------------------------------------------------------- */

/* Numbers without NaN, infinity or extreme exponents; a product is then exact in double. */
#define TAME(x) \
    __uint_as_float(((unsigned)(x)&0x807fffffu) | (0x70u + ((unsigned)(x) >> 23 & 31)) << 23)
static float tame(uint64_t x)
{
    return as_float((x & 0x807fffffu) | (0x70 + (x >> 23 & 31)) << 23);
}
TEST(fadd, __float_as_uint(__fadd_rn(TAME(a), TAME(b))), {
    volatile float sum = tame(a) + tame(b);
    return as_bits(sum);
})
TEST(fmul, __float_as_uint(__fmul_rn(TAME(a), TAME(b))),
     { return as_bits((float)((double)tame(a) * tame(b))); })
/* a * b - round(a * b) is the rounding error of the product: 0 unless the two are fused. */
TEST(fmaf, __float_as_uint(__fmaf_rn(TAME(a), TAME(b), -__fmul_rn(TAME(a), TAME(b)))), {
    const double product = (double)tame(a) * tame(b);
    return as_bits((float)(product - (float)product));
})
TEST(fdiv, __float_as_uint(__fdiv_rn(TAME(a), TAME(b))), {
    volatile float quotient = tame(a) / tame(b);
    return as_bits(quotient);
})
TEST(frcp, __float_as_uint(__frcp_rn(TAME(a))), {
    volatile float quotient = 1.0f / tame(a);
    return as_bits(quotient);
})
TEST(fsqrt, __float_as_uint(__fsqrt_rn(fabsf(TAME(a)))), { return as_bits(sqrtf(fabsf(tame(a)))); })
TEST(saturate, __float_as_uint(__saturatef(TAME(a))), {
    const float x = tame(a);
    return as_bits(x <= 0 ? 0.0f : x >= 1 ? 1.0f : x);
})
TEST(min_nan, __float_as_uint(min(__uint_as_float(0x7fc00000), 2.0f)), { return as_bits(2.0f); })

/* ---- approximations: within the guide's bounds ------------------------------------------------
 */

__global__ void approximate_kernel(const float *x, float *out)
{
    const int i = threadIdx.x;
    out[i] = __expf(x[i]);
    out[256 + i] = __logf(fabsf(x[i]) + 0.1f);
    out[512 + i] = __sinf(x[i]);
    out[768 + i] = __cosf(x[i]);
    out[1024 + i] = rsqrtf(fabsf(x[i]) + 0.1f);
    out[1280 + i] = __fdividef(x[i], 3.0f);
    out[1536 + i] = __powf(fabsf(x[i]) + 0.1f, 2.5f);
}

static void approximate(void)
{
    float x[256], got[7 * 256];
    for (int i = 0; i < 256; i++)
        x[i] = (float)(i - 128) / 128 * 3.14159f;
    float *d_x = to_device(x, 256), *d = device_zeros<float>(7 * 256);
    approximate_kernel<<<1, 256>>>(d_x, d);
    FINISH();
    to_host(got, d, 7 * 256);
    CUDA(cudaFree(d_x));
    static const char *const names[] = {"__expf", "__logf",     "__sinf", "__cosf",
                                        "rsqrtf", "__fdividef", "__powf"};
    for (int f = 0; f < 7; f++) {
        double worst = 0;
        for (int i = 0; i < 256; i++) {
            const double p = fabsf(x[i]) + 0.1f;
            const double want = f == 0   ? exp(x[i])
                                : f == 1 ? log(p)
                                : f == 2 ? sin(x[i])
                                : f == 3 ? cos(x[i])
                                : f == 4 ? 1 / sqrt(p)
                                : f == 5 ? x[i] / 3.0
                                         : pow(p, 2.5);
            const double error = fabs(got[256 * f + i] - want) / fmax(1, fabs(want));
            if (!(error <= worst)) worst = error;
        }
        tap_ok(worst < 2e-6, "%s: error %.1e", names[f], worst);
    }
}

int main()
{
    fill();
#define RUN(NAME) check<test_##NAME>(#NAME)
    RUN(popc);
    RUN(popcll);
    RUN(ffs);
    RUN(ffsll);
    RUN(clz);
    RUN(clzll);
    RUN(brev);
    RUN(brevll);
    RUN(byte_perm);
    RUN(funnelshift_l);
    RUN(funnelshift_r);
    RUN(funnelshift_lc);
    RUN(funnelshift_rc);
    RUN(umulhi);
    RUN(mulhi);
    RUN(umul64hi);
    RUN(mul64hi);
    RUN(umul24);
    RUN(mul24);
    RUN(sad);
    RUN(usad);
    RUN(dp4a);
    RUN(udp4a);
    RUN(min_mixed);
    RUN(max_signed);
    RUN(min_64);
    RUN(float_bits);
    RUN(float_ubits);
    RUN(double_bits);
    RUN(double_halves);
    RUN(float2int_rn);
    RUN(float2int_rn_ties);
    RUN(float2int_rz);
    RUN(float2int_rz_ties);
    RUN(float2int_ru);
    RUN(float2int_ru_ties);
    RUN(float2int_rd);
    RUN(float2int_rd_ties);
    RUN(float2uint_rn);
    RUN(float2uint_rn_ties);
    RUN(float2uint_rz);
    RUN(float2uint_rz_ties);
    RUN(nan2int);
    RUN(nan2ll);
    RUN(double_nan2int);
    RUN(int2float);
    RUN(fadd);
    RUN(fmul);
    RUN(fmaf);
    RUN(fdiv);
    RUN(frcp);
    RUN(fsqrt);
    RUN(saturate);
    RUN(min_nan);
    approximate();
    return tap_done();
}
