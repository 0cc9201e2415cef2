#include "times.h"

#include "harness/progress.h"
#include "harness/timing.h"
#include "training/try.h"

#include <stdlib.h>
#include <string.h>

enum { WARM_UPS = 2 };

decoder_times times_none(void)
{
    decoder_times t = {NAN, NAN, NAN, NAN, {0}, NAN};
    for (int i = 0; i < NUM_PARTS; i++)
        t.part_ms[i] = NAN;
    return t;
}

double times_sum(const decoder_times *t)
{
    double sum = 0;
    for (int i = 0; i < NUM_PARTS; i++)
        sum += t->part_ms[i];
    return sum;
}

/* ---- two events -------------------------------------------------------------------------------- */

/* Work between two events. */
typedef struct timed {
    decoder *d;
    cudaEvent_t begin, end;
    graph *work; /* NULL: kernel by kernel */
    unsigned parts;
    int first;  /* tokens in the cache before each run */
    int passes; /* of a run */
} timed;

static enum status timed_open(timed *m, error_text *error)
{
    TRY_CUDA(cudaEventCreate(&m->begin));
    TRY_CUDA(cudaEventCreate(&m->end));
    return STATUS_OK;
}

static void timed_close(timed *m)
{
    if (m->begin) cudaEventDestroy(m->begin);
    if (m->end) cudaEventDestroy(m->end);
}

static enum status enqueue(timed *m, error_text *error)
{
    if (!m->work) return decoder_enqueue(m->d, m->parts, NULL, error);
    TRY_CUDA(graph_launch(m->work));
    return STATUS_OK;
}

static enum status one_run(timed *m, double *ms, error_text *error)
{
    cudaStream_t stream = m->d->pass.stream;
    float passed;
    TRY_CUDA(
        cudaMemcpyAsync(m->d->pass.t, &m->first, sizeof m->first, cudaMemcpyHostToDevice, stream));
    TRY_CUDA(cudaStreamSynchronize(stream));
    TRY_CUDA(cudaEventRecord(m->begin, stream));
    for (int i = 0; i < m->passes; i++)
        TRY(enqueue(m, error));
    TRY_CUDA(cudaEventRecord(m->end, stream));
    TRY_CUDA(cudaEventSynchronize(m->end));
    TRY_CUDA(cudaEventElapsedTime(&passed, m->begin, m->end));
    *ms = passed;
    return STATUS_OK;
}

static enum status many_runs(timed *m, int runs, double *median_ms, double *iqr_ms,
                             error_text *error)
{
    double sample[MOST_RUNS];
    for (int i = -WARM_UPS; i < runs; i++) {
        double ms;
        TRY(one_run(m, &ms, error));
        if (i >= 0) sample[i] = ms;
    }
    *median_ms = timing_median(sample, runs); /* which sorts */
    *iqr_ms = timing_iqr(sample, runs);
    return STATUS_OK;
}

/* ---- graphs of some parts ---------------------------------------------------------------------- */

static cudaError_t record_parts(void *arg, cudaStream_t stream)
{
    const timed *const m = arg;
    error_text text;
    (void)stream; /* the decoder's own */
    return decoder_enqueue(m->d, m->parts, NULL, &text) == STATUS_OK ? cudaSuccess
                                                                     : cudaErrorUnknown;
}

/* Times those parts of a step with `first` tokens in the cache; as a graph, or kernel by kernel. */
static enum status time_parts(decoder *d, unsigned parts, bool as_graph, int first, int runs,
                              double *median_ms, double *iqr_ms, error_text *error)
{
    timed m = {.d = d, .parts = parts, .first = first, .passes = 1};
    enum status status = timed_open(&m, error);
    if (status == STATUS_OK && as_graph) {
        const cudaError_t made = graph_record(record_parts, &m, d->pass.stream, &m.work);
        if (made != cudaSuccess) status = device_fail(made, "recording parts of a step", error);
    }
    if (status == STATUS_OK) status = many_runs(&m, runs, median_ms, iqr_ms, error);
    graph_destroy(m.work);
    timed_close(&m);
    return status;
}

/* Half of the generated tokens are there. */
static int mean_context(const decoder *d)
{
    const decoder_settings *s = &d->settings;
    return s->prompt + (s->capacity - s->prompt) / 2;
}

enum status times_of_step(decoder *d, int runs, double *median_ms, double *iqr_ms,
                          error_text *error)
{
    return time_parts(d, ALL_PARTS, true, mean_context(d), runs, median_ms, iqr_ms, error);
}

enum status times_of_pass(decoder *d, int runs, double *median_ms, error_text *error)
{
    double iqr;
    return time_parts(d, ALL_PARTS, true, 0, runs, median_ms, &iqr, error);
}

/* ---- a generation ------------------------------------------------------------------------------ */

/* All tokens of all sequences: first[] gets those of the first run, which later ones must repeat. */
static enum status same_tokens(decoder *d, bool is_first, int *first, int *again, error_text *error)
{
    const decoder_settings *s = &d->settings;
    const size_t bytes = (size_t)s->sequences * s->capacity * sizeof *first;
    TRY_CUDA(cudaMemcpy(is_first ? first : again, d->pass.chosen, bytes, cudaMemcpyDeviceToHost));
    if (is_first || !memcmp(first, again, bytes)) return STATUS_OK;
    return fail(error, STATUS_WRONG, "a second generation chose other tokens");
}

/* Runs the prompt, then times the rest of the capacity. */
static enum status generate(timed *m, int runs, int *tokens, double *median_ms, error_text *error)
{
    const decoder_settings *s = &m->d->settings;
    double sample[MOST_RUNS];
    for (int i = 0; i < runs; i++) { /* the prompt warms up */
        progress_show(i, runs, "generating");
        TRY(decoder_reset(m->d, error));
        for (int at = 0; at < s->prompt; at++)
            TRY(enqueue(m, error));
        TRY(one_run(m, &sample[i], error));
        TRY(same_tokens(m->d, i == 0, tokens, tokens + (size_t)s->sequences * s->capacity, error));
    }
    *median_ms = timing_median(sample, runs);
    return STATUS_OK;
}

static enum status time_generation(decoder *d, int runs, double *tokens_per_s, error_text *error)
{
    const decoder_settings *s = &d->settings;
    const int out = s->capacity - s->prompt;
    timed m = {.d = d, .work = d->step, .first = s->prompt, .passes = out};
    int *const tokens = malloc(2 * (size_t)s->sequences * s->capacity * sizeof *tokens);
    double ms = NAN;
    enum status status =
        tokens ? timed_open(&m, error) : fail(error, STATUS_MEMORY, "no memory for the tokens");
    if (status == STATUS_OK) status = generate(&m, runs, tokens, &ms, error);
    progress_clear();
    timed_close(&m);
    free(tokens);
    *tokens_per_s = (double)s->sequences * out / ms * 1e3;
    return status;
}

/* Two, which must choose the same tokens. Each has hundreds of steps, and is long: it makes people wait most. */
enum { GENERATIONS = 2 };

/* Times each part as a graph of its own, less the time of a graph without kernels: a step has its launch once. */
static enum status time_each_part(decoder *d, int runs, double *part_ms, error_text *error)
{
    double empty_ms, ms, iqr;
    TRY(time_parts(d, 0, true, mean_context(d), runs, &empty_ms, &iqr, error));
    for (int i = 0; i < NUM_PARTS; i++) {
        TRY(time_parts(d, 1u << i, true, mean_context(d), runs, &ms, &iqr, error));
        part_ms[i] = fmax(ms - empty_ms, 0);
    }
    return STATUS_OK;
}

enum status times_of_decoding(decoder *d, int runs, decoder_times *t, error_text *error)
{
    double iqr;
    TRY(time_generation(d, GENERATIONS, &t->tokens_per_s, error));
    TRY(times_of_step(d, runs, &t->step_ms, &t->step_iqr_ms, error));
    TRY(time_parts(d, ALL_PARTS, false, mean_context(d), runs, &t->stream_ms, &iqr, error));
    return time_each_part(d, runs, t->part_ms, error);
}
