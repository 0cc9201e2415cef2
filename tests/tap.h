/*
 * tap.h - test programs that speak TAP, the Test Anything Protocol: one line a check,
 *
 *     ok 1 - every thread ran once
 *     not ok 2 - column 33 of 64
 *     ok 3 - bf16 products # SKIP needs compute capability 8.0
 *     1..3
 *
 * and exit status 1 if any failed. For C and C++, one file a program:
 *
 *     int main(void)
 *     {
 *         tap_ok(f(2) == 4, "f(%d)", 2);
 *         return tap_done();
 *     }
 */
#ifndef TESTS_TAP_H
#define TESTS_TAP_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

static int tap_count, tap_failures;

/* One check; returns whether it passed. */
__attribute__((format(printf, 2, 3), unused)) static bool tap_ok(bool passed, const char *format,
                                                                 ...)
{
    va_list args;
    va_start(args, format);
    printf("%sok %d - ", passed ? "" : "not ", ++tap_count);
    vprintf(format, args);
    printf("\n");
    fflush(stdout);
    va_end(args);
    tap_failures += !passed;
    return passed;
}

/* A check that cannot be made here, and why. */
__attribute__((format(printf, 2, 3), unused)) static void tap_skip(const char *reason,
                                                                   const char *format, ...)
{
    va_list args;
    va_start(args, format);
    printf("ok %d - ", ++tap_count);
    vprintf(format, args);
    printf(" # SKIP %s\n", reason);
    va_end(args);
}

/* Prints a note for the reader of a failure; not a check. */
__attribute__((format(printf, 1, 2), unused)) static void tap_note(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    printf("# ");
    vprintf(format, args);
    printf("\n");
    va_end(args);
}

/* The plan; the exit status of main. No check at all is a failure. */
__attribute__((unused)) static int tap_done(void)
{
    printf("1..%d\n", tap_count);
    return tap_failures || !tap_count;
}

#endif
