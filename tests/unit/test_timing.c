/*
 * test_timing.c - how many runs are timed, which of them, and what is made of their times. The
 * operation is a fake that keeps the device busy for as long as the test says.
 *
 * Under simt a call has done its work when it returns, and events are read from the clock that the
 * fake reads too: there its own record of every call tells what time_runs must have seen, however
 * often this machine was busy with something else meanwhile. On a GPU the lengths asked for do.
 */
#include "fixture.h"

#include "device/cuda_try.h"
#include "harness/device.h"
#include "harness/device_tools.h"
#include "harness/timing.h"

/* ---- the fake -------------------------------------------------------------------------------- */

enum { MAX_CALLS = 8192, MAX_LENGTHS = 4, L2_BYTES = 1 << 20, FLUSH_BYTES = 2 * L2_BYTES };

/* A call as long as the longest warm-up is all of it, so that call 1 is the first timed one. */
static const double WHOLE_WARM_UP_MS = 202;

typedef struct fake {
    double first_ms;          /* of call 0; 0: as long as any other */
    double ms[MAX_LENGTHS];   /* of calls 1, 2, ...; over again after the last */
    int num_ms;               /* 0: calls do nothing */
    int fails_at;             /* this call returns cudaErrorNotSupported; -1: none */
    bool fails_silently;      /* ... or succeeds, and leaves an error behind */
    bool forgets_stream;      /* works on the default stream */
    unsigned char *flush;     /* where the buffer that flushes the cache must lie; NULL: unknown */
    int calls, found, zeroed; /* calls in all, those that found that buffer, and found it zeroed */
    cudaStream_t stream;
    double begin[MAX_CALLS], end[MAX_CALLS]; /* by the host's clock */
} fake;

static fake f; /* the one that every test sets up */
static float result;
static void *const outputs[] = {&result};
static unsigned char flush_bytes[FLUSH_BYTES];

static double length_of(int call)
{
    if (call == 0 && f.first_ms > 0) return f.first_ms;
    return f.num_ms > 0 ? f.ms[(call + f.num_ms - 1) % f.num_ms] : 0;
}

/* Whether the buffer exists; flush_bytes then holds what it does. */
static bool read_flush(void)
{
    if (cudaMemcpy(flush_bytes, f.flush, FLUSH_BYTES, cudaMemcpyDeviceToHost) == cudaSuccess)
        return true;
    cudaGetLastError(); /* forgotten */
    return false;
}

/* Looks whether the buffer was zeroed since the call before, and spoils it for the next. */
static void look_at_flush(void)
{
    if (!f.flush || !read_flush()) return;
    f.found++;
    f.zeroed += !flush_bytes[0] && !memcmp(flush_bytes, flush_bytes + 1, FLUSH_BYTES - 1);
    assert_int_equal(cudaMemset(f.flush, 0xFF, FLUSH_BYTES), cudaSuccess);
}

static cudaError_t fake_run(void *instance, void *const *d_outputs, cudaStream_t stream)
{
    const int call = f.calls++;
    assert_true(call < MAX_CALLS);
    f.begin[call] = wall_ms();
    assert_ptr_equal(instance, &f);
    assert_ptr_equal(d_outputs, outputs);
    if (call == 0) f.stream = stream;
    assert_ptr_equal(stream, f.stream);
    look_at_flush();
    const double ms = length_of(call);
    if (ms > 0) CUDA_TRY(device_spin(ms * 1000, f.forgets_stream ? 0 : stream));
    if (call == f.fails_at && !f.fails_silently) return cudaErrorNotSupported;
    if (call == f.fails_at) cudaSetDevice(999);
    f.end[call] = wall_ms();
    return cudaSuccess;
}

static const operation fake_operation = {.name = "fake", .run = fake_run};

/* The fake with no records and this many lengths, after a warm-up of one call. */
static void set_up(int num_ms, const double *ms)
{
    memset(&f, 0, sizeof f);
    f.first_ms = WHOLE_WARM_UP_MS;
    f.fails_at = -1;
    f.num_ms = num_ms;
    for (int i = 0; i < num_ms; i++)
        f.ms[i] = ms[i];
}
#define SET_UP(...) \
    set_up(sizeof((double[]){__VA_ARGS__}) / sizeof(double), (double[]){__VA_ARGS__})

static cudaError_t time_fake(int runs, enum l2_state l2, timing *t)
{
    const options o = {.bench = true, .runs = runs, .l2 = l2};
    memset(t, 0, sizeof *t);
    return time_runs(&fake_operation, &f, outputs, &o, L2_BYTES, t);
}

static timing times(int runs, enum l2_state l2)
{
    timing t;
    assert_int_equal(time_fake(runs, l2, &t), cudaSuccess);
    return t;
}

/* Device memory is handed out in ascending order under simt, so this is where the next allocation
 * of FLUSH_BYTES goes. */
static void foresee_flush(void)
{
    unsigned char *one, *two;
    assert_int_equal(cudaMalloc((void **)&one, FLUSH_BYTES), cudaSuccess);
    assert_int_equal(cudaMalloc((void **)&two, FLUSH_BYTES), cudaSuccess);
    f.flush = two + (two - one);
    cudaFree(one);
    cudaFree(two);
}

/* ---- what must come out ---------------------------------------------------------------------- */

static void assert_within(const char *what, double x, double least, double most)
{
    if (!(x >= least && x <= most)) fail_msg("%s: %g is not in %g .. %g", what, x, least, most);
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double quantile(const double *sorted, int n, double q)
{
    double whole;
    const double part = modf(q * (n - 1), &whole);
    const int i = (int)whole;
    return part > 0 ? (1 - part) * sorted[i] + part * sorted[i + 1] : sorted[i];
}

/* How long a call was, by whoever knows. */
static double seen_ms(int call)
{
    return device_keeps_time() ? length_of(call) : f.end[call] - f.begin[call];
}

/* Median and IQR of `n` calls from `first` on. */
static timing sample(int first, int n)
{
    double ms[MAX_CALLS];
    for (int i = 0; i < n; i++)
        ms[i] = seen_ms(first + i);
    qsort(ms, n, sizeof *ms, ascending);
    return (timing){.runs = n,
                    .median_ms = quantile(ms, n, 0.5),
                    .iqr_ms = quantile(ms, n, 0.75) - quantile(ms, n, 0.25)};
}

/* Asserts that the median is that of `runs` calls from `first` on. None of them can have seemed
 * shorter than it was. Half of them at most were interrupted between an event and the call. */
static void assert_median(const timing *t, int first, double slack_ms)
{
    const double median = sample(first, t->runs).median_ms;
    assert_within("median", t->median_ms, median - 0.002, median + slack_ms);
}

static void assert_not_timed(const timing *t)
{
    assert_int_equal(t->runs, 0);
    assert_true(isnan(t->median_ms) && isnan(t->iqr_ms) && isnan(t->batch_ms));
}

/* The standard error of the median, relative to it, if the sample is normal: 0.01 is 1 %. */
static double uncertainty(const timing *t)
{
    return 1.2533 * (t->iqr_ms / 1.349) / sqrt(t->runs) / t->median_ms;
}

/* Sampling stopped at the first multiple of 20 where the median was known to 1 % (where it went on,
 * to no less than 0.85 %: the fake sees a little less than the events do), or at 200. */
static void assert_stopped_in_time(const timing *t)
{
    const int first = f.calls - t->runs;
    assert_true(t->runs >= 20 && t->runs <= 200 && t->runs % 20 == 0);
    if (t->runs < 200) assert_within("uncertainty", uncertainty(t), 0, 0.0101);
    for (int n = 20; n < t->runs; n += 20) {
        const timing before = sample(first, n);
        assert_within("uncertainty of fewer runs", uncertainty(&before), 0.0085, 1);
    }
}

/* Call `call` did not begin before the device had spun that long after the call before it. */
static void assert_head_start(int call, double ms)
{
    assert_within("head start", f.begin[call] - f.end[call - 1], ms, 1e9);
}

/* ---- how many runs --------------------------------------------------------------------------- */

/* More than fit the default sample, and with the median known long before. */
static void as_many_runs_as_asked_for(void **state)
{
    (void)state;
    SET_UP(0.15);
    const timing t = times(333, L2_WARM);
    assert_int_equal(t.runs, 333);
    assert_int_equal(f.calls, 1 + 333);
    assert_non_null(f.stream);
    assert_true(isnan(t.batch_ms));
}

static void one_run(void **state)
{
    (void)state;
    SET_UP(1);
    f.first_ms = 0;
    const timing t = times(1, L2_WARM);
    assert_int_equal(t.runs, 1);
    assert_median(&t, f.calls - 1, 1e9);
    assert_true(t.iqr_ms == 0);
}

/* The head start of the host, which precedes a run, is not in its time. */
static void steady_runs(void **state)
{
    (void)state;
    SET_UP(0.5);
    f.first_ms = 0;
    const timing t = times(0, L2_WARM);
    const int first = f.calls - t.runs;
    assert_stopped_in_time(&t);
    assert_true(isnan(t.batch_ms));
    assert_median(&t, first, 0.025);
    if (device_keeps_time()) return;
    for (int i = first; i < f.calls; i++)
        assert_head_start(i, 0.030);
}

/* 0.93 * 10 % is 1 % of the square root of 87. */
static void runs_that_differ(void **state)
{
    (void)state;
    SET_UP(0.5, 0.553);
    const timing t = times(0, L2_WARM);
    assert_stopped_in_time(&t);
    assert_true(t.runs > 20);
    assert_int_equal(f.calls, 1 + t.runs);
}

static void runs_that_never_settle(void **state)
{
    (void)state;
    SET_UP(0.2, 1.2);
    const timing t = times(0, L2_WARM);
    assert_stopped_in_time(&t);
    assert_int_equal(t.runs, 200);
    assert_int_equal(f.calls, 1 + 200);
    assert_median(&t, 1, 1.1);
}

/* The first takes all the time there is, and two more are taken nevertheless. */
static void slow_runs(void **state)
{
    (void)state;
    SET_UP(3005, 0.2, 0.2, 0.2);
    const timing t = times(0, L2_WARM);
    assert_int_equal(t.runs, 3);
    assert_int_equal(f.calls, 1 + 3);
    assert_true(isnan(t.batch_ms));
    assert_within("IQR", t.iqr_ms, 1000, 1e9);
}

/* ---- what is made of them -------------------------------------------------------------------- */

/* Times are 20, 40, 60 and 80 ms, in any order: the median is 50 and the quartiles are 35 and 65. The
 * slack is for a machine that does something else just when a run begins. */
static void median_and_quartiles(void **state)
{
    (void)state;
    SET_UP(20, 80, 40, 60);
    const timing t = times(4, L2_WARM), want = sample(1, 4);
    assert_int_equal(t.runs, 4);
    assert_median(&t, 1, 4);
    assert_within("IQR", t.iqr_ms, want.iqr_ms - 4, want.iqr_ms + 4);
    assert_within("median", t.median_ms, 50 - 0.002, 1e9); /* the device spins at least as long */
}

/* An author who forgets the stream argument is timed all the same. */
static void work_on_the_default_stream(void **state)
{
    (void)state;
    SET_UP(2);
    f.first_ms = 0;
    f.forgets_stream = true;
    const timing t = times(3, L2_WARM);
    assert_within("median", t.median_ms, 2 - 0.002, 1e9);
}

/* ---- warm-up --------------------------------------------------------------------------------- */

static void short_runs_warm_up_for_a_while(void **state)
{
    (void)state;
    SET_UP(0.15);
    f.first_ms = 0;
    const double start = wall_ms();
    const timing t = times(20, L2_WARM);
    const int first = f.calls - t.runs;
    assert_true(isnan(t.batch_ms));
    assert_within("warm-up", f.begin[first] - start, 20, 1e9);
}

/* Until two successive runs are alike, or for 200 ms. (Of runs of 1 and 8 ms two may be alike: on a
 * machine that is busy for 7 ms.) */
static void unsteady_runs_warm_up_longer(void **state)
{
    (void)state;
    SET_UP(1, 8);
    f.first_ms = 0;
    const double start = wall_ms();
    const timing t = times(3, L2_WARM);
    const int first = f.calls - t.runs;
    assert_true(first >= 2);
    const double last = seen_ms(first - 1), before = seen_ms(first - 2);
    if (!(fabs(last - before) < 0.05 * last))
        assert_within("warm-up", f.begin[first] - start, 200, 1e9);
}

/* ---- batches --------------------------------------------------------------------------------- */

/* Short runs, warm: 5 batches of 20 after the sample, with no pause within. */
static void short_runs_come_in_batches(void **state)
{
    (void)state;
    enum { RUNS = 7, BATCHES = 5, BATCH = 20, FIRST = 1 + RUNS };
    SET_UP(0.02);
    const timing t = times(RUNS, L2_WARM);
    assert_int_equal(t.runs, RUNS);
    assert_within("median", t.median_ms, 0, 0.1);
    assert_int_equal(f.calls, FIRST + BATCHES * BATCH);
    assert_false(isnan(t.batch_ms));
    if (device_keeps_time()) { /* the runs of a batch lack the gap that a single one may carry */
        assert_within("batch", t.batch_ms, 0.02 - 0.002, 2 * t.median_ms);
        return;
    }
    double batch[BATCHES], gap[BATCHES * (BATCH - 1)];
    int gaps = 0;
    for (int b = 0; b < BATCHES; b++) {
        const int first = FIRST + b * BATCH;
        batch[b] = 0;
        for (int i = first; i < first + BATCH; i++) {
            batch[b] += seen_ms(i) / BATCH;
            if (i > first) gap[gaps++] = f.begin[i] - f.end[i - 1];
        }
        assert_head_start(first, 0.030 + BATCH * 0.020); /* the host takes 20 us a run and more */
    }
    qsort(gap, gaps, sizeof *gap, ascending);
    assert_within("gap within a batch", gap[gaps / 2], 0, 0.030);
    qsort(batch, BATCHES, sizeof *batch, ascending);
    assert_within("batch", t.batch_ms, batch[BATCHES / 2] - 1e-6, batch[BATCHES / 2] + 0.030);
}

/* ---- cold L2 --------------------------------------------------------------------------------- */

/* The cache is flushed, by writing twice as much as it holds, before every run, and that is not in
 * the run's time. */
static void cold_runs(void **state)
{
    (void)state;
    SET_UP(0.01);
    f.first_ms = 0;
    if (!device_keeps_time()) foresee_flush();
    const timing t = times(20, L2_COLD);
    assert_int_equal(t.runs, 20);
    if (device_keeps_time()) {
        assert_within("median", t.median_ms, 0.01 - 0.002, 0.1);
        return;
    }
    assert_int_equal(f.found, f.calls);
    assert_int_equal(f.zeroed, f.calls);
    assert_false(read_flush());             /* freed */
    assert_median(&t, f.calls - 20, 0.025); /* zeroing 2 MB takes longer */
}

/* In a batch all but the first run would find the cache warm. */
static void cold_runs_come_alone(void **state)
{
    (void)state;
    SET_UP(0.02);
    f.first_ms = 0;
    const timing t = times(20, L2_COLD);
    assert_within("median", t.median_ms, 0, 0.1);
    assert_true(isnan(t.batch_ms));
}

static void warm_runs_flush_nothing(void **state)
{
    (void)state;
    if (device_keeps_time()) skip();
    SET_UP(1);
    f.first_ms = 0;
    foresee_flush();
    times(3, L2_WARM);
    assert_int_equal(f.found, 0);
}

/* ---- errors ---------------------------------------------------------------------------------- */

/* The error of call `at` comes back at once, and nothing stays behind. */
static void assert_error_at(int at, enum l2_state l2, timing *t)
{
    const bool look = l2 == L2_COLD && !device_keeps_time();
    if (at == 0) f.first_ms = 0;
    f.fails_at = at;
    if (look) foresee_flush();
    assert_int_equal(time_fake(3, l2, t), cudaErrorNotSupported);
    assert_int_equal(f.calls, at + 1);
    if (!look) return;
    assert_int_equal(f.found, at + 1);
    assert_false(read_flush());
}

static void error_while_warming_up(void **state)
{
    (void)state;
    timing t;
    SET_UP(0.2);
    assert_error_at(0, L2_WARM, &t);
    assert_not_timed(&t);
    SET_UP(0.2);
    assert_error_at(0, L2_COLD, &t);
    assert_not_timed(&t);
}

static void error_in_a_timed_run(void **state)
{
    (void)state;
    timing t;
    SET_UP(0.2);
    assert_error_at(2, L2_COLD, &t);
    assert_not_timed(&t);
}

static void error_in_a_batch(void **state)
{
    (void)state;
    timing t;
    SET_UP(0);
    assert_error_at(1 + 3 + 30, L2_WARM, &t);
    assert_true(isnan(t.batch_ms));
}

/* A call that failed and was not looked at, in the last run of all. */
static void error_left_behind(void **state)
{
    (void)state;
    timing t;
    SET_UP(0.2);
    f.fails_at = 3;
    f.fails_silently = true;
    assert_int_equal(time_fake(3, L2_WARM, &t), cudaErrorInvalidDevice);
    assert_int_equal(f.calls, 1 + 3);
    assert_not_timed(&t);
}

static void no_room_to_flush(void **state)
{
    (void)state;
    const options o = {.bench = true, .runs = 3, .l2 = L2_COLD};
    timing t;
    SET_UP(1);
    assert_int_equal(time_runs(&fake_operation, &f, outputs, &o, (size_t)1 << 50, &t),
                     cudaErrorMemoryAllocation);
    assert_int_equal(f.calls, 0);
    assert_not_timed(&t);
    cudaGetLastError();
}

static int open_device(void **state)
{
    (void)state;
    device_info device;
    error_text error;
    if (device_open(0, &device, &error) == STATUS_OK) return 0;
    print_error("%s\n", error.text);
    return -1;
}

/* ---- work of programs ---------------------------------------------------------------------------- */

/* Work that counts its calls; the call after `before_failure` others fails. */
typedef struct counted {
    int calls, before_failure;
    double ms;
} counted;

static enum status count_call(void *arg, error_text *error)
{
    counted *c = arg;
    if (c->calls == c->before_failure) return (fail)(error, STATUS_WRONG, "call %d", c->calls);
    c->calls++;
    return device_spin(1e3 * c->ms, NULL) == cudaSuccess ? STATUS_OK : STATUS_RUNTIME;
}

static void work_is_timed_after_warm_ups(void **state)
{
    (void)state;
    counted c = {.before_failure = -1, .ms = 2};
    spread time = {NAN, NAN};
    error_text error;
    assert_int_equal(time_work(count_call, &c, NULL, 3, 5, &time, &error), STATUS_OK);
    assert_int_equal(c.calls, 8);
    assert_true(time.median_ms > 1.5 && time.iqr_ms >= 0);
}

static void work_that_fails_has_no_time(void **state)
{
    (void)state;
    counted c = {.before_failure = 4};
    spread time = {NAN, NAN};
    error_text error;
    assert_int_equal(time_work(count_call, &c, NULL, 3, 5, &time, &error), STATUS_WRONG);
    assert_string_equal(error.text, "call 4");
    assert_true(isnan(time.median_ms) && isnan(time.iqr_ms));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_many_runs_as_asked_for),
        cmocka_unit_test(one_run),
        cmocka_unit_test(steady_runs),
        cmocka_unit_test(runs_that_differ),
        cmocka_unit_test(runs_that_never_settle),
        cmocka_unit_test(slow_runs),
        cmocka_unit_test(median_and_quartiles),
        cmocka_unit_test(work_on_the_default_stream),
        cmocka_unit_test(short_runs_warm_up_for_a_while),
        cmocka_unit_test(unsteady_runs_warm_up_longer),
        cmocka_unit_test(short_runs_come_in_batches),
        cmocka_unit_test(cold_runs),
        cmocka_unit_test(cold_runs_come_alone),
        cmocka_unit_test(warm_runs_flush_nothing),
        cmocka_unit_test(error_while_warming_up),
        cmocka_unit_test(error_in_a_timed_run),
        cmocka_unit_test(error_in_a_batch),
        cmocka_unit_test(error_left_behind),
        cmocka_unit_test(no_room_to_flush),
        cmocka_unit_test(work_is_timed_after_warm_ups),
        cmocka_unit_test(work_that_fails_has_no_time),
    };
    return cmocka_run_group_tests_name("timing", tests, open_device, NULL);
}
