#include "harness/workbench.h"

#include "device/cuda_try.h"
#include "exchange/exchange.h"
#include "harness/device_tools.h"
#include "harness/hidden.h"
#include "harness/progress.h"
#include "harness/room.h"
#include "harness/tuning.h"
#include "matrix/random.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* ---- the problem on the device --------------------------------------------------------------- */

static enum status check_room(const problem *p, error_text *error)
{
    size_t need = 0;
    problem_bytes f = {.on_each = -1};
    for (int i = 0; i < p->num_outputs; i++)
        need += guarded_footprint(output_bytes(&p->outputs[i]));
    for (int i = 0; i < p->num_inputs; i++)
        need += guarded_footprint(p->inputs[i].bytes);
    if (p->operation->footprint) p->operation->footprint(p->A, p->width, p->precision, &f);
    return room_on_device((double)need, f.on_each, p->operation->width, error);
}

/* Puts the inputs of a problem where they belong, but for those that are there. */
static cudaError_t put_inputs(workbench *w, const problem *p, const problem *there)
{
    for (int i = 0; i < p->num_inputs; i++) {
        const operand *in = &p->inputs[i];
        if (there && there->inputs[i].data == in->data) continue;
        CUDA_TRY(cudaMemcpy(w->input[i].data, in->data, in->bytes, cudaMemcpyHostToDevice));
        CUDA_TRY(device_checksum(w->input[i].data, in->bytes, &w->input_hash[i]));
    }
    return cudaSuccess;
}

static cudaError_t upload(workbench *w)
{
    const problem *p = w->problem;
    for (int i = 0; i < p->num_inputs; i++)
        CUDA_TRY(guarded_alloc(&w->input[i], p->inputs[i].bytes));
    CUDA_TRY(put_inputs(w, p, NULL));
    for (int i = 0; i < p->num_outputs; i++)
        CUDA_TRY(guarded_alloc(&w->output[i], output_bytes(&p->outputs[i])));
    return cudaSuccess;
}

/* Room on the host for all outputs. */
static bool make_host_room(workbench *w)
{
    const problem *p = w->problem;
    size_t largest_image = 0;
    bool made = true;
    for (int i = 0; i < p->num_outputs; i++) {
        const output *o = &p->outputs[i];
        w->host_output[i] = malloc((output_elements(o) + 1) * sizeof *w->host_output[i]);
        made = made && w->host_output[i];
        if (o->precision != PRECISION_FP32 && output_bytes(o) + 1 > largest_image)
            largest_image = output_bytes(o) + 1;
    }
    w->host_image = largest_image ? malloc(largest_image) : NULL;
    return made && (w->host_image || !largest_image);
}

void workbench_outputs(const workbench *w, void **d_outputs)
{
    for (int i = 0; i < w->problem->num_outputs; i++)
        d_outputs[i] = w->output[i].data;
}

cudaError_t workbench_poison(workbench *w)
{
    for (int i = 0; i < w->problem->num_outputs; i++)
        CUDA_TRY(guarded_poison(&w->output[i]));
    return cudaSuccess;
}

cudaError_t workbench_fetch(workbench *w)
{
    for (int i = 0; i < w->problem->num_outputs; i++) {
        const output *o = &w->problem->outputs[i];
        const bool is_fp32 = o->precision == PRECISION_FP32;
        void *image = is_fp32 ? w->host_output[i] : w->host_image;
        CUDA_TRY(cudaMemcpy(image, w->output[i].data, w->output[i].bytes, cudaMemcpyDeviceToHost));
        if (!is_fp32) precision_widen(o->precision, image, w->host_output[i], output_elements(o));
    }
    return cudaSuccess;
}

void workbench_destroy(workbench *w)
{
    for (int i = 0; i < MAX_OPERANDS; i++)
        guarded_free(&w->input[i]);
    for (int i = 0; i < MAX_OUTPUTS; i++) {
        guarded_free(&w->output[i]);
        free(w->host_output[i]);
    }
    reference_destroy(&w->reference);
    if (w->probe.made) {
        reference_destroy(&w->probe.reference);
        w->probe.problem.operation->destroy(&w->probe.problem);
    }
    free(w->host_image);
    *w = (workbench){0};
}

/* Makes the probe, where results are checked and there can be one. */
static enum status make_probe(workbench *w, error_text *error)
{
    const problem *p = w->problem;
    probe *own = &w->probe;
    if (!w->options->check || !p->operation->exact_in_whole_numbers) return STATUS_OK;
    own->problem = (problem){.operation = p->operation,
                             .A = p->A,
                             .stats = p->stats,
                             .width = p->width,
                             .seed = random_substream(p->seed, UINT64_MAX),
                             .whole = true,
                             .precision = p->precision};
    memcpy(own->problem.knobs, p->knobs, sizeof p->knobs);
    const enum status status = p->operation->create(&own->problem, error);
    if (status != STATUS_OK) return status == STATUS_SKIPPED ? STATUS_OK : status;
    own->made = true;
    reference_create(&own->problem, &own->reference);
    return STATUS_OK;
}

enum status workbench_create(workbench *w, const options *o, const device_info *device,
                             const problem *p, error_text *error)
{
    *w = (workbench){.options = o, .device = device, .problem = p};
    enum status status = check_room(p, error);
    if (status != STATUS_OK) return status;
    if (!make_host_room(w)) {
        size_t bytes = 0;
        for (int i = 0; i < p->num_outputs; i++)
            bytes += output_bytes(&p->outputs[i]);
        status = fail(error, STATUS_MEMORY, "host memory: a result of %.2f GB does not fit",
                      bytes * 1e-9);
    } else {
        cudaError_t e = upload(w);
        if (e != cudaSuccess) status = device_fail(e, "uploading the operands", error);
    }
    if (status == STATUS_OK) reference_create(p, &w->reference);
    if (status == STATUS_OK) status = make_probe(w, error);
    if (status != STATUS_OK) workbench_destroy(w);
    return status;
}

/* ---- one contender --------------------------------------------------------------------------- */

/* A contender that is being evaluated. */
typedef struct trial {
    workbench *w;
    const operation *op;
    const reference *reference; /* what results must be now */
    void *instance;
    outcome *out;
} trial;

/* Records the first thing that went wrong; returns false so that steps can be chained with &&. */
static bool set_back(outcome *out, enum status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static bool set_back(outcome *out, enum status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    out->status = status;
    vsnprintf(out->message, sizeof out->message, format, args);
    va_end(args);
    return false;
}

static bool device_ok(const trial *t, cudaError_t e, const char *what)
{
    error_text error;
    if (e == cudaSuccess) return true;
    enum status status = device_fail(e, what, &error);
    return set_back(t->out, status, "%.250s", error.text);
}

/* Writes down what really runs: KERNEL=b_tiles, and then the settings of that contender's plan. */
static void note_settings(const trial *t, const contender *c)
{
    char *const text = t->out->settings;
    const int *tuning = t->out->tuning;
    text[0] = 0;
    for (int depth = 0; c; depth++) {
        tuning_add_text(c, tuning, text, sizeof t->out->settings);
        c = t->op->nested ? t->op->nested(t->instance, depth, &tuning) : NULL;
    }
    const size_t held = t->op->workspace_bytes ? t->op->workspace_bytes(t->instance) : 0;
    const size_t used = strlen(text);
    if (held)
        snprintf(text + used, sizeof t->out->settings - used, "%sWORKSPACE=%zu", used ? " " : "",
                 held);
}

/* Takes over by how much more than the bound a contender may be off with the settings of its instance. What it rounds itself
 * comes on top of what those round to which it leaves its work. Several of those make sums of their own each, so the largest
 * counts. */
static void tolerate(const trial *t, const contender *c)
{
    reference *const ref = &t->w->reference;
    const int *tuning = t->out->tuning;
    double nested = 0;
    ref->bound_factor = c->bound_factor;
    ref->product_rounding = c->product_rounding ? c->product_rounding(tuning) : 0;
    ref->flushes_subnormals = c->flushes_subnormals && c->flushes_subnormals(tuning);
    for (int depth = 0; t->op->nested && (c = t->op->nested(t->instance, depth, &tuning));
         depth++) {
        if (c->product_rounding) nested = fmax(nested, c->product_rounding(tuning));
        ref->flushes_subnormals |= c->flushes_subnormals && c->flushes_subnormals(tuning);
    }
    ref->product_rounding += nested;
}

static cudaError_t prepare_once(trial *t, const contender *c, double *ms)
{
    void *d_inputs[MAX_OPERANDS];
    for (int i = 0; i < t->w->problem->num_inputs; i++)
        d_inputs[i] = t->w->input[i].data;
    const double start = wall_ms();
    cudaError_t e = t->op->prepare(c, t->w->problem, d_inputs, t->out->tuning, &t->instance);
    if (e == cudaSuccess) e = cudaDeviceSynchronize();
    if (e == cudaSuccess) e = cudaGetLastError();
    *ms = wall_ms() - start;
    if (e != cudaSuccess) return e;
    note_settings(t, c);
    tolerate(t, c);
    return e;
}

/* Preparing is timed so often, for now and then one waits for memory, and the median counts; a slow one less often. */
enum { TIMED_PREPARES = 5, PREPARE_BUDGET_MS = 1000 };

/* On a GPU prepares once more than that, for the first loads the kernels it uses. Each has the settings asked
 * for: one that finds those which an earlier one chose is not timed for choosing them. */
static bool prepare(trial *t, const contender *c)
{
    const bool is_timed = device_keeps_time() && t->w->options->bench && !contender_untimed(c);
    const int most = is_timed ? TIMED_PREPARES : 0;
    const double start = wall_ms();
    int asked[MAX_TUNABLES], timed = 0;
    double first, ms[TIMED_PREPARES];
    memcpy(asked, t->out->tuning, sizeof asked);
    cudaError_t e = prepare_once(t, c, &first);
    while (e == cudaSuccess && timed < most &&
           (timed == 0 || wall_ms() - start < PREPARE_BUDGET_MS)) {
        t->op->release(t->instance);
        t->instance = NULL;
        memcpy(t->out->tuning, asked, sizeof asked);
        e = prepare_once(t, c, &ms[timed++]);
    }
    if (e == cudaSuccess && timed > 0) t->out->prepare_ms = timing_median(ms, timed);
    if (e == cudaSuccess && t->op->least) t->op->least(t->w->problem, t->instance, &t->out->least);
    return device_ok(t, e, "prepare");
}

static cudaError_t distribute(const trial *t, void *const *d_outputs)
{
    return t->op->distribute ? t->op->distribute(t->instance, d_outputs) : cudaSuccess;
}

static cudaError_t collect(const trial *t, void *const *d_outputs)
{
    return t->op->collect ? t->op->collect(t->instance, d_outputs) : cudaSuccess;
}

/* The timed runs, between what does not belong to them. */
static bool run_timed(const trial *t, void *const *d_outputs)
{
    const workbench *const w = t->w;
    return device_ok(t, distribute(t, d_outputs), "distributing the operands") &&
           device_ok(t,
                     time_runs(t->op, t->instance, d_outputs, w->options, w->device->l2_bytes,
                               &t->out->timing),
                     "run") &&
           device_ok(t, collect(t, d_outputs), "collecting the result");
}

/* Runs on a stream for which the default stream does not wait: what is left there would show. */
static bool run_once(const trial *t)
{
    void *d_outputs[MAX_OUTPUTS];
    cudaStream_t stream;
    workbench_outputs(t->w, d_outputs);
    cudaError_t e = cudaDeviceSynchronize(); /* for what filled the arrays */
    if (e == cudaSuccess) e = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    if (e != cudaSuccess) return device_ok(t, e, "making a stream");
    e = distribute(t, d_outputs);
    const long calls = device_host_calls();
    if (e == cudaSuccess) e = t->op->run(t->instance, d_outputs, stream);
    t->out->host_calls = device_host_calls() - calls;
    if (e == cudaSuccess) e = cudaGetLastError();
    const char *left = device_work_left(stream);
    if (e == cudaSuccess) e = exchange_wait(stream);
    if (e == cudaSuccess) e = cudaDeviceSynchronize();
    if (e == cudaSuccess) e = collect(t, d_outputs);
    cudaStreamDestroy(stream);
    return device_ok(t, e, "run") && (!left || set_back(t->out, STATUS_WRONG, "%s", left));
}

/* Brings the outputs to the host, as floats, and compares them. */
static bool compare(const trial *t, comparison *c)
{
    workbench *w = t->w;
    error_text error;
    if (!device_ok(t, workbench_fetch(w), "fetching the result")) return false;
    if (verify(t->reference, (const float *const *)w->host_output, c, &error) != STATUS_OK)
        return set_back(t->out, STATUS_MEMORY, "%.250s", error.text);
    return true;
}

/* The guards of all arrays and the contents of the inputs are as they were. */
static bool surroundings_intact(const trial *t)
{
    const workbench *w = t->w;
    const problem *p = w->problem;
    for (int i = 0; i < p->num_inputs + p->num_outputs; i++) {
        const bool is_input = i < p->num_inputs;
        const int k = i - p->num_inputs;
        const guarded_array *a = is_input ? &w->input[i] : &w->output[k];
        const char *name = is_input             ? p->inputs[i].name
                           : p->num_outputs > 1 ? p->outputs[k].name
                                                : "the output";
        bool intact;
        int64_t offset;
        uint64_t hash = 0;
        if (!device_ok(t, guarded_check(a, &intact, &offset), "reading the guards")) return false;
        if (!intact && offset < 0)
            return set_back(t->out, STATUS_WRONG, "wrote %lld bytes before the start of %s",
                            (long long)-offset, name);
        if (!intact)
            return set_back(t->out, STATUS_WRONG, "wrote outside %s, %lld bytes past its end", name,
                            (long long)(offset - (int64_t)a->bytes));
        if (!is_input) continue;
        if (!device_ok(t, device_checksum(a->data, a->bytes, &hash), "checksum")) return false;
        if (hash != w->input_hash[i])
            return set_back(t->out, STATUS_WRONG, "modified its input %s", name);
    }
    return true;
}

/* One more run on outputs of bytes `fill`, with its verdict. */
static bool is_right_on(const trial *t, int fill)
{
    comparison c;
    const workbench *w = t->w;
    for (int i = 0; i < w->problem->num_outputs; i++)
        if (cudaMemset(w->output[i].data, fill, w->output[i].bytes) != cudaSuccess) return false;
    return run_once(t) && compare(t, &c) && c.bad == 0;
}

/* Finds a contender that adds to what its output holds, or that leaves out zeros, if only empty rows are wrong. It makes
 * NaN of NaN wherever it is wrong, and is right on an output of zeros. */
static bool needs_zeros(const trial *t, const comparison *c)
{
    return c->longest_bad > 0 && c->unwritten + c->not_finite == c->which_bad &&
           is_right_on(t, 0) && !is_right_on(t, 0xFF);
}

/* Whether two runs went wrong alike. Sums that are added up in another order may differ as far as
 * rounding goes. */
static bool same_errors(const comparison *a, const comparison *b)
{
    if (a->bad != b->bad || a->which != b->which || a->bad_rows != b->bad_rows ||
        a->bad_places != b->bad_places)
        return false;
    for (int i = 0; i < SHOWN_ERRORS && i < a->which_bad; i++) {
        const wrong_element *x = &a->shown[i], *y = &b->shown[i];
        const bool alike = (isnan(x->got) && isnan(y->got)) || x->got == y->got ||
                           fabs((double)x->got - y->got) <= 2 * x->bound;
        if (x->at != y->at || !alike) return false;
    }
    return true;
}

/* Whether one of three more runs from the same start goes wrong in another way. */
static bool results_vary(const trial *t, const comparison *first)
{
    comparison c;
    for (int i = 0; i < 3; i++) {
        if (workbench_poison(t->w) != cudaSuccess || !run_once(t) || !compare(t, &c)) return false;
        if (!same_errors(first, &c)) return true;
    }
    return false;
}

/* Judges the output: after the first run, after further ones on a fresh fill, or of the probe. */
enum when { FIRST_RUN, LATER_RUNS, PROBE_RUN };
static bool check(const trial *t, enum when when)
{
    static const char *const WHEN[] = {
        [FIRST_RUN] = "",
        [LATER_RUNS] = ", in later runs only",
        [PROBE_RUN] = ", with other inputs only: whole numbers, whose sums are exact",
    };
    outcome *out = t->out;
    const comparison *c = &out->comparison;
    char text[200];
    if (!compare(t, &out->comparison) || !surroundings_intact(t)) return false;
    if (c->bad == 0) return true;
    if (needs_zeros(t, c))
        return set_back(out, STATUS_WRONG, "does not zero the output: adds to what it held before");
    if (when == LATER_RUNS && c->unwritten == c->which_elements)
        return set_back(out, STATUS_WRONG, "later runs wrote nothing: the first result was kept");
    diagnose(t->reference->problem, c, text, sizeof text);
    return set_back(out, STATUS_WRONG, "%s%s%s", text, WHEN[when],
                    results_vary(t, c) ? "; results differ from run to run: a race?" : "");
}

static bool check_first_run(const trial *t)
{
    return device_ok(t, workbench_poison(t->w), "filling the output") && run_once(t) &&
           check(t, FIRST_RUN);
}

static bool check_later_runs(const trial *t, const contender *c)
{
    workbench *w = t->w;
    const bool timed = device_keeps_time() && w->options->bench && !contender_untimed(c);
    void *d_outputs[MAX_OUTPUTS];
    workbench_outputs(w, d_outputs);
    if (!device_ok(t, workbench_poison(w), "filling the output")) return false;
    const bool ran = timed ? run_timed(t, d_outputs) : run_once(t);
    return ran && check(t, w->options->check ? LATER_RUNS : FIRST_RUN);
}

/* Tells the contender of the values that are there now. */
static bool renew_values(trial *t, const contender *c, const int *tuning)
{
    double ms;
    cudaError_t e = t->op->update_values ? t->op->update_values(t->instance) : cudaSuccess;
    if (e != cudaErrorNotSupported) return device_ok(t, e, "update_values");
    t->op->release(t->instance);
    t->instance = NULL;
    t->out->prepared_anew = true;
    memcpy(t->out->tuning, tuning, contender_num_tunables(c) * sizeof *tuning);
    return device_ok(t, prepare_once(t, c, &ms), "prepare with other values");
}

/* One run more, of the probe, whose inputs take the place of the others meanwhile. Who may round sums or operands on
 * the way is left out: nothing that it makes need be exact. */
static bool check_probe(trial *t, const contender *c, const int *tuning)
{
    workbench *w = t->w;
    const problem *own = &w->probe.problem, *p = w->problem;
    void *d_inputs[MAX_OPERANDS];
    if (!w->probe.made || c->bound_factor > 1) return true;
    for (int i = 0; i < own->num_inputs; i++)
        d_inputs[i] = w->input[i].data;
    if (!device_ok(t, put_inputs(w, own, p), "uploading other inputs") ||
        !renew_values(t, c, tuning))
        return false;
    t->op->rebind(t->instance, d_inputs);
    const comparison before = t->out->comparison;
    t->reference = &w->probe.reference;
    const bool right = device_ok(t, workbench_poison(w), "filling the output") && run_once(t) &&
                       check(t, PROBE_RUN);
    t->reference = &w->reference;
    if (right) t->out->comparison = before; /* whose errors are those of rounding */
    return right && device_ok(t, put_inputs(w, p, own), "uploading the inputs again");
}

/* Repairs all that a contender wrote around its output or into its inputs: the next one is not blamed. */
static cudaError_t mend_surroundings(workbench *w)
{
    const problem *p = w->problem;
    for (int i = 0; i < p->num_inputs; i++)
        CUDA_TRY(guarded_mend(&w->input[i]));
    CUDA_TRY(put_inputs(w, p, NULL));
    for (int i = 0; i < p->num_outputs; i++)
        CUDA_TRY(guarded_mend(&w->output[i]));
    return cudaSuccess;
}

static bool can_run(const workbench *w, const contender *c, outcome *out)
{
    if (c->min_compute_capability > w->device->compute_capability)
        return set_back(out, STATUS_SKIPPED, "needs a GPU of compute capability %d.%d or newer",
                        c->min_compute_capability / 10, c->min_compute_capability % 10);
    const char *reason = c->unsuited ? c->unsuited(w->problem) : NULL;
    return !reason || set_back(out, STATUS_SKIPPED, "%s", reason);
}

void workbench_evaluate(workbench *w, const contender *c, const int *tuning, outcome *out)
{
    trial t = {.w = w, .op = c->operation, .reference = &w->reference, .out = out};
    *out = (outcome){.prepare_ms = NAN, .timing = NOT_TIMED, .untimed = contender_untimed(c)};
    memcpy(out->tuning, tuning, contender_num_tunables(c) * sizeof *tuning);
    (void)cudaGetLastError(); /* what an earlier contender left behind is not this one's */
    if (!can_run(w, c, out)) return;
    bool right = prepare(&t, c) && (!w->options->check || check_first_run(&t)) &&
                 check_later_runs(&t, c) && check_probe(&t, c, tuning);
    if (t.instance) {
        t.op->release(t.instance);
        right = right && device_ok(&t, cudaGetLastError(), "release");
    }
    if (right) return;
    out->timing = NOT_TIMED; /* a wrong result never has a time */
    out->prepare_ms = NAN;
    (void)cudaGetLastError();
    const cudaError_t mended = mend_surroundings(w);
    if (out->status != STATUS_RUNTIME) device_ok(&t, mended, "restoring the inputs");
}

/* ---- one contender under the instruments ------------------------------------------------------ */

static void name_arrays(const workbench *w, const instruments *all)
{
    const problem *p = w->problem;
    all->forget_names();
    for (int i = 0; i < p->num_inputs; i++)
        all->name_array(w->input[i].data, w->input[i].bytes, p->inputs[i].element,
                        p->inputs[i].name, true);
    for (int i = 0; i < p->num_outputs; i++)
        all->name_array(w->output[i].data, w->output[i].bytes,
                        precision_format(p->outputs[i].precision)->bytes, p->outputs[i].name,
                        false);
}

static bool run_traced(const trial *t, const instruments *all)
{
    workbench *w = t->w;
    /* The last contender's results do not help this one. */
    if (!device_ok(t, workbench_poison(w), "filling the output")) return false;
    for (int i = 0; i < w->problem->num_outputs && all->forget_contents; i++)
        all->forget_contents(w->output[i].data, w->output[i].bytes);
    all->begin(false, progress_within);
    const bool ran = run_once(t);
    all->end();
    return ran;
}

static bool prepare_traced(trial *t, const contender *c, const instruments *all)
{
    all->begin(true, progress_within);
    const bool prepared = prepare(t, c);
    all->end();
    return prepared;
}

/* Returns the accesses to the arrays, before a check looks at them itself. */
static seen_accesses take_seen(const workbench *w, const instruments *all)
{
    const problem *p = w->problem;
    seen_accesses seen = {.handed = all->handed && all->handed()};
    for (int i = 0; i < p->num_inputs && all->seen; i++)
        seen.read[i] = all->seen(w->input[i].data, w->input[i].bytes, SEEN_READ);
    for (int i = 0; i < p->num_outputs && all->seen; i++) {
        const guarded_array *out = &w->output[i];
        seen.stored[i] = all->seen(out->data, out->bytes, SEEN_STORED);
        seen.written[i] = all->seen(out->data, out->bytes, SEEN_WRITTEN);
    }
    return seen;
}

/* A finding is a failure even where the result is right: on a GPU it may not be. */
static void report_findings(outcome *out)
{
    const inspection *i = out->inspection;
    char before[sizeof out->message];
    if (!i || !i->num_findings) return;
    const finding *first = &i->findings[0];
    /* A launch that a finding has ended says nothing that the finding does not. */
    snprintf(before, sizeof before, "%s", out->status == STATUS_WRONG ? out->message : "");
    set_back(out, STATUS_WRONG, "%zu finding%s: %s at %.100s%s%.100s", i->num_findings,
             i->num_findings == 1 ? "" : "s, the first", first->kind, first->where,
             *before ? "; " : "", before);
}

/* Everything on the device is gone, and made again. */
static bool start_over(workbench *w)
{
    cudaDeviceReset();
    memset(w->input, 0, sizeof w->input);
    memset(w->output, 0, sizeof w->output);
    return upload(w) == cudaSuccess;
}

bool workbench_inspect(workbench *w, const contender *c, const int *tuning, outcome *out)
{
    const instruments *all = instruments_here();
    trial t = {.w = w, .op = c->operation, .reference = &w->reference, .out = out};
    char text[sizeof((finding *)0)->text];
    *out = (outcome){.prepare_ms = NAN, .timing = NOT_TIMED};
    memcpy(out->tuning, tuning, contender_num_tunables(c) * sizeof *tuning);
    (void)cudaGetLastError();
    if (!can_run(w, c, out)) return true;
    all->reset();
    name_arrays(w, all);
    bool right = prepare_traced(&t, c, all) && run_traced(&t, all);
    if (right && !options_sampled(w->options)) {
        const seen_accesses seen = take_seen(w, all);
        right = check(&t, FIRST_RUN);
        if (right && all->seen && accesses_hidden(w->problem, &seen, text, sizeof text))
            all->note_hidden(text);
    }
    out->inspection = inspection_take(all, w->options);
    if (!out->inspection) right = set_back(out, STATUS_MEMORY, "no memory for what was traced");
    if (t.instance) {
        t.op->release(t.instance);
        right = right && device_ok(&t, cudaGetLastError(), "release");
    }
    const bool lost = out->status == STATUS_RUNTIME;
    report_findings(out);
    if (out->status == STATUS_OK) return true;
    if (out->inspection) inspection_void(out->inspection);
    (void)cudaGetLastError();
    return lost ? start_over(w) : mend_surroundings(w) == cudaSuccess;
}
