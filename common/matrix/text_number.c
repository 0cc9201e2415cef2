/*
 * text_number.c - the numbers of text.h: integers outside the fast path, and decimal fractions.
 */
#include "matrix/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static bool is_digit(char c)
{
    return (unsigned)c - '0' < 10;
}

/* Whether a number ends at p. Digits up to the very end of the window may go on behind it, but then
 * they are more than any number needs. */
static bool ends_at(const text_input *in, const char *p)
{
    return text_ends_number(*p) && (p < in->end || in->last_window);
}

enum status text_int_general(text_input *in, const char *what, int64_t least, int64_t most,
                             int64_t *value, error_text *error)
{
    const char *p = in->at;
    bool negative = *p == '-', overflow = false;
    if (*p == '-' || *p == '+') p++;
    const char *digits = p;
    int64_t number = 0; /* counted downwards: the negative range is the larger one */
    for (; is_digit(*p); p++)
        overflow |= __builtin_mul_overflow(number, 10, &number) ||
                    __builtin_sub_overflow(number, *p - '0', &number);
    if (p == digits || !ends_at(in, p)) {
        char wanted[128];
        snprintf(wanted, sizeof wanted, "%s (an integer)", what);
        return text_expected(in, wanted, error);
    }
    if (!negative) overflow |= __builtin_sub_overflow(0, number, &number);
    if (overflow || number < least || number > most)
        return text_fail(in, error, "%s of %.*s%s is outside %" PRId64 "..%" PRId64, what,
                         p - in->at < 24 ? (int)(p - in->at) : 24, in->at,
                         p - in->at < 24 ? "" : "...", least, most);
    in->at = p;
    *value = number;
    return STATUS_OK;
}

/* 10^0 .. 10^63, each the nearest double: exact up to 10^22. */
static const double powers_of_ten[] = {
    1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
    1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22, 1e23, 1e24, 1e25, 1e26, 1e27, 1e28, 1e29, 1e30, 1e31,
    1e32, 1e33, 1e34, 1e35, 1e36, 1e37, 1e38, 1e39, 1e40, 1e41, 1e42, 1e43, 1e44, 1e45, 1e46, 1e47,
    1e48, 1e49, 1e50, 1e51, 1e52, 1e53, 1e54, 1e55, 1e56, 1e57, 1e58, 1e59, 1e60, 1e61, 1e62, 1e63};
enum { MAX_POWER = sizeof powers_of_ten / sizeof *powers_of_ten - 1 };

/* A decimal number, digits * 10^exponent; `exact` unless there were more digits than 64 bits hold,
 * or an exponent beyond all reason. */
typedef struct decimal {
    uint64_t digits;
    int exponent;
    bool negative, exact;
} decimal;

/* Reads [+-]digits[.digits][e[+-]digits] at p; Fortran writes d for e. Returns its end, or NULL if p holds no number. */
static const char *scan_decimal(const char *p, decimal *d)
{
    enum { EXACT_DIGITS = 19, ABSURD_EXPONENT = 10000 };
    int count = 0; /* of significant digits */
    bool any = false;
    *d = (decimal){.exact = true};
    d->negative = *p == '-';
    if (*p == '-' || *p == '+') p++;

    for (bool fraction = false;; p++) {
        if (*p == '.' && !fraction) {
            fraction = true;
            continue;
        }
        if (!is_digit(*p)) break;
        any = true;
        if (count > 0 || *p != '0') count++;
        if (count > EXACT_DIGITS) {
            d->exact = false;
            continue;
        }
        d->digits = d->digits * 10 + (uint64_t)(*p - '0');
        d->exponent -= fraction;
    }
    if (!any) return NULL;
    if (!*p || !strchr("eEdD", *p)) return p;

    p++;
    bool negative = *p == '-';
    if (*p == '-' || *p == '+') p++;
    if (!is_digit(*p)) return NULL;
    int exponent = 0;
    for (; is_digit(*p); p++) {
        if (exponent < ABSURD_EXPONENT)
            exponent = exponent * 10 + (*p - '0');
        else
            d->exact = false;
    }
    d->exponent += negative ? -exponent : exponent;
    return p;
}

/* digits * 10^exponent as a double, with one rounding each for the digits, the power and the
 * product: within 3 units of the last of its 53 bits. Rounding that to 24 bits gives the right fp32
 * number unless it lies so close to the middle between two that those units decide; there, and
 * outside the normal range, the answer is no. */
static bool round_decimal(const decimal *d, float *value)
{
    enum { DROPPED_BITS = 53 - 24, MARGIN = 4 };
    if (!d->exact || d->exponent < -MAX_POWER || d->exponent > MAX_POWER) return false;
    double x = (double)d->digits;
    x = d->exponent < 0 ? x / powers_of_ten[-d->exponent] : x * powers_of_ten[d->exponent];
    if (x != 0 && !(x >= 0x1p-126 && x < 0x1p127)) return false;

    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    int64_t from_middle =
        (int64_t)(bits & ((UINT64_C(1) << DROPPED_BITS) - 1)) - (INT64_C(1) << (DROPPED_BITS - 1));
    if (llabs(from_middle) <= MARGIN) return false;
    *value = (float)(d->negative ? -x : x);
    return true;
}

/* The number at p, which scan_decimal found to end at `end`, by strtof: reads "1.5" so, as no program
 * here sets a locale. */
static float slow_decimal(const char *p, const char *end)
{
    size_t mantissa = strcspn(p, "dD");
    char copy[2 * TEXT_LOOKAHEAD];
    if (p + mantissa >= end || end - p >= (ptrdiff_t)sizeof copy) return strtof(p, NULL);
    memcpy(copy, p, (size_t)(end - p));
    copy[end - p] = 0;
    copy[mantissa] = 'e';
    return strtof(copy, NULL);
}

/* The end of "inf", "-Infinity", "NaN" ... at p, or NULL. */
static const char *scan_nonfinite(const char *p)
{
    static const char *const NAMES[] = {"infinity", "inf", "nan"}; /* the longest first */
    if (*p == '-' || *p == '+') p++;
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++)
        if (strncasecmp(p, NAMES[i], strlen(NAMES[i])) == 0) return p + strlen(NAMES[i]);
    return NULL;
}

enum status text_float(text_input *in, const char *what, float *value, error_text *error)
{
    text_skip_blanks(in);
    decimal d;
    const char *end = scan_decimal(in->at, &d);
    if (!end) {
        end = scan_nonfinite(in->at);
        if (!end || !ends_at(in, end)) return text_expected(in, what, error);
        *value = strtof(in->at, NULL);
        in->at = end;
        return STATUS_OK;
    }
    if (!ends_at(in, end)) return text_expected(in, what, error);
    if (!round_decimal(&d, value)) {
        *value = slow_decimal(in->at, end);
        if (!isfinite(*value)) {
            char wanted[128];
            snprintf(wanted, sizeof wanted, "%s that is finite in fp32", what);
            return text_expected(in, wanted, error);
        }
    }
    in->at = end;
    return STATUS_OK;
}
