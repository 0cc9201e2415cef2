/*
 * float16.cu - conversions of __half and __nv_bfloat16 against independent implementations: the
 * processor's F16C instructions where it has them, and for bf16 truncation with hand-made rounding.
 * tests/primitives/float16.cu checks the same functions against the definition.
 */
#include "tests/tap.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <string.h>

static float float_of(unsigned bits)
{
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}
static unsigned bits_of(float f)
{
    unsigned bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
}

#ifdef __x86_64__
#include <immintrin.h>

__attribute__((target("f16c"))) static void against_f16c(void)
{
    int wrong = 0;
    for (unsigned i = 0; i < 65536; i++) {
        const float want = _cvtsh_ss((unsigned short)i),
                    got = __half2float(__ushort_as_half((unsigned short)i));
        const bool nan = want != want;
        wrong += nan ? bits_of(got) != 0x7fffffff : bits_of(got) != bits_of(want);
    }
    tap_ok(wrong == 0, "all 65536 halves to float");

    /* Every 97th float: all exponents, 44 million values. */
    wrong = 0;
    for (unsigned long long i = 0; i < 1ull << 32; i += 97) {
        const float f = float_of((unsigned)i);
        const unsigned short got = __half_as_ushort(__float2half_rn(f));
        const unsigned short want = f != f ? 0x7fff : _cvtss_sh(f, _MM_FROUND_TO_NEAREST_INT);
        wrong += got != want;
    }
    tap_ok(wrong == 0, "44 million floats to half");

    wrong = 0;
    for (unsigned long long i = 0; i < 1ull << 32; i += 7919) {
        const float f = float_of((unsigned)i);
        if (f != f) continue;
        wrong += __half_as_ushort(__float2half_rz(f)) != _cvtss_sh(f, _MM_FROUND_TO_ZERO);
        wrong += __half_as_ushort(__float2half_rd(f)) != _cvtss_sh(f, _MM_FROUND_TO_NEG_INF);
        wrong += __half_as_ushort(__float2half_ru(f)) != _cvtss_sh(f, _MM_FROUND_TO_POS_INF);
    }
    tap_ok(wrong == 0, "the other three rounding modes");
}
#endif

static void bfloat16(void)
{
    int wrong = 0;
    for (unsigned i = 0; i < 65536; i++)
        wrong += bits_of(__bfloat162float(__ushort_as_bfloat16((unsigned short)i))) != i << 16;
    tap_ok(wrong == 0, "all 65536 bf16 numbers to float");

    wrong = 0;
    for (unsigned long long i = 0; i < 1ull << 32; i += 97) {
        const unsigned bits = (unsigned)i, rest = bits & 0xffff;
        const float f = float_of(bits);
        unsigned want = bits >> 16;
        if (rest > 0x8000 || (rest == 0x8000 && (want & 1))) want++;
        if (f != f) want = 0x7fff;
        wrong += __bfloat16_as_ushort(__float2bfloat16_rn(f)) != want;
    }
    tap_ok(wrong == 0, "44 million floats to bf16");
}

int main()
{
#ifdef __x86_64__
    if (__builtin_cpu_supports("f16c"))
        against_f16c();
    else
        tap_skip("this processor has no F16C", "halves");
#else
    tap_skip("not x86-64", "halves against F16C");
#endif
    bfloat16();
    return tap_done();
}
