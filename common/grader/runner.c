/*
 * runner.c - the program that a submission is linked to: it does what the grader asks over the
 * channel, and decides nothing. Linked to the kernels' traced objects it also counts and checks.
 *
 * It shares its memory with code that may want to deceive, so whatever it says is doubted.
 */
#include "grader/channel.h"
#include "grader/copies.h"
#include "grader/seccomp.h"
#include "harness/device.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

typedef struct array {
    unsigned char *base; /* on the device: guard, contents, guard */
    size_t bytes;        /* of the three */
    size_t element;
    char name[64];
} array;

/* Plan that has been prepared, and its source. */
typedef struct session {
    csr_matrix A;
    problem problem;
    const contender *contender;
    void *instance;
    cudaStream_t stream; /* the default stream does not wait for it, nor it for that */
} session;

static array arrays[MAX_ARRAYS];

/* Memory for the bytes of one message, the same for the next: a large block given back after an answer
 * is unmapped while the grader's clock already runs: 15 ms and more for 170 MB. */
static void *room(size_t bytes)
{
    static char *kept;
    static size_t kept_bytes;
    if (bytes > kept_bytes) {
        free(kept);
        kept = malloc(bytes);
        kept_bytes = kept ? bytes : 0;
    }
    return kept;
}

/* Answers; what a failed kernel reported is more than the error's name. */
static bool answer(enum status status, const char *text, const void *data, size_t bytes)
{
    message m = {.status = (int)status, .bytes = bytes};
    strncpy(m.text, text, sizeof m.text - 1);
    return channel_write(CHANNEL_FD, &m, sizeof m, INFINITY) &&
           channel_write(CHANNEL_FD, data, bytes, INFINITY);
}

static bool answer_cuda(cudaError_t e, const void *data, size_t bytes)
{
    const char *why = e == cudaSuccess ? "" : cudaGetErrorString(e);
#ifndef BACKEND_CUDA
    if (e != cudaSuccess && *simt_last_report()) why = simt_last_report();
#endif
    return answer(e == cudaSuccess ? STATUS_OK : STATUS_RUNTIME, why, data, bytes);
}

/* ---- arrays ---------------------------------------------------------------------------------- */

static bool put(const message *m, const void *image)
{
    if (m->array < 0 || m->array >= MAX_ARRAYS || m->bytes < 2 * ARRAY_GUARD)
        return answer(STATUS_USAGE, "no such array", NULL, 0);
    array *a = &arrays[m->array];
    cudaError_t e = cudaSuccess;
    if (a->bytes != m->bytes) { /* else the same place again: old results may lie about */
        cudaFree(a->base);
        *a = (array){0};
        e = cudaMalloc((void **)&a->base, m->bytes);
        if (e == cudaSuccess) a->bytes = m->bytes;
    }
    if (e == cudaSuccess) e = cudaMemcpy(a->base, image, m->bytes, cudaMemcpyHostToDevice);
    if (e == cudaSuccess)
        e = cudaDeviceSynchronize(); /* the stream of a run would not wait for it */
    a->element = m->element;
    snprintf(a->name, sizeof a->name, "%.*s", (int)sizeof a->name - 1, m->text);
    const instruments *all = instruments_here();
    if (e == cudaSuccess && all) {
        const size_t bytes = m->bytes - 2 * ARRAY_GUARD;
        all->name_array(a->base + ARRAY_GUARD, bytes, m->element, m->text, m->read_only);
        if (!m->read_only && all->forget_contents)
            all->forget_contents(a->base + ARRAY_GUARD, bytes);
    }
    return answer_cuda(e, NULL, 0);
}

static bool get(const message *m)
{
    const array *a = m->array >= 0 && m->array < MAX_ARRAYS ? &arrays[m->array] : NULL;
    void *image = a && a->base ? room(a->bytes) : NULL;
    if (!image) return answer(STATUS_USAGE, "no such array", NULL, 0);
    const cudaError_t e = cudaMemcpy(image, a->base, a->bytes, cudaMemcpyDeviceToHost);
    return answer_cuda(e, image, e == cudaSuccess ? a->bytes : 0);
}

static void *contents(int number)
{
    return number >= 0 && number < MAX_ARRAYS && arrays[number].base
               ? arrays[number].base + ARRAY_GUARD
               : NULL;
}

static void resolve(const int32_t *numbers, int count, void **pointers)
{
    for (int i = 0; i < count; i++)
        pointers[i] = contents(numbers[i]);
}

/* An input as `prepare` may ask for it: without its host memory. */
static operand describe(int number)
{
    if (!contents(number)) return (operand){0};
    const array *a = &arrays[number];
    return (operand){.name = a->name, .bytes = a->bytes - 2 * ARRAY_GUARD, .element = a->element};
}

/* ---- preparing ------------------------------------------------------------------------------- */

static void release(session *s)
{
    if (s->instance) s->contender->operation->release(s->instance);
    s->instance = NULL;
    csr_free(&s->A);
}

/* The contender that is asked for. NULL: there is none; `why` says so, and what is registered in its place. */
static const contender *find(const prepare_request *r, char *why, size_t bytes)
{
    snprintf(why, bytes, "no contender registers this lab number and precision");
    for (const contender *c = contenders(); c; c = c->next) {
        if (c->lab != r->lab || (int)c->precision != r->precision) continue;
        if (!strcmp(c->operation->name, r->operation)) return c;
        snprintf(why, bytes, "the lab registers a contender of %s, where one of %s is asked for",
                 c->operation->name, r->operation);
    }
    return NULL;
}

/* "D=2,C=4" over the contender's own choice; what it does not know is left out. */
static void apply_settings(const contender *c, char *settings, int *tuning)
{
    char *rest = NULL;
    for (char *word = strtok_r(settings, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
        char *value = strchr(word, '=');
        if (!value) continue;
        *value++ = '\0';
        for (int i = 0; i < contender_num_tunables(c); i++)
            if (!strcmp(c->tunables[i].name, word))
                tunable_read(&c->tunables[i], value, &tuning[i]);
    }
}

/* The pattern of A on the host, for a prepare that works there. Its values are on the device alone. */
static enum status take_matrix(session *s, const prepare_request *r, const char *behind,
                               size_t bytes, error_text *error)
{
    const size_t row_ptr = (r->rows + 1) * sizeof(int64_t), col_idx = r->nnz * sizeof(int32_t);
    if (bytes != row_ptr + col_idx) return fail(error, STATUS_USAGE, "not a matrix");
    enum status status = csr_alloc(&s->A, r->rows, r->cols, r->nnz, r->has_values, error);
    if (status != STATUS_OK) return status;
    if (s->A.values) memset(s->A.values, 0xFF, r->nnz * sizeof *s->A.values); /* NaN */
    memcpy(s->A.row_ptr, behind, row_ptr);
    memcpy(s->A.col_idx, behind + row_ptr, col_idx);
    s->problem = (problem){.A = &s->A,
                           .operation = s->contender->operation,
                           .width = r->width,
                           .num_inputs = r->num_inputs,
                           .precision = (enum precision)r->precision};
    memcpy(s->problem.knobs, r->knobs, sizeof r->knobs);
    for (int i = 0; i < r->num_inputs; i++)
        s->problem.inputs[i] = describe(r->inputs[i]);
    return row_stats_compute(&s->A, &s->problem.stats, error);
}

static bool prepare(session *s, message *m, const char *payload)
{
    const prepare_request *r = (const prepare_request *)payload;
    const instruments *all = instruments_here();
    error_text error;
    char why[sizeof m->text];
    void *d_inputs[MAX_OPERANDS];
    int tuning[MAX_TUNABLES] = {0};
    release(s);
    s->contender = find(r, why, sizeof why);
    if (!s->contender) return answer(STATUS_WRONG, why, NULL, 0);
    const operation *op = s->contender->operation;
    enum status status = take_matrix(s, r, payload + sizeof *r, m->bytes - sizeof *r, &error);
    if (status != STATUS_OK) return answer(status, error.text, NULL, 0);
    resolve(r->inputs, MAX_OPERANDS, d_inputs);
    if (all) {
        all->reset();
        all->begin(true, NULL);
    }
    op->choose(s->contender, &s->problem, tuning);
    apply_settings(s->contender, m->text, tuning);
    cudaError_t e = op->prepare(s->contender, &s->problem, d_inputs, tuning, &s->instance);
    if (e == cudaSuccess && !all) e = fingerprints_open(MAX_STEPS * MAX_OUTPUTS);
    if (e == cudaSuccess) e = cudaDeviceSynchronize();
    if (all) all->end();
    return answer_cuda(e, NULL, 0);
}

/* ---- running --------------------------------------------------------------------------------- */

static void take_report(const instruments *all, trace_report *report)
{
    const kernel_profile *kernels;
    const finding *found;
    const size_t num_kernels = all->profiles(&kernels), num_findings = all->findings(&found);
    *report = (trace_report){.num_findings = (int64_t)num_findings};
    for (size_t i = 0; i < num_kernels; i++)
        if (!kernels[i].in_prepare) counters_add(&report->run, &kernels[i].total);
    for (size_t i = 0; i < num_findings && i < MAX_TOLD_FINDINGS; i++) {
        strncpy(report->findings[i].kind, found[i].kind, sizeof found[i].kind - 1);
        strncpy(report->findings[i].text, found[i].text, sizeof found[i].text - 1);
        strncpy(report->findings[i].where, found[i].where, sizeof found[i].where - 1);
    }
}

static int64_t seen_of(const instruments *all, int array, enum sight what)
{
    return contents(array) ? all->seen(contents(array), describe(array).bytes, what) : 0;
}

/* Returns the accesses to the arrays of a run. */
static seen_accesses take_seen(const instruments *all, const run_step *step)
{
    seen_accesses seen = {.handed = all->handed()};
    for (int i = 0; i < MAX_OPERANDS; i++)
        seen.read[i] = seen_of(all, step->inputs[i], SEEN_READ);
    for (int i = 0; i < MAX_OUTPUTS; i++) {
        seen.stored[i] = seen_of(all, step->outputs[i], SEEN_STORED);
        seen.written[i] = seen_of(all, step->outputs[i], SEEN_WRITTEN);
    }
    return seen;
}

/* The fingerprints of every output of the steps. */
static cudaError_t take_look(const run_step *steps, size_t count, uint64_t key, look *seen)
{
    device_array all[MAX_STEPS * MAX_OUTPUTS];
    int n = 0;
    *seen = (look){0};
    for (size_t i = 0; i < count * MAX_OUTPUTS; i++) {
        const int number = steps[i / MAX_OUTPUTS].outputs[i % MAX_OUTPUTS];
        if (!contents(number)) continue;
        all[n++] = (device_array){arrays[number].base, arrays[number].bytes,
                                  &seen->outputs[i / MAX_OUTPUTS][i % MAX_OUTPUTS]};
    }
    return fingerprints_take(all, n, key);
}

/* One run for each step. *left says what is wrong with work that the last one left. */
static cudaError_t take_steps(session *s, const run_step *steps, size_t count, const char **left)
{
    const operation *op = s->contender->operation;
    cudaError_t e = cudaSuccess;
    for (size_t i = 0; i < count && e == cudaSuccess && !*left; i++) {
        void *d_inputs[MAX_OPERANDS], *d_outputs[MAX_OUTPUTS];
        resolve(steps[i].inputs, MAX_OPERANDS, d_inputs);
        resolve(steps[i].outputs, MAX_OUTPUTS, d_outputs);
        op->rebind(s->instance, d_inputs);
        e = op->run(s->instance, d_outputs, s->stream);
        *left = device_work_left(s->stream);
    }
    if (e == cudaSuccess) e = cudaGetLastError();
    return e;
}

/* RUN, or LOOK. */
static bool run(session *s, const message *m, const run_step *steps)
{
    const size_t count = m->bytes / sizeof *steps;
    const instruments *all = instruments_here();
    const char *left = NULL;
    cudaError_t e = cudaSuccess;
    if (!s->instance) return answer(STATUS_USAGE, "nothing is prepared", NULL, 0);
    if (count > MAX_STEPS) return answer(STATUS_USAGE, "too many runs", NULL, 0);
    if (all) all->begin(false, NULL);
    copies_allow(false);
    if (m->command == CHANNEL_RUN) e = take_steps(s, steps, count, &left);
    if (e == cudaSuccess) e = cudaDeviceSynchronize();
    copies_allow(true);
    if (e == cudaSuccess && left) {
        if (all) all->end();
        return answer(STATUS_WRONG, left, NULL, 0);
    }
    if (!all) {
        look seen;
        if (e == cudaSuccess) e = take_look(steps, count, m->key, &seen);
        return answer_cuda(e, &seen, e == cudaSuccess ? sizeof seen : 0);
    }
    trace_report report;
    all->end();
    take_report(all, &report);
    if (count) report.seen = take_seen(all, &steps[count - 1]);
    return answer_cuda(e, &report, sizeof report);
}

/* ---- the conversation ------------------------------------------------------------------------ */

static bool serve(session *s, message *m, char *payload)
{
    m->text[sizeof m->text - 1] = '\0';
    switch (m->command) {
    case CHANNEL_PUT:
        return put(m, payload);
    case CHANNEL_GET:
        return get(m);
    case CHANNEL_PREPARE:
        return m->bytes >= sizeof(prepare_request) && prepare(s, m, payload);
    case CHANNEL_RUN:
    case CHANNEL_LOOK:
        return run(s, m, (run_step *)payload);
    case CHANNEL_RELEASE:
        release(s);
        return answer(STATUS_OK, "", NULL, 0);
    }
    return false;
}

/* Opens all that has to be opened while that is still possible. */
static enum status start(session *s, int which, error_text *error)
{
    const instrument_settings settings = {.which = which,
                                          .model = "h200",
                                          .sample = 1,
                                          .pick = TRACE_GIVEN,
                                          .trace_block = -1,
                                          .trace_warp = -1};
    device_info device;
    enum status status = device_open(0, &device, error);
    if (status != STATUS_OK) return status;
    const cudaError_t e = cudaStreamCreateWithFlags(&s->stream, cudaStreamNonBlocking);
    if (e != cudaSuccess) return device_fail(e, "making a stream", error);
    if (instruments_here()) return instruments_here()->open(&settings, error);
#ifndef BACKEND_CUDA
    /* A traced runner asks addr2line about lines of the source: it is confined by its parent alone. */
    if (!install_seccomp_filter())
        return fail(error, STATUS_SKIPPED, "the kernel knows no seccomp filters");
#endif
    return STATUS_OK;
}

/* runner [INSTRUMENTS]. Nothing of the submission has run yet: it has no code that runs before main(). */
int main(int argc, char **argv)
{
    session s = {0};
    message m;
    error_text error = {""};
    prctl(PR_SET_DUMPABLE, 0);
    const enum status status = start(&s, argc > 1 ? atoi(argv[1]) : 0, &error);
    if (!answer(status, error.text, NULL, 0) || status != STATUS_OK) return status;
    copies_allow(true);
    while (channel_read(CHANNEL_FD, &m, sizeof m, INFINITY)) {
        char *payload = room(m.bytes + 1);
        if (!payload || !channel_read(CHANNEL_FD, payload, m.bytes, INFINITY) ||
            !serve(&s, &m, payload))
            return STATUS_RUNTIME;
    }
    return STATUS_OK;
}
