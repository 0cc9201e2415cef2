#include "epilogue.h"

#include "harness/workbench.h"
#include "matrix/random.h"
#include "matrix/shapes.h"
#include "ops/rounding.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

epilogue_mutants EPILOGUE_MUTANTS;

enum { B_DENSE = 3 }; /* place among the inputs of SpMM */

static const options CHECK_ONLY = {.check = true, .bench = false, .seed = 1};

/* Epilogue of a problem, on host and device. */
typedef struct asked {
    bool has_bias, relu;
    float *bias; /* of each row */
    float *d_bias;
} asked;

static float bias_of(const asked *a, int64_t row)
{
    return a->has_bias ? a->bias[row] : 0;
}

/* c = max(0, sum + bias) in fp64. */
static double finished(const asked *a, int64_t row, double sum)
{
    const double c = sum + bias_of(a, row);
    return a->relu && c < 0 ? 0 : c;
}

/* Whole numbers have one right result, or two where the product is stored before the epilogue: then it is rounded twice.
 * Of others the epilogue adds the rounding of one sum in fp32, and ReLU makes no error larger. */
static bool is_right(const problem *p, const contender *c, const asked *a, int64_t row, double sum,
                     double bound, float got)
{
    const double want = finished(a, row, sum);
    if (p->whole) {
        const double twice = finished(a, row, precision_round(p->precision, (float)sum));
        return got == precision_round(p->precision, (float)want) ||
               (!spmm_of(c)->applies_epilogue &&
                got == precision_round(p->precision, (float)twice));
    }
    if (!spmm_of(c)->applies_epilogue) bound = rounding_stored(p->precision, sum, bound);
    bound += 2 * ROUNDOFF * (fabs(sum) + bound + fabs(bias_of(a, row)));
    return fabs(got - want) <= rounding_stored(p->precision, want, bound);
}

static const char *compare(const workbench *w, const contender *c, const asked *a)
{
    static char text[200];
    const problem *p = w->problem;
    problem exact = *p; /* whose oracle rounds no sum to 16 bits */
    exact.precision = PRECISION_FP32;
    double *sum = malloc(2 * (size_t)p->width * sizeof *sum), *bound = sum + p->width;
    snprintf(text, sizeof text, "%s", sum ? "" : "no memory for a row of sums");
    for (int64_t i = 0; i < p->A->rows && !*text; i++) {
        p->operation->oracle(&exact, 0, i, sum, bound);
        for (int j = 0; j < p->width && !*text; j++) {
            const float got = w->host_output[0][i * p->width + j];
            if (is_right(p, c, a, i, sum[j], bound[j], got)) continue;
            snprintf(text, sizeof text, "C[%lld][%d] = %.9g instead of %.9g%s%s%s", (long long)i, j,
                     got, finished(a, i, sum[j]), a->has_bias ? ", bias" : "",
                     a->relu ? ", ReLU" : "", p->whole ? ", whole numbers" : "");
        }
    }
    free(sum);
    return *text ? text : NULL;
}

/* With NaN in a row of B: rows of C that name it are NaN in that column, whatever the ReLU. */
static const char *look_for_nan(const workbench *w, int64_t spoilt)
{
    const problem *p = w->problem;
    const csr_matrix *A = p->A;
    for (int64_t i = 0; i < A->rows; i++)
        for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++)
            if (A->col_idx[k] == spoilt && !isnan(w->host_output[0][i * p->width]))
                return "a NaN was lost in the ReLU";
    return NULL;
}

/* One plan and run, which leaves C in host_output. */
static const char *run(workbench *w, const contender *c)
{
    void *d_inputs[MAX_OPERANDS], *d_outputs[MAX_OUTPUTS], *instance;
    int tuning[MAX_TUNABLES];
    for (int i = 0; i < w->problem->num_inputs; i++)
        d_inputs[i] = w->input[i].data;
    c->operation->choose(c, w->problem, tuning);
    if (c->operation->prepare(c, w->problem, d_inputs, tuning, &instance) != cudaSuccess)
        return "prepare failed";
    workbench_outputs(w, d_outputs);
    const bool ran = workbench_poison(w) == cudaSuccess &&
                     c->operation->run(instance, d_outputs, 0) == cudaSuccess &&
                     workbench_fetch(w) == cudaSuccess;
    c->operation->release(instance);
    return ran ? NULL : "run failed";
}

static const char *try_problem(problem *p, const contender *c, const device_info *device,
                               const asked *a)
{
    error_text error;
    workbench w;
    if (workbench_create(&w, &CHECK_ONLY, device, p, &error) != STATUS_OK) return "no workbench";
    p->epilogue = (row_epilogue){.d_bias = a->has_bias ? a->d_bias : NULL, .relu = a->relu};
    const char *wrong = run(&w, c);
    if (!wrong) wrong = compare(&w, c, a);
    if (!wrong && a->relu && !p->whole && p->A->nnz > 0) {
        const int32_t spoilt = p->A->col_idx[0];
        const size_t element = p->inputs[B_DENSE].element;
        const cudaError_t failed =
            cudaMemset((char *)w.input[B_DENSE].data + spoilt * p->width * element, 0xff, element);
        wrong = failed == cudaSuccess ? run(&w, c) : "no NaN in B";
        if (!wrong) wrong = look_for_nan(&w, spoilt);
    }
    workbench_destroy(&w);
    return wrong;
}

static bool make_bias(asked *a, const problem *p)
{
    const int64_t rows = p->A->rows;
    const uint64_t stream = random_substream(7, p->whole);
    a->bias = malloc((rows + 1) * sizeof *a->bias);
    a->d_bias = NULL;
    for (int64_t i = 0; i < rows && a->bias; i++)
        a->bias[i] = p->whole ? (float)((int)(random_bits(stream, i) % 9) - 4)
                              : 4 * random_symmetric(stream, i);
    return a->bias &&
           cudaMalloc((void **)&a->d_bias, (rows + 1) * sizeof *a->bias) == cudaSuccess &&
           cudaMemcpy(a->d_bias, a->bias, rows * sizeof *a->bias, cudaMemcpyHostToDevice) ==
               cudaSuccess;
}

/* Matrices that were multiplied since epilogue_failure began. */
static int tried;

static const char *try_matrix(const csr_matrix *A, int N, bool whole, const contender *c,
                              const device_info *device)
{
    error_text error;
    problem p = {.operation = c->operation,
                 .A = A,
                 .width = N,
                 .seed = 1,
                 .precision = c->precision,
                 .whole = whole};
    const char *wrong = "the problem cannot be made";
    if (row_stats_compute(A, &p.stats, &error) != STATUS_OK) return wrong;
    const enum status status = p.operation->create(&p, &error);
    if (status == STATUS_SKIPPED) return NULL; /* sums that this precision has not */
    if (status != STATUS_OK) return wrong;
    if (c->unsuited && c->unsuited(&p)) { /* it refuses */
        p.operation->destroy(&p);
        return NULL;
    }
    asked a = {0};
    wrong = make_bias(&a, &p) ? NULL : "no bias";
    tried++;
    for (int which = 1; which < 4 && !wrong; which++) {
        a.has_bias = which & 1;
        a.relu = which & 2;
        wrong = try_problem(&p, c, device, &a);
    }
    free(a.bias);
    cudaFree(a.d_bias);
    p.operation->destroy(&p);
    return wrong;
}

const char *epilogue_failure(const contender *c, const device_info *device)
{
    static const struct {
        const char *shape;
        int width;
    } TRIED[] = {{"everything at once", 36}, {"everything at once", 7}, {"one huge row", 64}};
    static char text[300];
    tried = 0;
    for (int whole = 0; whole < 2; whole++)
        for (size_t i = 0; i < sizeof TRIED / sizeof TRIED[0]; i++) {
            const shape *s = SHAPES;
            error_text error;
            csr_matrix A = {0};
            while (strcmp(s->name, TRIED[i].shape) != 0)
                s++;
            const bool made = s->make(&A, &error) == STATUS_OK;
            const char *wrong =
                made ? try_matrix(&A, TRIED[i].width, whole, c, device) : error.text;
            csr_free(&A);
            if (!wrong) continue;
            snprintf(text, sizeof text, "%s, N=%d: %.200s", s->name, TRIED[i].width, wrong);
            return text;
        }
    return tried || c->unsuited ? NULL : "nothing was tried";
}
