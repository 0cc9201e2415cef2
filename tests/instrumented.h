/*
 * instrumented.h - programs of traced kernels under memcheck and racecheck: nothing may be found. A TAP test a run:
 *
 *     const instruments *all = instrumented_open();
 *     if (!all) return 1;
 *     instrumented_begin(all);
 *     enum status status = ...
 *     instrumented_end(all, status, &error, true, "blocks of %d", 8);
 */
#ifndef TESTS_INSTRUMENTED_H
#define TESTS_INSTRUMENTED_H

#include "harness/instruments.h"
#include "tests/tap.h"

/* Opens both checks for all blocks; NULL, which TAP is told: there are none. */
static const instruments *instrumented_open(void)
{
    const instrument_settings settings = {
        .which = INSTRUMENT_MEMCHECK | INSTRUMENT_RACECHECK, .model = "h200", .sample = 1};
    const instruments *all = instruments_here();
    error_text error;
    if (all && all->open(&settings, &error) == STATUS_OK) return all;
    printf("Bail out! no instruments\n");
    return NULL;
}

static void instrumented_begin(const instruments *all)
{
    all->forget_names();
    all->reset();
    all->begin(false, NULL);
}

/* Ends the run: it must have succeeded, without a finding, and be `right` besides. The format names it. */
__attribute__((format(printf, 5, 6))) static void
instrumented_end(const instruments *all, enum status status, const error_text *error, bool right,
                 const char *format, ...)
{
    const finding *found;
    char name[200];
    va_list args;
    all->end();
    const size_t count = all->findings(&found);
    for (size_t i = 0; i < count; i++)
        tap_note("%s: %s, at %s in %s", found[i].kind, found[i].text, found[i].where,
                 found[i].kernel);
    va_start(args, format);
    vsnprintf(name, sizeof name, format, args);
    va_end(args);
    tap_ok(status == STATUS_OK && count == 0 && right, "%s: %s", name,
           status != STATUS_OK ? error->text
           : count             ? "see above"
                               : "nothing found");
}

#endif
