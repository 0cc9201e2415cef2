#include "harness/timing.h"

#include "device/cuda_try.h"
#include "exchange/exchange.h"
#include "harness/device.h"
#include "harness/device_tools.h"

#include <stdlib.h>
#include <time.h>

enum { MIN_RUNS = 20, MAX_RUNS = 200, FEWEST_RUNS = 3, BATCH = 20, BATCHES = 5 };

static const double TIME_BUDGET_MS = 3000; /* for all timed runs of one contender */
static const double SHORT_RUN_MS = 0.1;    /* shorter ones are timed in batches too */
static const double WARM_UP_MS = 20, LONGEST_WARM_UP_MS = 200; /* by the host's clock */
/* Before every timed group the device spins, so that the host has enqueued the runs and their events by the time the
 * device gets there; else a short run waits for the host half-way. A run of one launch takes the host 4 us; one of many
 * takes what the warm-up saw, up to the most: beyond it the device has more to do than the host. */
static const double HEAD_START_US = 30, LEAST_US_PER_RUN = 4, MOST_US_PER_RUN = 100;

double wall_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e3 + t.tv_nsec * 1e-6;
}

typedef struct stopwatch {
    cudaStream_t stream;
    cudaEvent_t start, stop;
    void *flush; /* written before each cold run; NULL when warm */
    size_t flush_bytes;
    double enqueue_us; /* the host's time to enqueue a run: the least that was seen */
} stopwatch;

static void stopwatch_destroy(stopwatch *w)
{
    if (w->start) cudaEventDestroy(w->start);
    if (w->stop) cudaEventDestroy(w->stop);
    if (w->stream) cudaStreamDestroy(w->stream);
    cudaFree(w->flush);
}

static cudaError_t stopwatch_create(stopwatch *w, const options *o, size_t l2_bytes)
{
    *w = (stopwatch){.enqueue_us = INFINITY};
    /* A blocking stream: it and the default stream wait for each other, so that a launch where the
     * author forgot the stream argument is timed all the same. */
    CUDA_TRY(cudaStreamCreate(&w->stream));
    CUDA_TRY(cudaEventCreate(&w->start));
    CUDA_TRY(cudaEventCreate(&w->stop));
    if (o->l2 == L2_COLD) {
        /* Twice the cache: whatever the replacement policy keeps, the operands are gone. */
        w->flush_bytes = 2 * l2_bytes;
        CUDA_TRY(cudaMalloc(&w->flush, w->flush_bytes));
    }
    return cudaSuccess;
}

static double head_start_us(const stopwatch *w, int repeats)
{
    const double seen = isfinite(w->enqueue_us) ? w->enqueue_us : MOST_US_PER_RUN;
    return HEAD_START_US + repeats * fmin(fmax(seen, LEAST_US_PER_RUN), MOST_US_PER_RUN);
}

/* One timed group of `repeats` runs, in ms per run. */
static cudaError_t time_group(stopwatch *w, const operation *op, void *instance,
                              void *const *d_outputs, int repeats, double *ms)
{
    float elapsed;
    if (w->flush) CUDA_TRY(device_flush_cache(w->flush, w->flush_bytes, w->stream));
    CUDA_TRY(device_spin(head_start_us(w, repeats), w->stream));
    CUDA_TRY(cudaEventRecord(w->start, w->stream));
    const double before = wall_ms();
    for (int i = 0; i < repeats; i++)
        CUDA_TRY(op->run(instance, d_outputs, w->stream));
    w->enqueue_us = fmin(w->enqueue_us, (wall_ms() - before) * 1e3 / repeats);
    CUDA_TRY(cudaEventRecord(w->stop, w->stream));
    CUDA_TRY(exchange_wait(w->stream));
    CUDA_TRY(cudaEventSynchronize(w->stop));
    CUDA_TRY(cudaGetLastError());
    CUDA_TRY(cudaEventElapsedTime(&elapsed, w->start, w->stop));
    *ms = elapsed / repeats;
    return cudaSuccess;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Quantile q of n sorted values, interpolated between the two nearest. */
static double quantile(const double *sorted, int n, double q)
{
    const double at = q * (n - 1);
    const int i = (int)at;
    return i + 1 < n ? sorted[i] + (at - i) * (sorted[i + 1] - sorted[i]) : sorted[n - 1];
}

double timing_median(double *sample, int n)
{
    qsort(sample, n, sizeof *sample, ascending);
    return quantile(sample, n, 0.5);
}

double timing_iqr(const double *sorted, int n)
{
    return quantile(sorted, n, 0.75) - quantile(sorted, n, 0.25);
}

/* Sorts the sample and fills runs, median and IQR. */
static void summarise(double *sample, int n, timing *t)
{
    t->runs = n;
    t->median_ms = timing_median(sample, n);
    t->iqr_ms = timing_iqr(sample, n);
}

/* The standard error of a median is about 1.25 sigma / sqrt(n) and sigma about IQR / 1.35. */
static bool median_is_known(const timing *t)
{
    return 0.93 * t->iqr_ms <= 0.01 * t->median_ms * sqrt(t->runs);
}

/* Runs until two successive runs differ by less than 2 %, but for WARM_UP_MS at least: the GPU was
 * idle while the host compared a result, and may have lowered its clock. */
static cudaError_t warm_up(stopwatch *w, const operation *op, void *instance,
                           void *const *d_outputs)
{
    const double start = wall_ms();
    double before, now = NAN, spent = 0, waited = 0;
    do {
        before = now;
        CUDA_TRY(time_group(w, op, instance, d_outputs, 1, &now));
        spent += now;
        waited = wall_ms() - start;
    } while (spent < TIME_BUDGET_MS / 4 && waited < LONGEST_WARM_UP_MS &&
             (waited < WARM_UP_MS || !(fabs(now - before) < 0.02 * now)));
    return cudaSuccess;
}

static cudaError_t take_sample(stopwatch *w, const operation *op, void *instance,
                               void *const *d_outputs, const options *o, double *sample, timing *t)
{
    const int most = o->runs ? o->runs : MAX_RUNS;
    double spent = 0;
    int n = 0;
    while (n < most) {
        CUDA_TRY(time_group(w, op, instance, d_outputs, 1, &sample[n]));
        spent += sample[n++];
        if (o->runs) continue;
        if (n >= FEWEST_RUNS && spent > TIME_BUDGET_MS) break;
        if (n >= MIN_RUNS && n % MIN_RUNS == 0) {
            summarise(sample, n, t);
            if (median_is_known(t)) break;
        }
    }
    summarise(sample, n, t);
    return cudaSuccess;
}

static cudaError_t take_batches(stopwatch *w, const operation *op, void *instance,
                                void *const *d_outputs, timing *t)
{
    double batch[BATCHES];
    for (int i = 0; i < BATCHES; i++)
        CUDA_TRY(time_group(w, op, instance, d_outputs, BATCH, &batch[i]));
    t->batch_ms = timing_median(batch, BATCHES);
    return cudaSuccess;
}

cudaError_t time_runs(const operation *op, void *instance, void *const *d_outputs, const options *o,
                      size_t l2_bytes, timing *result)
{
    stopwatch w;
    *result = NOT_TIMED;
    double *sample = malloc((o->runs > MAX_RUNS ? o->runs : MAX_RUNS) * sizeof *sample);
    if (!sample) return cudaErrorMemoryAllocation;
    cudaError_t error = stopwatch_create(&w, o, l2_bytes);
    if (error == cudaSuccess) error = warm_up(&w, op, instance, d_outputs);
    if (error == cudaSuccess) error = take_sample(&w, op, instance, d_outputs, o, sample, result);
    if (error == cudaSuccess && o->l2 == L2_WARM && result->median_ms < SHORT_RUN_MS)
        error = take_batches(&w, op, instance, d_outputs, result);
    if (error != cudaSuccess) *result = NOT_TIMED;
    stopwatch_destroy(&w);
    free(sample);
    return error;
}

/* ---- work of programs -------------------------------------------------------------------------- */

static enum status take_runs(enum status (*work)(void *arg, error_text *error), void *arg,
                             const stopwatch *w, int warm_ups, int runs, double *sample,
                             error_text *error)
{
    for (int i = -warm_ups; i < runs; i++) {
        float passed;
        cudaError_t cuda = cudaEventRecord(w->start, w->stream);
        if (cuda == cudaSuccess) {
            const enum status status = work(arg, error);
            if (status != STATUS_OK) return status;
            cuda = cudaEventRecord(w->stop, w->stream);
        }
        if (cuda == cudaSuccess) cuda = cudaEventSynchronize(w->stop);
        if (cuda == cudaSuccess) cuda = cudaEventElapsedTime(&passed, w->start, w->stop);
        if (cuda != cudaSuccess) return device_fail(cuda, "timing", error);
        if (i >= 0) sample[i] = passed;
    }
    return STATUS_OK;
}

enum status time_work(enum status (*work)(void *arg, error_text *error), void *arg,
                      cudaStream_t stream, int warm_ups, int runs, spread *result,
                      error_text *error)
{
    stopwatch w = {.stream = stream};
    double *sample = malloc((size_t)runs * sizeof *sample);
    if (!sample) return fail(error, STATUS_MEMORY, "no memory for %d times", runs);
    cudaError_t cuda = cudaEventCreate(&w.start);
    if (cuda == cudaSuccess) cuda = cudaEventCreate(&w.stop);
    enum status status = cuda == cudaSuccess
                             ? take_runs(work, arg, &w, warm_ups, runs, sample, error)
                             : device_fail(cuda, "timing", error);
    if (status == STATUS_OK) {
        result->median_ms = timing_median(sample, runs); /* which sorts */
        result->iqr_ms = timing_iqr(sample, runs);
    }
    w.stream = NULL; /* the caller's */
    stopwatch_destroy(&w);
    free(sample);
    return status;
}
