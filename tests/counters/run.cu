/*
 * run.cu - proves the counters right: kernels whose requests, sectors, wavefronts and operations
 * are known beforehand, and compared with what common/profiler counts. See expect.h.
 */
#include "tests/counters/expect.h"

static void open_instruments(double sample)
{
    const instrument_settings settings = {INSTRUMENT_COUNTERS, "h200", sample};
    error_text error;
    if (!instruments_here()) return;
    if (instruments_here()->open(&settings, &error) == STATUS_OK) return;
    printf("Bail out! %s\n", error.text);
    exit(1);
}

int main(int argc, char **argv)
{
    const char *task = argc > 1 ? argv[1] : "";
    open_instruments(!strcmp(task, "sample") ? 0.25 : 1);
    if (!strcmp(task, "profiles")) return print_profiles();
    if (!strcmp(task, "sample")) return print_sample();

    global_patterns();
    shared_patterns();
    atomic_patterns();
    warp_operations();
    divergence();
    idioms();
    if (!instruments_here()) return 0; /* on a GPU ncu does the counting */
    long_logs();
    source_lines();
    sums();
    same_every_time(argv);
    return checks_done();
}
