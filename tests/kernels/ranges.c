#include "ranges.h"

#include "matrix/shapes.h"

#include <stdlib.h>
#include <string.h>

#define LIMIT "SPMM_TEST_RANGE_NONZEROS"

static const options CHECK_ONLY = {.check = true, .bench = false, .seed = 1};

/* Contenders whose sums of a row are formed in one order, whatever the other rows are: by name, in every precision. */
static bool adds_row_by_row(const contender *c)
{
    static const char *const NAMES[] = {"row_per_thread", "warp_per_row", "shared_tiles",
                                        "tuning",         "roma",         "subwarp"};
    bool does = false;
    for (size_t i = 0; i < sizeof NAMES / sizeof NAMES[0]; i++)
        does |= contender_find(c->operation, NAMES[i], c->precision) == c;
    return does;
}

static void set_limit(int64_t limit)
{
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)limit);
    setenv(LIMIT, text, 1);
}

/* The least limit that leaves five ranges or fewer, and no group of eight rows too long. */
static int64_t limit_for(const csr_matrix *A)
{
    enum { RANGES = 4, GROUP = 8 };
    int64_t longest = 1;
    for (int64_t i = 0; i < A->rows; i += GROUP) {
        const int64_t end = i + GROUP < A->rows ? i + GROUP : A->rows;
        if (A->row_ptr[end] - A->row_ptr[i] > longest) longest = A->row_ptr[end] - A->row_ptr[i];
    }
    return A->nnz / RANGES + longest;
}

/* The bytes of C of one run, with the settings that the contender chooses; NULL: it does not take the problem, or fails. */
static unsigned char *bytes_of_run(const contender *c, const device_info *device, const problem *p)
{
    void *d_inputs[MAX_OPERANDS], *d_outputs[MAX_OUTPUTS], *instance;
    int tuning[MAX_TUNABLES];
    workbench w;
    error_text error;
    if (workbench_create(&w, &CHECK_ONLY, device, p, &error) != STATUS_OK) return NULL;
    unsigned char *bytes = malloc(w.output[0].bytes + 1);
    bool ran = false;
    for (int i = 0; i < p->num_inputs; i++)
        d_inputs[i] = w.input[i].data;
    workbench_outputs(&w, d_outputs);
    c->operation->choose(c, p, tuning);
    if (bytes && c->operation->prepare(c, p, d_inputs, tuning, &instance) == cudaSuccess) {
        ran = workbench_poison(&w) == cudaSuccess &&
              c->operation->run(instance, d_outputs, 0) == cudaSuccess &&
              cudaMemcpy(bytes, w.output[0].data, w.output[0].bytes, cudaMemcpyDeviceToHost) ==
                  cudaSuccess;
        c->operation->release(instance);
    }
    workbench_destroy(&w);
    if (ran) return bytes;
    free(bytes);
    return NULL;
}

static enum status make_problem(const contender *c, const csr_matrix *A, int N, problem *p,
                                error_text *error)
{
    *p = (problem){
        .operation = c->operation, .A = A, .width = N, .seed = 1, .precision = c->precision};
    const enum status status = row_stats_compute(A, &p->stats, error);
    return status == STATUS_OK ? p->operation->create(p, error) : status;
}

/* Compares a run in ranges with one without them. */
static bool same_bits(const contender *c, const device_info *device, const problem *cut)
{
    error_text error;
    problem whole;
    unsigned char *of_ranges = bytes_of_run(c, device, cut), *of_one = NULL;
    unsetenv(LIMIT);
    if (make_problem(c, cut->A, cut->width, &whole, &error) == STATUS_OK && whole.num_ranges == 1)
        of_one = bytes_of_run(c, device, &whole);
    const bool same =
        of_ranges && of_one && !memcmp(of_ranges, of_one, output_bytes(&cut->outputs[0]));
    whole.operation->destroy(&whole);
    free(of_ranges);
    free(of_one);
    return same;
}

/* Tries one matrix at one width; what is wrong comes in `text`. Returns whether it was cut and multiplied. */
static bool try_one(const contender *c, const device_info *device, const csr_matrix *A, int N,
                    char *text, size_t bytes)
{
    problem p;
    workbench w;
    outcome out;
    error_text error;
    int tuning[MAX_TUNABLES];
    bool tried = false;
    set_limit(limit_for(A));
    enum status status = make_problem(c, A, N, &p, &error);
    if (status == STATUS_OK && p.num_ranges > 1 && !(c->unsuited && c->unsuited(&p))) {
        status = workbench_create(&w, &CHECK_ONLY, device, &p, &error);
        if (status == STATUS_OK) {
            c->operation->choose(c, &p, tuning);
            workbench_evaluate(&w, c, tuning, &out);
            tried = out.status != STATUS_SKIPPED;
            if (out.status != STATUS_OK && out.status != STATUS_SKIPPED)
                snprintf(text, bytes, "%d ranges: %s", p.num_ranges, out.message);
            workbench_destroy(&w);
            if (!*text && adds_row_by_row(c) && !same_bits(c, device, &p))
                snprintf(text, bytes, "%d ranges: other bits than without", p.num_ranges);
        }
    }
    if (status != STATUS_OK) snprintf(text, bytes, "%.300s", error.text);
    p.operation->destroy(&p);
    unsetenv(LIMIT);
    return tried;
}

const char *ranges_failure(const contender *c, const device_info *device)
{
    static const int WIDTHS[] = {
        32, 7, 33}; /* ranges begin at any row, and at multiples of four or eight */
    static char text[500];
    char wrong[400] = "";
    int tried = 0;
    *text = 0;
    for (int i = 0; i < NUM_SHAPES && !*text; i++) {
        csr_matrix A = {0};
        error_text error;
        const int N = WIDTHS[i % 3];
        if (SHAPES[i].make(&A, &error) != STATUS_OK)
            snprintf(wrong, sizeof wrong, "%.300s", error.text);
        else if (A.nnz * N <= 1000000)
            tried += try_one(c, device, &A, N, wrong, sizeof wrong);
        if (*wrong) snprintf(text, sizeof text, "%s, N=%d: %s", SHAPES[i].name, N, wrong);
        csr_free(&A);
    }
    if (!*text && !tried && !c->unsuited) snprintf(text, sizeof text, "no matrix was cut");
    return *text ? text : NULL;
}
