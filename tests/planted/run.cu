/*
 * run.cu - the checks are checked: every planted bug must be found by its instrument, at the right
 * line, thread and element, and by no other; its twin without the bug must give no finding.
 */
#include "planted.h"

#include <unistd.h>

int here_line, there_line;

static const int MEMCHECK = INSTRUMENT_MEMCHECK, RACECHECK = INSTRUMENT_RACECHECK;

/* Runs a case on a device that was reset; returns what was found. */
static size_t run_under(int which, void (*run)(void), const finding **found)
{
    const instruments *all = instruments_here();
    const instrument_settings settings = {which, "h200", 1};
    error_text error;
    if (all->open(&settings, &error) != STATUS_OK) {
        printf("Bail out! %s\n", error.text);
        exit(1);
    }
    CUDA(cudaDeviceReset());
    all->forget_names();
    all->reset();
    here_line = 0;
    there_line = 0;
    all->begin(false, nullptr);
    run();
    all->end();
    cudaDeviceReset();
    return all->findings(found);
}

static void show(const finding *f)
{
    tap_note("%s: %s (%lld times)", f->kind, f->text, (long long)f->count);
    tap_note("  at %s%s%s", f->where, *f->other ? " and " : "", f->other);
    tap_note("  in %s block (%u,%u,%u) thread (%u,%u,%u): %s", f->kernel, f->block[0], f->block[1],
             f->block[2], f->thread[0], f->thread[1], f->thread[2], f->advice);
}

static bool is_line(const char *where, const char *file, int line)
{
    char expected[160] = "";
    if (line) snprintf(expected, sizeof expected, "%s:%d", file, line);
    return strcmp(where, expected) == 0;
}

static bool is_at(const unsigned got[3], uint3 expected)
{
    return got[0] == expected.x && got[1] == expected.y && got[2] == expected.z;
}

/* All that a finding says is as expected. Says what is not. */
static bool matches(const planted_bug &bug, const finding *f)
{
    const char *missing = nullptr;
    char kernel[80];
    snprintf(kernel, sizeof kernel, "%s_kernel<false>", bug.name);
    if (strcmp(f->kind, bug.kind) != 0) missing = bug.kind;
    if (!strstr(f->text, bug.says)) missing = bug.says;
    if (!is_line(f->where, bug.file, here_line)) missing = "the line";
    if (!is_line(f->other, bug.file, there_line)) missing = "the other line";
    if (!is_at(f->block, bug.block)) missing = "the block";
    if (!is_at(f->thread, bug.thread)) missing = "the thread";
    if (strcmp(f->kernel, kernel) != 0) missing = kernel;
    if (strlen(f->advice) < 20) missing = "advice";
    if (f->count < 1 && !bug.whole) missing = "a count";
    if (missing) tap_note("expected %s; lines %d, %d", missing, here_line, there_line);
    return !missing;
}

void expect_bug(const planted_bug &bug)
{
    const finding *found;
    size_t count = run_under(bug.instrument ? bug.instrument : MEMCHECK, bug.wrong, &found);
    const bool right = count == 1 && matches(bug, &found[0]);
    if (!right)
        for (size_t i = 0; i < count; i++)
            show(&found[i]);
    tap_ok(right, "%s: %s", bug.name, bug.kind);

    if (bug.instrument) {
        count = run_under(bug.instrument == MEMCHECK ? RACECHECK : MEMCHECK, bug.wrong, &found);
        bool silent = true;
        for (size_t i = 0; i < count; i++)
            silent &= strcmp(found[i].kind, bug.kind) != 0;
        tap_ok(silent, "%s: only its own instrument finds it", bug.name);
    }
    expect_clean(bug.name, bug.right);
}

void expect_clean(const char *name, void (*run)(void))
{
    const finding *found;
    const size_t count = run_under(MEMCHECK | RACECHECK, run, &found);
    for (size_t i = 0; i < count; i++)
        show(&found[i]);
    tap_ok(count == 0, "%s, right: nothing is found", name);
}

int main(int, char **argv)
{
    /* For endless loops; it is read when the program starts. */
    if (!getenv("SIMT_TIMEOUT")) {
        setenv("SIMT_TIMEOUT", "3", 1);
        execv("/proc/self/exe", argv);
    }
    plant_addresses();
    plant_places();
    plant_contents();
    plant_shared_races();
    plant_global_races();
    plant_volatile_races();
    plant_synchronisation();
    plant_async();
    plant_streams();
    plant_clean();
    return tap_done();
}
