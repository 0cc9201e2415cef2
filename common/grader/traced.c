#include "grader/attempt.h"
#include "grader/bench.h"
#include "grader/test_inputs.h"
#include "matrix/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- one run under the instruments ----------------------------------------------------------- */

/* *f says why, where it is false. */
static bool run_traced(const attempt *a, const char *program, int instruments, bench *b, int lab,
                       const char *settings, trace_report *report, found *f)
{
    remote r;
    char log[4096];
    double ms;
    const int first = 0;
    attempt_path(a, "log", log, sizeof log);
    const bool ran = remote_open(&r, program, instruments, log, a->patience) &&
                     bench_prepare(b, &r, lab, settings) &&
                     bench_run(b, &r, &first, 1, &ms, report) && bench_check(b, &r, 0, 0);
    if (!ran) *f = found_of(0, "%s", r.why);
    remote_close(&r);
    f->out_of_time = r.process.out_of_time;
    return ran;
}

static enum status open_traced(const attempt *a, const test *t, const char *spec, int width,
                               uint64_t secret, bench *b, error_text *error)
{
    csr_matrix A;
    int precision = 0;
    while (!(a->rubric->precisions & 1u << precision))
        precision++;
    enum status status = test_input_make(spec, secret, &A, error);
    if (status == STATUS_OK)
        status =
            bench_open(b, t->operation, &A, width, (enum precision)precision, 1, secret, error);
    return status;
}

/* ---- memcheck, racecheck --------------------------------------------------------------------- */

/* A place as the student knows it: without the folder that the grader compiles in. */
static const char *own_place(const attempt *a, const char *where)
{
    char tree[4096];
    attempt_path(a, "tree/", tree, sizeof tree);
    const size_t length = strlen(tree);
    return strncmp(where, tree, length) ? where : where + length;
}

static found judge_findings(const attempt *a, const trace_report *r, const problem *p)
{
    char kind[32], text[300], where[160];
    if (!r->num_findings && accesses_hidden(p, &r->seen, text, sizeof text))
        return found_of(0, "accesses hidden from the instruments: %s", text);
    if (!r->num_findings) return found_of(1, "%s", "");
    snprintf(kind, sizeof kind, "%.31s", r->findings[0].kind);
    snprintf(text, sizeof text, "%.299s", r->findings[0].text);
    snprintf(where, sizeof where, "%.159s", r->findings[0].where);
    remote_clean(kind);
    remote_clean(text);
    remote_clean(where);
    return found_of(0, "%lld finding%s: %s at %s: %s", (long long)r->num_findings,
                    r->num_findings == 1 ? "" : "s, the first", kind, own_place(a, where), text);
}

found attempt_findings(const attempt *a, const test *t, int instrument)
{
    const uint64_t secret = random_substream(a->secret, t->line);
    int widths[4];
    const int num_widths = attempt_widths(t->word[1], widths, 4);
    char program[4096];
    found f = found_of(1, "%s", "");
    attempt_program(a, "runner", true, program, sizeof program);
    for (int i = 0; i < num_widths && f.share == 1; i++) {
        bench b;
        error_text error;
        trace_report report = {.num_findings = 0};
        if (open_traced(a, t, t->word[0], widths[i], secret, &b, &error) != STATUS_OK)
            return found_of(NAN, "%.500s", error.text);
        const bool ran = run_traced(a, program, instrument, &b, a->lab, t->word[2], &report, &f);
        if (ran || report.num_findings) f = judge_findings(a, &report, &b.sides[0]);
        bench_close(&b);
    }
    return f;
}

/* ---- counters -------------------------------------------------------------------------------- */

typedef struct metric {
    const char *name;
    double (*value)(const counters *n);
} metric;

static double load_sectors(const counters *n)
{
    return (double)n->access[GLOBAL_LOAD].cost;
}
static double load_requests(const counters *n)
{
    return (double)n->access[GLOBAL_LOAD].requests;
}
static double load_sectors_per_request(const counters *n)
{
    return (double)n->access[GLOBAL_LOAD].cost / fmax(1, (double)n->access[GLOBAL_LOAD].requests);
}
static double store_sectors(const counters *n)
{
    return (double)n->access[GLOBAL_STORE].cost;
}
static double atomic_lanes(const counters *n)
{
    return (double)n->access[GLOBAL_ATOMIC].lanes;
}
static double bank_conflicts_of(const counters *n)
{
    double sum = 0;
    for (int k = SHARED_LOAD; k <= SHARED_ATOMIC; k++)
        sum += (double)(n->access[k].cost - n->access[k].ideal);
    return sum;
}
static double barriers(const counters *n)
{
    return (double)(n->operations[OP_BARRIER] + n->operations[OP_SYNCWARP]);
}
static double launches(const counters *n)
{
    return (double)n->launches;
}
static double longest_warp(const counters *n)
{
    return (double)n->longest_warp;
}

static const metric METRICS[] = {
    {"load_sectors", load_sectors},
    {"load_requests", load_requests},
    {"load_sectors_per_request", load_sectors_per_request},
    {"store_sectors", store_sectors},
    {"atomic_lanes", atomic_lanes},
    {"bank_conflicts", bank_conflicts_of},
    {"barriers", barriers},
    {"launches", launches},
    {"longest_warp", longest_warp},
};

static const metric *find_metric(const char *name)
{
    for (size_t i = 0; i < sizeof METRICS / sizeof METRICS[0]; i++)
        if (!strcmp(METRICS[i].name, name)) return &METRICS[i];
    return NULL;
}

/* Less than this no kernel can do that makes the results from its inputs: who reports less has not been
 * counting. Each element of an output is stored once, each value of A, if it has any, is read once, and
 * all of it in sight. */
static bool is_believable(const trace_report *r, const bench *b, char *why, size_t bytes)
{
    const problem *p = &b->sides[0];
    const counters *n = &r->run;
    const int64_t element = (int64_t)precision_format(p->precision)->bytes;
    const int64_t stored = n->access[GLOBAL_STORE].bytes + n->access[GLOBAL_ATOMIC].bytes;
    const int64_t values = b->A.values ? b->A.nnz * element : 0;
    int64_t results = 0;
    for (int i = 0; i < p->num_outputs; i++)
        results += (int64_t)output_bytes(&p->outputs[i]);
    snprintf(why, bytes, "the counters say less than the result takes");
    return n->launches > 0 && stored >= results && n->access[GLOBAL_LOAD].bytes >= values &&
           !accesses_hidden(p, &r->seen, why, bytes);
}

found attempt_counter(const attempt *a, const test *t)
{
    const uint64_t secret = random_substream(a->secret, t->line);
    const metric *m = find_metric(t->word[0]);
    const double factor = strtod(t->word[1], NULL);
    char own[4096], other[4096];
    int width;
    bench b;
    error_text error;
    trace_report got, want;
    found f = found_of(0, "%s", ""), failed;
    char why[300];
    if (!m) return found_of(NAN, "there is no counter '%s'", t->word[0]);
    attempt_program(a, "runner", true, own, sizeof own);
    attempt_program(a, "reference", true, other, sizeof other);
    if (attempt_widths(t->word[3], &width, 1) != 1)
        return found_of(NAN, "%s: no width", t->word[3]);
    if (open_traced(a, t, t->word[2], width, secret, &b, &error) != STATUS_OK)
        return found_of(NAN, "%.500s", error.text);
    if (!run_traced(a, other, INSTRUMENT_COUNTERS, &b, a->lab, t->word[4], &want, &failed))
        f = found_of(NAN, "the reference: %s", failed.text);
    else if (!run_traced(a, own, INSTRUMENT_COUNTERS, &b, a->lab, t->word[4], &got, &f))
        ;
    else if (!is_believable(&got, &b, why, sizeof why))
        f = found_of(0, "%s: the counters are not believed", why);
    else {
        const double mine = m->value(&got.run), least = m->value(&want.run);
        f = found_of(mine <= factor * least ? 1 : 0, "%.6g, the reference %.6g, allowed %.6g", mine,
                     least, factor * least);
    }
    bench_close(&b);
    return f;
}
