#include "tensor_core.h"

#include "matrix/generate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const options CHECK_ONLY = {.check = true, .bench = false, .seed = 1};

static enum status make_problem(const contender *c, const char *spec, int N, csr_matrix *A,
                                problem *p, error_text *error)
{
    char spelled[400];
    enum status status = generate(spec, A, spelled, sizeof spelled, error);
    *p = (problem){
        .operation = c->operation, .A = A, .width = N, .seed = 1, .precision = c->precision};
    if (status == STATUS_OK) status = row_stats_compute(A, &p->stats, error);
    return status == STATUS_OK ? p->operation->create(p, error) : status;
}

/* ---- weights ------------------------------------------------------------------------------------- */

static void evaluate(const contender *c, const device_info *device, const char *spec, int N,
                     char *text, size_t bytes)
{
    csr_matrix A = {0};
    problem p;
    workbench w;
    error_text error;
    enum status status = make_problem(c, spec, N, &A, &p, &error);
    if (status == STATUS_OK) status = workbench_create(&w, &CHECK_ONLY, device, &p, &error);
    if (status == STATUS_OK) {
        int tuning[MAX_TUNABLES];
        outcome out;
        c->operation->choose(c, &p, tuning);
        workbench_evaluate(&w, c, tuning, &out);
        if (out.status != STATUS_OK) snprintf(text, bytes, "%s, N=%d: %s", spec, N, out.message);
        workbench_destroy(&w);
    } else {
        snprintf(text, bytes, "%s, N=%d: %.300s", spec, N, error.text);
    }
    p.operation->destroy(&p);
    csr_free(&A);
}

const char *weights_failure(const contender *c, const device_info *device)
{
    static const int SIDES[][2] = {{64, 64}, {65, 129}, {130, 200}, {17, 300}, {600, 40}};
    static const int SPARSITIES[] = {0, 6, 47, 50, 99, 100};
    static const int WIDTHS[] = {1, 5, 8, 9, 12, 16, 17, 24, 31, 34, 48, 63, 65};
    static char text[500];
    char spec[100];
    int width = 0;
    *text = 0;
    for (size_t i = 0; i < sizeof SIDES / sizeof SIDES[0] && !*text; i++)
        for (size_t k = 0; k < sizeof SPARSITIES / sizeof SPARSITIES[0] && !*text; k++) {
            snprintf(spec, sizeof spec, "weights:rows=%d,cols=%d,sparsity=%g,kind=%s", SIDES[i][0],
                     SIDES[i][1], SPARSITIES[k] / 100., k % 2 ? "quota" : "uniform");
            for (int n = 0; n < 2 && !*text; n++)
                evaluate(c, device, spec, WIDTHS[width++ % 13], text, sizeof text);
        }
    return *text ? text : NULL;
}

/* ---- what fp16 and bf16 cannot hold ---------------------------------------------------------------- */

enum { B_DENSE = 3 }; /* place among the inputs of SpMM */

/* One run on what the inputs hold now: C, as floats. */
static bool run(const contender *c, const device_info *device, const problem *p, float *C)
{
    void *d_inputs[MAX_OPERANDS], *instance;
    int tuning[MAX_TUNABLES];
    workbench w;
    error_text error;
    void *d_outputs[MAX_OUTPUTS];
    if (workbench_create(&w, &CHECK_ONLY, device, p, &error) != STATUS_OK) return false;
    for (int i = 0; i < p->num_inputs; i++)
        d_inputs[i] = w.input[i].data;
    c->operation->choose(c, p, tuning);
    bool ran = c->operation->prepare(c, p, d_inputs, tuning, &instance) == cudaSuccess;
    if (ran) {
        workbench_outputs(&w, d_outputs);
        ran = workbench_poison(&w) == cudaSuccess &&
              c->operation->run(instance, d_outputs, 0) == cudaSuccess &&
              workbench_fetch(&w) == cudaSuccess;
        c->operation->release(instance);
        if (ran) memcpy(C, w.host_output[0], output_elements(&p->outputs[0]) * sizeof *C);
    }
    workbench_destroy(&w);
    return ran;
}

static void set_B(problem *p, int64_t row, int column, float x)
{
    precision_narrow(p->precision, &x,
                     (uint16_t *)p->inputs[B_DENSE].data + row * p->width + column, 1);
}

/* Whether A's row has a nonzero there; *sum: of the row. */
static bool look_at(const problem *p, const float *values, int64_t row, int64_t column, double *sum)
{
    bool there = false;
    *sum = 0;
    for (int64_t k = p->A->row_ptr[row]; k < p->A->row_ptr[row + 1]; k++) {
        there |= p->A->col_idx[k] == column;
        *sum += values[k];
    }
    return there;
}

/* Columns of B that are spoilt. */
static const float HUGE_NUMBER = 57344; /* 7 * 2^13, in fp16 and bf16; two of it overflow fp16 */
enum { NAN_COLUMN = 3, INF_COLUMN = 8, HUGE_COLUMN = 18, SPOILT_ROW = 70 };

/* Says what is wrong with row i of C in one of those columns, or NULL. */
static const char *judge_row(const problem *p, const float *values, const float *C, int64_t row)
{
    const double largest = precision_format(p->precision)->largest;
    double sum;
    const bool there = look_at(p, values, row, SPOILT_ROW, &sum);
    const float *c = C + row * p->width;
    if (there && !isnan(c[NAN_COLUMN])) return "NaN was lost";
    if (there && isfinite(c[INF_COLUMN])) return "infinity was lost";
    if (fabs(sum * HUGE_NUMBER) > 1.01 * largest && c[HUGE_COLUMN] != copysign(INFINITY, sum))
        return "a result that overflows is no infinity";
    if (fabs(sum * HUGE_NUMBER) < 0.99 * largest &&
        !(fabs(c[HUGE_COLUMN] - sum * HUGE_NUMBER) < 0.01 * largest))
        return "a result that does not overflow is wrong";
    return NULL;
}

static const char *compare(const problem *p, const float *values, const float *before,
                           const float *after)
{
    const char *wrong = NULL;
    for (int64_t i = 0; i < p->outputs[0].rows && !wrong; i++) {
        wrong = judge_row(p, values, after, i);
        for (int j = 0; j < p->width && !wrong; j++) {
            const bool spoilt = j == NAN_COLUMN || j == INF_COLUMN || j == HUGE_COLUMN;
            const size_t at = (size_t)(i * p->width + j);
            if (!spoilt && memcmp(&before[at], &after[at], sizeof *after) != 0)
                wrong = "another column changed";
        }
    }
    return wrong;
}

const char *extremes_failure(const contender *c, const device_info *device)
{
    enum { N = 20 };
    const char *wrong = "it does not run";
    csr_matrix A = {0};
    problem p;
    error_text error;
    if (make_problem(c, "weights:rows=100,cols=150,sparsity=0.5", N, &A, &p, &error) != STATUS_OK) {
        csr_free(&A);
        return "the problem cannot be made";
    }
    float *before = malloc(100 * N * sizeof *before), *after = malloc(100 * N * sizeof *after);
    float *values = malloc((size_t)A.nnz * sizeof *values);
    precision_widen(p.precision, p.inputs[2].data, values, (size_t)A.nnz);
    if (run(c, device, &p, before)) {
        set_B(&p, SPOILT_ROW, NAN_COLUMN, NAN);
        set_B(&p, SPOILT_ROW, INF_COLUMN, INFINITY);
        for (int64_t k = 0; k < A.cols; k++)
            set_B(&p, k, HUGE_COLUMN, HUGE_NUMBER);
        if (run(c, device, &p, after)) wrong = compare(&p, values, before, after);
    }
    free(before);
    free(after);
    free(values);
    p.operation->destroy(&p);
    csr_free(&A);
    return wrong;
}
