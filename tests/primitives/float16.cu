/*
 * float16.cu - __half and __nv_bfloat16: conversions to the last bit, arithmetic rounded once. The
 * reference works on integers and powers of two only.
 */
#include "tests/primitives/primitives.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <math.h>

/* ---- the two formats, described -------------------------------------------------------------- */

struct fp16 {
    typedef __half type;
    typedef __half2 pair;
    static constexpr int FRACTION = 10, BIAS = 15;
    static constexpr unsigned INFINITE = 0x7c00;
    static const char *name() { return "fp16"; }
};
struct bf16 {
    typedef __nv_bfloat16 type;
    typedef __nv_bfloat162 pair;
    static constexpr int FRACTION = 7, BIAS = 127;
    static constexpr unsigned INFINITE = 0x7f80;
    static const char *name() { return "bf16"; }
};

template <class H> static uint16_t bits_of(H h)
{
    uint16_t bits;
    memcpy(&bits, &h, sizeof bits);
    return bits;
}
template <class H> static H from_bits(unsigned bits)
{
    const uint16_t b = (uint16_t)bits;
    H h;
    memcpy((void *)&h, &b, sizeof b);
    return h;
}

/* The value of a bit pattern, NaN for those of NaN. */
template <class F> static double value(unsigned bits)
{
    const int exponent = (int)(bits & 0x7fff) >> F::FRACTION;
    const int fraction = (int)bits & ((1 << F::FRACTION) - 1);
    const double sign = bits & 0x8000 ? -1 : 1;
    if ((bits & 0x7fff) > F::INFINITE) return NAN;
    if ((bits & 0x7fff) == F::INFINITE) return sign * INFINITY;
    if (exponent == 0) return sign * ldexp(fraction, 1 - F::BIAS - F::FRACTION);
    return sign * ldexp(fraction + (1 << F::FRACTION), exponent - F::BIAS - F::FRACTION);
}

/* The bits of magnitude * 2^scale rounded to nearest even; `sticky`: a little more than that. */
template <class F> static unsigned round_bits(bool negative, unsigned __int128 magnitude, int scale)
{
    const unsigned sign = negative ? 0x8000 : 0;
    if (magnitude == 0) return sign;
    int top = 0;
    while (magnitude >> top > 1)
        top++;
    /* The last place kept: FRACTION below the top bit, but not below the subnormals' unit. */
    int last = top - F::FRACTION;
    if (last + scale < 1 - F::BIAS - F::FRACTION) last = 1 - F::BIAS - F::FRACTION - scale;
    unsigned __int128 kept;
    if (last <= 0) {
        kept = magnitude << -last;
    } else if (last > 120) {
        kept = 0;
    } else {
        const unsigned __int128 unit = (unsigned __int128)1 << last, rest = magnitude & (unit - 1);
        kept = magnitude >> last;
        if (rest > unit / 2 || (rest == unit / 2 && (kept & 1))) kept++;
    }
    /* A carry moves on into the exponent by itself; so does the hidden bit. */
    const int exponent = last + scale + F::BIAS + F::FRACTION - 1;
    const unsigned long long bits =
        (unsigned long long)kept + ((unsigned long long)exponent << F::FRACTION);
    return sign | (bits >= F::INFINITE ? F::INFINITE : (unsigned)bits);
}

template <class F> static unsigned round_double(double x)
{
    if (x != x) return 0x7fff;
    if (isinf(x)) return F::INFINITE | (x < 0 ? 0x8000 : 0);
    int exponent;
    const double m = frexp(fabs(x), &exponent);
    return round_bits<F>(signbit(x), (unsigned __int128)ldexp(m, 53), exponent - 53);
}

/* ---- conversions ----------------------------------------------------------------------------- */

__device__ float widen(__half h)
{
    return __half2float(h);
}
__device__ float widen(__nv_bfloat16 h)
{
    return __bfloat162float(h);
}
__device__ void narrow(float x, __half *h)
{
    *h = __float2half_rn(x);
}
__device__ void narrow(float x, __nv_bfloat16 *h)
{
    *h = __float2bfloat16_rn(x);
}
__device__ void narrow_double(double x, __half *h)
{
    *h = __double2half(x);
}
__device__ void narrow_double(double x, __nv_bfloat16 *h)
{
    *h = __double2bfloat16(x);
}

template <class H> __global__ void widen_kernel(const H *h, float *x)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    x[i] = widen(h[i]);
}
template <class H> __global__ void narrow_kernel(const float *x, H *h, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) narrow(x[i], &h[i]);
}
template <class H> __global__ void narrow_double_kernel(const double *x, H *h, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) narrow_double(x[i], &h[i]);
}

template <class F> static void conversions()
{
    typedef typename F::type H;
    static H all[65536];
    static float wide[65536];
    for (int i = 0; i < 65536; i++)
        all[i] = from_bits<H>((unsigned)i);
    H *d = to_device(all, 65536);
    float *d_wide = device_zeros<float>(65536);
    widen_kernel<<<256, 256>>>(d, d_wide);
    FINISH();
    to_host(wide, d_wide, 65536);
    CUDA(cudaFree(d));
    int wrong = 0;
    for (int i = 0; i < 65536; i++) {
        const double want = value<F>((unsigned)i);
        wrong += want != want ? wide[i] == wide[i]
                              : wide[i] != want || signbit(wide[i]) != signbit(want);
    }
    tap_ok(wrong == 0, "%s to float: all 65536", F::name());

    /* Around every value and every midpoint between two, and all over the floats. */
    const int n = 1 << 20;
    float *x = (float *)malloc(n * sizeof *x);
    double *xd = (double *)malloc(n * sizeof *xd);
    H *h = (H *)malloc(n * sizeof *h);
    uint64_t seed = 5;
    for (int i = 0; i < n; i++) {
        const unsigned bits = (unsigned)i >> 3 & 0x7fff, sign = i >> 18 & 1 ? 0x8000 : 0;
        const double low = value<F>(bits | sign), high = value<F>((bits + 1) | sign);
        float f;
        const double step = bits & 0x7fff ? fabs(low - value<F>((bits - 1) | sign)) : 0;
        const double middle = isinf(high) ? low + copysign(step / 2, low) : (low + high) / 2;
        if (i < n / 2 && middle == middle && !isinf(low)) {
            f = (float)(i & 4 ? middle : low);
            xd[i] = f;
            if ((i & 3) == 1) f = nextafterf(f, INFINITY), xd[i] = nextafter(xd[i], INFINITY);
            if ((i & 3) == 2) f = nextafterf(f, -INFINITY), xd[i] = nextafter(xd[i], -INFINITY);
        } else {
            const uint32_t any = (uint32_t)random_bits(&seed);
            memcpy(&f, &any, sizeof f);
            xd[i] = f;
        }
        x[i] = f;
    }
    float *d_x = to_device(x, n);
    double *d_xd = to_device(xd, n);
    d = device_zeros<H>(n);
    narrow_kernel<<<n / 256, 256>>>(d_x, d, n);
    FINISH();
    to_host(h, d, n);
    wrong = 0;
    for (int i = 0; i < n; i++) {
        const unsigned want = round_double<F>(x[i]);
        if (bits_of(h[i]) != want && !wrong++)
            tap_note("%a: %#x, not %#x", x[i], bits_of(h[i]), want);
    }
    tap_ok(wrong == 0, "float to %s: %d, with all ties; NaN becomes 0x7fff", F::name(), n);
    d = device_zeros<H>(n);
    narrow_double_kernel<<<n / 256, 256>>>(d_xd, d, n);
    FINISH();
    to_host(h, d, n);
    wrong = 0;
    for (int i = 0; i < n; i++) {
        const unsigned want = round_double<F>(xd[i]);
        /* Which NaN a double's NaN becomes is left open: a GPU keeps some of its bits. */
        const bool right =
            isnan(xd[i]) ? (bits_of(h[i]) & 0x7fff) > F::INFINITE : bits_of(h[i]) == want;
        if (!right && !wrong++) tap_note("%a: %#x, not %#x", xd[i], bits_of(h[i]), want);
    }
    tap_ok(wrong == 0, "double to %s: rounded once", F::name());
    CUDA(cudaFree(d_x));
    CUDA(cudaFree(d_xd));
    free(x);
    free(xd);
    free(h);
}

/* ---- arithmetic ------------------------------------------------------------------------------ */

enum { ADD, SUB, MUL, FMA, DIV, OPERATIONS };

/* bf16 has a fused multiply-add from compute capability 8.0 on. */
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
#define FUSED(FUNCTION, T, a, b, c) FUNCTION(a, b, c)
#else
#define FUSED(FUNCTION, T, a, b, c) T()
#endif

template <class H, class P> __global__ void arithmetic_kernel(const H *abc, H *out, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const H a = abc[i], b = abc[n + i], c = abc[2 * n + i];
    out[ADD * n + i] = __hadd(a, b);
    out[SUB * n + i] = __hsub(a, b);
    out[MUL * n + i] = __hmul(a, b);
    out[FMA * n + i] = FUSED(__hfma, H, a, b, c);
    out[DIV * n + i] = __hdiv(a, b);
    /* The same in pairs, the other element something else. */
    const P aa(a, b), bb(b, a), cc(c, b);
    H *pair = out + OPERATIONS * n;
    pair[ADD * n + i] = __hadd2(aa, bb).x;
    pair[SUB * n + i] = __hsub2(aa, bb).x;
    pair[MUL * n + i] = __hmul2(bb, aa).y;
    pair[FMA * n + i] = FUSED(__hfma2, P, aa, bb, cc).x;
    pair[DIV * n + i] = __h2div(aa, bb).x;
}

/* a * b + c exactly, as an integer times 2^scale. */
template <class F> static unsigned exact_fma(unsigned a, unsigned b, unsigned c)
{
    const double x = value<F>(a), y = value<F>(b), z = value<F>(c);
    const int unit = 30; /* every value here is a multiple of 2^-30 and below 2^18 */
    const __int128 product = (__int128)ldexp(x, unit) * (__int128)ldexp(y, unit);
    const __int128 sum = product + ((__int128)ldexp(z, unit) << unit);
    /* An exact zero is +0, unless both summands are -0. */
    const bool negative = sum ? sum < 0 : signbit(x * y) && signbit(z);
    return round_bits<F>(negative, (unsigned __int128)(sum < 0 ? -sum : sum), -2 * unit);
}

template <class F> static void arithmetic()
{
    typedef typename F::type H;
    const int n = 1 << 16;
    static H abc[3 * n], out[2 * OPERATIONS * n];
    uint64_t seed = 11;
    for (int i = 0; i < 3 * n; i++) {
        /* Exponents from -14 up to 8: sums and products stay finite, many round to ties. */
        const unsigned r = (unsigned)random_bits(&seed);
        const int exponent = -14 + (int)(r >> 16) % (i % 4 ? 23 : 5);
        unsigned bits = (r & 0x8000) | (unsigned)(exponent + F::BIAS) << F::FRACTION |
                        (r & ((1 << F::FRACTION) - 1));
        if (i % 8 == 0) bits &= ~((1u << (F::FRACTION / 2)) - 1);
        abc[i] = from_bits<H>(bits);
    }
    H *d_abc = to_device(abc, 3 * n), *d = device_zeros<H>(2 * OPERATIONS * n);
    arithmetic_kernel<H, typename F::pair><<<n / 256, 256>>>(d_abc, d, n);
    FINISH();
    to_host(out, d, 2 * OPERATIONS * n);
    CUDA(cudaFree(d_abc));
    static const char *const names[] = {"__hadd", "__hsub", "__hmul", "__hfma", "__hdiv"};
    for (int op = 0; op < OPERATIONS; op++) {
        int wrong = 0;
        for (int i = 0; i < n; i++) {
            const unsigned a = bits_of(abc[i]), b = bits_of(abc[n + i]),
                           c = bits_of(abc[2 * n + i]);
            const unsigned one = (unsigned)F::BIAS << F::FRACTION;
            const double x = value<F>(a), y = value<F>(b);
            const unsigned want = op == ADD   ? exact_fma<F>(a, one, b)
                                  : op == SUB ? exact_fma<F>(a, one, b ^ 0x8000)
                                  : op == MUL ? exact_fma<F>(a, b, (a ^ b) & 0x8000)
                                  : op == FMA ? exact_fma<F>(a, b, c)
                                              : round_double<F>(x / y);
            const unsigned got = bits_of(out[op * n + i]);
            if (got != want && !wrong++)
                tap_note("%s of %#x, %#x, %#x: %#x, not %#x", names[op], a, b, c, got, want);
            wrong += bits_of(out[(OPERATIONS + op) * n + i]) != want;
        }
        tap_ok(wrong == 0, "%s and its pair form, %s: rounded once", names[op], F::name());
    }
}

/* Products that lie just between two bf16 numbers, and a summand far below what double could keep
 * beside them: rounded in two steps, the result would be the even one. */
__global__ void beyond_double_kernel(float *out)
{
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
    const __nv_bfloat16 tiny = __float2bfloat16(0x1p-100f), minus_tiny = __hneg(tiny);
    const __nv_bfloat16 a = __float2bfloat16(7), b = __float2bfloat16(37);  /* 259 */
    const __nv_bfloat16 c = __float2bfloat16(9), d = __float2bfloat16(-29); /* -261 */
    out[0] = __bfloat162float(__hfma(a, b, minus_tiny));
    out[1] = __bfloat162float(__hfma(a, b, tiny));
    out[2] = __bfloat162float(__hfma(c, d, minus_tiny));
    out[3] = __bfloat162float(__hfma(c, d, tiny));
#endif
}

static void beyond_double(void)
{
    float *d = device_zeros<float>(4), got[4];
    beyond_double_kernel<<<1, 1>>>(d);
    FINISH();
    to_host(got, d, 4);
    tap_ok(got[0] == 258 && got[1] == 260 && got[2] == -262 && got[3] == -260,
           "__hfma, bf16: even a summand of 2^-100 breaks a tie");
}

/* ---- the rest of the interface ----------------------------------------------------------------
 */

__global__ void interface_kernel(float *out)
{
    const __half2 p = __floats2half2_rn(1.5f, -2.0f),
                  q = __halves2half2(__float2half(3), __int2half_rn(-7));
    float *o = out;
    *o++ = __half22float2(p).x;
    *o++ = __half22float2(p).y;
    *o++ = __low2float(q);
    *o++ = __half2float(__high2half(q));
    *o++ = __high2float(__lows2half2(p, q));
    *o++ = __low2float(__highs2half2(p, q));
    *o++ = __low2float(__lowhigh2highlow(p));
    *o++ = __low2float(__high2half2(p));
    *o++ = __high2float(__half2half2(__float2half(9)));
    *o++ = __half2float(__hmax(p.x, q.x));
    *o++ = __half2float(__hmin(p.y, q.y));
    *o++ = __heq(p.x, __float2half(1.5f)) + 2 * __hlt(p.x, q.x) + 4 * __hgt(p.x, q.x);
    *o++ = __half2float(__habs(p.y)) + __half2float(__hneg(q.x));
    *o++ = __half2int_rz(__float2half(-2.75f));
    *o++ = __half2int_rn(__float2half(2.5f));
    *o++ = __half_as_ushort(__float2half(1));
    *o++ = __half2float(__ushort_as_half(0x3e00));
    *o++ = __hisnan(__ushort_as_half(0x7e00)) + 2 * (__hisinf(__ushort_as_half(0xfc00)) != 0);
    *o++ = __half2float(__float2half_rz(1.9999f)) + __half2float(__float2half_ru(1.0001f));
    *o++ = __low2float(p * q + p);
    *o++ = __bfloat162float(__float2bfloat16(1.0f)) + __high2float(__float2bfloat162_rn(0.25f));
    *o++ = __bfloat1622float2(__floats2bfloat162_rn(5, 6)).y;
    *o++ = __bfloat16_as_ushort(__float2bfloat16(-1.0f));
    *o++ = __low2float(__shfl_sync(0xffffffffu, __floats2half2_rn((float)threadIdx.x, 0), 5));
}

static void interface(void)
{
    static const float want[] = {1.5f,
                                 -2,
                                 3,
                                 -7,
                                 3,
                                 -2,
                                 -2,
                                 -2,
                                 9,
                                 3,
                                 -7,
                                 3,
                                 -1,
                                 -2,
                                 2,
                                 0x3c00,
                                 1.5f,
                                 3,
                                 1 + 1023.0f / 1024 + 1 + 1.0f / 1024,
                                 6,
                                 1.25f,
                                 6,
                                 0xbf80,
                                 5};
    const int n = sizeof want / sizeof *want;
    float *d = device_zeros<float>(n), got[n];
    interface_kernel<<<1, 32>>>(d);
    FINISH();
    to_host(got, d, n);
    int wrong = 0;
    for (int i = 0; i < n; i++)
        if (got[i] != want[i] && !wrong++) tap_note("result %d: %g, not %g", i, got[i], want[i]);
    tap_ok(wrong == 0, "%d functions of the interface", n);
}

/* ---- comparisons ----------------------------------------------------------------------------- */

enum { EQ, NE, LT, LE, GT, GE, COMPARISONS };

/* A bit for each comparison: of numbers, ordered and unordered; the same of pairs, of both elements
 * and of the second one; the operators. */
template <class H, class P> __global__ void compare_kernel(const H *x, unsigned *out, int n)
{
    const int i = threadIdx.x / n, k = threadIdx.x % n;
    const H a = x[i], b = x[k];
    const P aa(a, a), bb(b, b);
    unsigned *mine = out + 7 * threadIdx.x;
#define COMPARE(OP, NAME, SYMBOL)                                     \
    mine[0] |= (unsigned)__h##NAME(a, b) << OP;                       \
    mine[1] |= (unsigned)__h##NAME##u(a, b) << OP;                    \
    mine[2] |= (unsigned)__hb##NAME##2(aa, bb) << OP;                 \
    mine[3] |= (unsigned)__hb##NAME##u2(aa, bb) << OP;                \
    mine[4] |= (unsigned)(widen(__h##NAME##2(aa, bb).y) == 1) << OP;  \
    mine[5] |= (unsigned)(widen(__h##NAME##u2(aa, bb).y) == 1) << OP; \
    mine[6] |= (unsigned)(a SYMBOL b) << OP;
    COMPARE(EQ, eq, ==)
    COMPARE(NE, ne, !=)
    COMPARE(LT, lt, <)
    COMPARE(LE, le, <=)
    COMPARE(GT, gt, >)
    COMPARE(GE, ge, >=)
#undef COMPARE
}

template <class F> static void comparisons()
{
    typedef typename F::type H;
    const int n = 7;
    const unsigned one = (unsigned)F::BIAS << F::FRACTION, nan = 0x7fff;
    const unsigned bits[n] = {0, 0x8000, one, one + 1, F::INFINITE, nan, nan | 0x8000};
    H x[n];
    for (int i = 0; i < n; i++)
        x[i] = from_bits<H>(bits[i]);
    H *d_x = to_device(x, n);
    unsigned *d = device_zeros<unsigned>(7 * n * n), got[7 * n * n];
    compare_kernel<H, typename F::pair><<<1, n * n>>>(d_x, d, n);
    FINISH();
    to_host(got, d, 7 * n * n);
    CUDA(cudaFree(d_x));
    int wrong = 0;
    for (int i = 0; i < n * n; i++) {
        const double a = value<F>(bits[i / n]), b = value<F>(bits[i % n]);
        const bool unordered = isnan(a) || isnan(b);
        const unsigned plain = (a == b) << EQ | (a != b) << NE | (a < b) << LT | (a <= b) << LE |
                               (a > b) << GT | (a >= b) << GE;
        const unsigned ordered = unordered ? 0 : plain;
        const unsigned either = unordered ? (1u << COMPARISONS) - 1 : plain;
        const unsigned want[7] = {ordered, either, ordered, either, ordered, either, plain};
        for (int form = 0; form < 7; form++)
            wrong += got[7 * i + form] != want[form];
    }
    tap_ok(wrong == 0, "%s: comparisons, with NaN", F::name());
}

int main()
{
    conversions<fp16>();
    conversions<bf16>();
    comparisons<fp16>();
    comparisons<bf16>();
    if (compute_capability() >= 80) {
        arithmetic<fp16>();
        arithmetic<bf16>();
        beyond_double();
    } else {
        tap_skip("needs compute capability 8.0", "fused bf16 arithmetic");
    }
    interface();
    return tap_done();
}
