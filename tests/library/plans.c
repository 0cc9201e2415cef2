/*
 * plans.c - a program outside the suite, linked to the library alone: every operation by the public header, against
 * sums that are formed here; what is refused, and how; several threads. Prints TAP. tests/cli/lib.bats builds it.
 */
#include <math.h>
#include <pthread.h>
#include <sparse_plan.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 70, COLS = 50, NNZ_MOST = 3000, WIDTH = 12, HEADS = 2 };

/* Names that the suite has, too. */
int fail(void);
int fail(void)
{
    return 1;
}
int contenders = 7, tests, failures;

static void report(int ok, const char *what)
{
    if (!ok) failures += fail();
    printf("%sok %d - %s\n", ok ? "" : "not ", ++tests, what);
    if (!ok && *sparse_error_text()) printf("# last error: %s\n", sparse_error_text());
}

static int64_t row_ptr[ROWS + 1];
static int32_t col_idx[NNZ_MOST];
static int nnz;

/* Row i has i * 7 % 23 columns, every third row none; what stands where is a mess, and repeats. */
static void make_pattern(void)
{
    for (int i = 0; i < ROWS; i++) {
        const int length = i % 3 == 2 ? 0 : i == 0 ? 400 : i * 7 % 23;
        for (int k = 0; k < length; k++)
            col_idx[nnz++] = (i * 31 + k * 17) % COLS;
        row_ptr[i + 1] = nnz;
    }
}

/* An array that host and device have; numbers are multiples of 1/8 from -1 to 1, so that sums are exact. */
typedef struct pair {
    float *host, *device;
    size_t bytes;
} pair;

static pair pair_of(size_t count, unsigned seed)
{
    pair p = {malloc(count * sizeof(float) + 1), NULL, count * sizeof(float)};
    for (size_t i = 0; i < count; i++) {
        seed = seed * 1664525 + 1013904223;
        p.host[i] = (float)((int)(seed >> 16) % 9 - 4) / 8;
    }
    cudaMalloc((void **)&p.device, p.bytes + 1);
    cudaMemcpy(p.device, p.host, p.bytes, cudaMemcpyHostToDevice);
    return p;
}

static void fetch(pair *p)
{
    cudaMemcpy(p->host, p->device, p->bytes, cudaMemcpyDeviceToHost);
}

/* For results of exponentials and divisions; sums are compared exactly. */
static int is_near(double got, double want)
{
    return fabs(got - want) <= 1e-4 * (1 + fabs(want));
}

/* ---- operations ------------------------------------------------------------------------------ */

/* C = A * B or, with a bias, max(0, A * B + bias). */
static int product_is_right(sparse_plan *plan, const pair *values, const pair *B, const pair *bias,
                            pair *C)
{
    memset(C->host, 0xff, C->bytes);
    cudaMemcpy(C->device, C->host, C->bytes, cudaMemcpyHostToDevice);
    if (sparse_plan_run(plan, (const void *[]){B->device}, (void *[]){C->device}, NULL)) return 0;
    fetch(C);
    for (int i = 0; i < ROWS; i++)
        for (int f = 0; f < WIDTH; f++) {
            double sum = bias ? bias->host[i] : 0;
            for (int64_t k = row_ptr[i]; k < row_ptr[i + 1]; k++)
                sum += values->host[k] * B->host[col_idx[k] * WIDTH + f];
            if (bias && sum < 0) sum = 0;
            if (C->host[i * WIDTH + f] != sum) return 0;
        }
    return 1;
}

static int spmm_is_right(sparse_plan *plan, const pair *values, const pair *B, pair *C)
{
    return product_is_right(plan, values, B, NULL, C);
}

/* Every kernel, with a bias and a ReLU; and an operation that has none. */
static void test_epilogue(sparse_matrix *A, const pair *values)
{
    pair B = pair_of(COLS * WIDTH, 2), C = pair_of(ROWS * WIDTH, 3), bias = pair_of(ROWS, 4);
    sparse_request r = {.operation = "spmm",
                        .width = WIDTH,
                        .values = values->device,
                        .bias = bias.device,
                        .relu = 1};
    sparse_plan *plan;
    int ok = 1, ran = 0;
    for (int i = 0; i == 0 || sparse_kernel_name("spmm", SPARSE_FP32, i - 1); i++) {
        r.kernel = i ? sparse_kernel_name("spmm", SPARSE_FP32, i - 1) : NULL;
        const enum sparse_status status = sparse_plan_create(A, &r, &plan);
        if (status == SPARSE_UNSUITED && i) continue;
        ok = ok && status == SPARSE_OK && product_is_right(plan, values, &B, &bias, &C);
        sparse_plan_destroy(plan);
        ran++;
    }
    report(ok && ran > 10, "spmm: max(0, A B + bias), by the rule and every kernel");
    r.operation = "transposed_spmm";
    r.kernel = NULL;
    report(sparse_plan_create(A, &r, &plan) == SPARSE_INVALID &&
               strstr(sparse_error_text(), "no bias"),
           "an operation without an epilogue refuses a bias");
}

/* Every kernel, and the rule; values that change. */
static void test_spmm(sparse_matrix *A, pair *values)
{
    pair B = pair_of(COLS * WIDTH, 2), C = pair_of(ROWS * WIDTH, 3);
    sparse_request r = {.operation = "spmm", .width = WIDTH, .values = values->device};
    int ok = 1, ran = 0;
    for (int i = 0; i == 0 || sparse_kernel_name("spmm", SPARSE_FP32, i - 1); i++) {
        sparse_plan *plan;
        r.kernel = i ? sparse_kernel_name("spmm", SPARSE_FP32, i - 1) : NULL;
        const enum sparse_status status = sparse_plan_create(A, &r, &plan);
        if (status == SPARSE_UNSUITED && i) continue;
        ok = ok && status == SPARSE_OK && spmm_is_right(plan, values, &B, &C);
        for (int k = 0; k < nnz; k++)
            values->host[k] = -values->host[k] + 0.125f;
        cudaMemcpy(values->device, values->host, values->bytes, cudaMemcpyHostToDevice);
        ok = ok && sparse_plan_update_values(plan) == SPARSE_OK;
        ok = ok && spmm_is_right(plan, values, &B, &C);
        if (!ok) printf("# kernel %s\n", r.kernel ? r.kernel : sparse_plan_kernel(plan));
        sparse_plan_destroy(plan);
        ran++;
    }
    report(ok && ran > 10, "spmm: the rule and every kernel by name, before and after new values");
}

static void test_sddmm(sparse_matrix *A, const pair *values)
{
    pair X = pair_of(ROWS * WIDTH, 4), Y = pair_of(COLS * WIDTH, 5), D = pair_of(nnz, 6);
    for (int weighted = 0; weighted < 2; weighted++) {
        const sparse_request r = {
            .operation = "sddmm", .width = WIDTH, .values = weighted ? values->device : NULL};
        sparse_plan *plan;
        int ok = sparse_plan_create(A, &r, &plan) == SPARSE_OK &&
                 sparse_plan_run(plan, (const void *[]){X.device, Y.device}, (void *[]){D.device},
                                 NULL) == SPARSE_OK;
        fetch(&D);
        for (int i = 0; i < ROWS && ok; i++)
            for (int64_t k = row_ptr[i]; k < row_ptr[i + 1]; k++) {
                double sum = 0;
                for (int f = 0; f < WIDTH; f++)
                    sum += X.host[i * WIDTH + f] * Y.host[col_idx[k] * WIDTH + f];
                ok = ok && D.host[k] == sum * (weighted ? values->host[k] : 1);
            }
        report(ok, weighted ? "sddmm with weights" : "sddmm of a pattern");
        sparse_plan_destroy(plan);
    }
}

/* Shares of a row and head, from el and er. */
static double share(const pair *el, const pair *er, int row, int head, int64_t k)
{
    double sum = 0, own = 0;
    for (int64_t j = row_ptr[row]; j < row_ptr[row + 1]; j++) {
        const double x = el->host[row * HEADS + head] + er->host[col_idx[j] * HEADS + head];
        const double e = exp(x > 0 ? x : x * 0.2f);
        sum += e;
        if (j == k) own = e;
    }
    return own / sum;
}

static void test_attention(sparse_matrix *A)
{
    pair el = pair_of(ROWS * HEADS, 7), er = pair_of(COLS * HEADS, 8);
    pair V = pair_of(COLS * HEADS * WIDTH, 9), O = pair_of(ROWS * HEADS * WIDTH, 10);
    pair lse = pair_of(ROWS * HEADS, 11);
    const sparse_request r = {
        .operation = "attention", .width = WIDTH, .settings = "HEADS=2,MODE=gat"};
    sparse_plan *plan;
    int ok = sparse_plan_create(A, &r, &plan) == SPARSE_OK &&
             sparse_plan_run(plan, (const void *[]){el.device, er.device, V.device},
                             (void *[]){O.device, lse.device}, NULL) == SPARSE_OK;
    ok = ok && !strcmp(sparse_plan_input(plan, 1), "er") && !sparse_plan_input(plan, 3);
    ok = ok && !strcmp(sparse_plan_output(plan, 1), "lse") && !sparse_plan_output(plan, 2);
    fetch(&O);
    for (int i = 0; i < ROWS && ok; i++)
        for (int at = 0; at < HEADS * WIDTH; at++) {
            double sum = 0;
            for (int64_t k = row_ptr[i]; k < row_ptr[i + 1]; k++)
                sum += share(&el, &er, i, at / WIDTH, k) * V.host[col_idx[k] * HEADS * WIDTH + at];
            ok = ok && is_near(O.host[i * HEADS * WIDTH + at], sum);
        }
    report(ok, "attention, mode gat, two heads: the latest lab's");
    sparse_plan_destroy(plan);
}

/* With all scores 0, dV is a mean of dO over the rows of each column; the softmax says the same. */
static void test_backward_and_softmax(sparse_matrix *A)
{
    pair zero = pair_of(ROWS * WIDTH, 12), K = pair_of(COLS * WIDTH, 13),
         V = pair_of(COLS * WIDTH, 14);
    pair dO = pair_of(ROWS * WIDTH, 15), lse = pair_of(ROWS, 16), P = pair_of(nnz, 17);
    pair dQ = pair_of(ROWS * WIDTH, 18), dK = pair_of(COLS * WIDTH, 19),
         dV = pair_of(COLS * WIDTH, 20);
    sparse_plan *softmax, *backward;
    cudaMemset(zero.device, 0, zero.bytes);
    cudaMemset(P.device, 0, P.bytes);
    int ok = sparse_plan_create(A, &(sparse_request){.operation = "softmax", .width = 1},
                                &softmax) == SPARSE_OK &&
             sparse_plan_run(softmax, (const void *[]){P.device}, (void *[]){P.device, lse.device},
                             NULL) == SPARSE_OK;
    fetch(&P);
    for (int i = 0; i < ROWS; i++)
        for (int64_t k = row_ptr[i]; k < row_ptr[i + 1]; k++)
            ok = ok && is_near(P.host[k], 1. / (double)(row_ptr[i + 1] - row_ptr[i]));
    report(ok, "softmax of equal scores, in place");
    ok = sparse_plan_create(A, &(sparse_request){.operation = "attention_backward", .width = WIDTH},
                            &backward) == SPARSE_OK &&
         sparse_plan_run(
             backward,
             (const void *[]){zero.device, K.device, V.device, zero.device, dO.device, lse.device},
             (void *[]){dQ.device, dK.device, dV.device}, NULL) == SPARSE_OK;
    fetch(&dV);
    double want[COLS * WIDTH] = {0};
    for (int i = 0; i < ROWS; i++)
        for (int64_t k = row_ptr[i]; k < row_ptr[i + 1]; k++)
            for (int f = 0; f < WIDTH; f++)
                want[col_idx[k] * WIDTH + f] += P.host[k] * dO.host[i * WIDTH + f];
    for (int at = 0; at < COLS * WIDTH; at++)
        ok = ok && is_near(dV.host[at], want[at]);
    report(ok, "attention_backward: dV");
    sparse_plan_destroy(softmax);
    sparse_plan_destroy(backward);
}

/* C = A^T B by the transposed pattern and values. */
static void test_transposed(sparse_matrix *A, const pair *values)
{
    pair B = pair_of(ROWS * WIDTH, 21), C = pair_of(COLS * WIDTH, 22), of_T = pair_of(nnz, 23);
    sparse_matrix *T;
    sparse_plan *plan = NULL;
    double want[COLS * WIDTH] = {0};
    int ok = sparse_matrix_transpose(A, &T) == SPARSE_OK &&
             sparse_values_transpose(T, 4, values->device, of_T.device, NULL) == SPARSE_OK;
    ok = ok && sparse_matrix_rows(T) == COLS && sparse_matrix_cols(T) == ROWS &&
         sparse_matrix_nnz(T) == nnz;
    const sparse_request r = {.operation = "spmm", .width = WIDTH, .values = of_T.device};
    ok = ok && sparse_plan_create(T, &r, &plan) == SPARSE_OK &&
         sparse_plan_run(plan, (const void *[]){B.device}, (void *[]){C.device}, NULL) == SPARSE_OK;
    fetch(&C);
    for (int i = 0; i < ROWS; i++)
        for (int64_t k = row_ptr[i]; k < row_ptr[i + 1]; k++)
            for (int f = 0; f < WIDTH; f++)
                want[col_idx[k] * WIDTH + f] += values->host[k] * B.host[i * WIDTH + f];
    for (int at = 0; at < COLS * WIDTH; at++)
        ok = ok && C.host[at] == want[at];
    report(ok, "a transposed product");
    sparse_plan_destroy(plan);
    plan = NULL;
    cudaMemset(C.device, 0xff, C.bytes);
    const sparse_request direct = {
        .operation = "transposed_spmm", .width = WIDTH, .values = values->device};
    ok = sparse_plan_create(A, &direct, &plan) == SPARSE_OK &&
         sparse_plan_run(plan, (const void *[]){B.device}, (void *[]){C.device}, NULL) == SPARSE_OK;
    fetch(&C);
    for (int at = 0; at < COLS * WIDTH; at++)
        ok = ok && C.host[at] == want[at];
    report(ok, "transposed_spmm");
    sparse_plan *through = NULL;
    const sparse_request in_place = {.operation = "transposed_spmm",
                                     .kernel = "transposed_spmm",
                                     .settings = "WAY=through",
                                     .width = WIDTH,
                                     .values = values->device};
    report(sparse_plan_create(A, &in_place, &through) == SPARSE_OK &&
               sparse_plan_move_values(plan, NULL) == SPARSE_OK &&
               sparse_plan_move_values(through, NULL) == SPARSE_UNSUITED &&
               sparse_plan_move_values(NULL, NULL) == SPARSE_INVALID,
           "values on their way alone: of a plan that moves them, and of one that reads them in "
           "place");
    sparse_plan_destroy(through);
    report(sparse_values_transpose(A, 4, values->device, of_T.device, NULL) == SPARSE_INVALID &&
               sparse_values_transpose(T, 8, values->device, of_T.device, NULL) == SPARSE_INVALID,
           "values of a matrix that is not transposed, or of 8 bytes");
    sparse_plan_destroy(plan);
    sparse_matrix_destroy(T);
}

/* ---- refusals -------------------------------------------------------------------------------- */

/* Three blocks of 8 on the diagonal, numbered from the first on: y = W^T x, and the gradient of W. */
static void test_blocks(void)
{
    enum { SIDE = 8, BLOCKS = 3, TOKENS = 5, FEATURES = SIDE * BLOCKS };
    static const int64_t diagonal_ptr[] = {0, 1, 2, 3};
    static const int32_t diagonal[] = {0, 1, 2};
    sparse_matrix *layout;
    sparse_plan *product = NULL, *update = NULL;
    pair W = pair_of(BLOCKS * SIDE * SIDE, 5), X = pair_of(FEATURES * TOKENS, 6);
    pair Y = pair_of(FEATURES * TOKENS, 7), dW = pair_of(BLOCKS * SIDE * SIDE, 8);
    const sparse_request forward = {.operation = "bsmm", .width = TOKENS, .settings = "BLOCK=8"};
    const sparse_request gradient = {
        .operation = "bsmm_update", .width = TOKENS, .settings = "BLOCK=8"};
    int ok = sparse_matrix_create(BLOCKS, BLOCKS, diagonal_ptr, diagonal, &layout) == SPARSE_OK &&
             sparse_plan_create(layout, &forward, &product) == SPARSE_OK &&
             sparse_plan_create(layout, &gradient, &update) == SPARSE_OK &&
             sparse_plan_run(product, (const void *[]){W.device, X.device}, (void *[]){Y.device},
                             0) == SPARSE_OK &&
             sparse_plan_run(update, (const void *[]){X.device, Y.device}, (void *[]){dW.device},
                             0) == SPARSE_OK;
    fetch(&Y);
    fetch(&dW);
    for (int k = 0; k < FEATURES && ok; k++)
        for (int t = 0; t < TOKENS; t++) {
            float sum = 0;
            for (int i = 0; i < SIDE; i++)
                sum += W.host[k / SIDE * 64 + i * SIDE + k % SIDE] *
                       X.host[(k / SIDE * SIDE + i) * TOKENS + t];
            ok &= sum == Y.host[k * TOKENS + t];
        }
    for (int e = 0; e < BLOCKS * 64 && ok; e++) {
        const int first = e / 64 * SIDE;
        float sum = 0;
        for (int t = 0; t < TOKENS; t++)
            sum += X.host[(first + e % 64 / SIDE) * TOKENS + t] *
                   Y.host[(first + e % SIDE) * TOKENS + t];
        ok &= sum == dW.host[e];
    }
    report(ok, "blocks on a diagonal, and their gradient");
    sparse_plan_destroy(product);
    sparse_plan_destroy(update);
    sparse_matrix_destroy(layout);
    pair *all[] = {&W, &X, &Y, &dW};
    for (int i = 0; i < 4; i++) {
        free(all[i]->host);
        cudaFree(all[i]->device);
    }
}

/* The request fails so, with that word in its text, and gives no plan. */
static void refused(sparse_matrix *A, enum sparse_status status, const char *word, sparse_request r)
{
    sparse_plan *plan = (sparse_plan *)A;
    char what[200];
    const int ok =
        sparse_plan_create(A, &r, &plan) == status && !plan && strstr(sparse_error_text(), word);
    snprintf(what, sizeof what, "refused: %s", word);
    report(ok, what);
    if (!ok) printf("# text: %s\n", sparse_error_text());
}

static void test_refusals(sparse_matrix *A, pair *values)
{
    const void *d = values->device;
    refused(A, SPARSE_INVALID, "no operation 'spmv'",
            (sparse_request){.operation = "spmv", .width = 1});
    refused(A, SPARSE_INVALID, "no operation ''", (sparse_request){.width = 1});
    refused(A, SPARSE_INVALID, "spmm: N = 0", (sparse_request){.operation = "spmm", .values = d});
    refused(A, SPARSE_INVALID, "softmax: H = 9",
            (sparse_request){.operation = "softmax", .width = 9});
    refused(A, SPARSE_INVALID, "spmm needs values",
            (sparse_request){.operation = "spmm", .width = 4});
    refused(A, SPARSE_INVALID, "takes no values",
            (sparse_request){.operation = "attention", .width = 4, .values = d});
    refused(A, SPARSE_UNSUITED, "no kernel 'fast' in fp32",
            (sparse_request){.operation = "spmm", .width = 4, .values = d, .kernel = "fast"});
    refused(A, SPARSE_INVALID, "no setting 'WIDE'",
            (sparse_request){.operation = "spmm", .width = 4, .values = d, .settings = "WIDE=1"});
    refused(A, SPARSE_INVALID, "HEADS has no value '99'",
            (sparse_request){.operation = "attention", .width = 4, .settings = "HEADS=99"});
    refused(A, SPARSE_INVALID, "no precision 7",
            (sparse_request){.operation = "spmm", .width = 4, .values = d, .precision = 7});
    sparse_matrix *wrong = A;
    const int64_t falling[] = {0, 5, 3}, ends_at_2[] = {0, 1, 2};
    const int32_t columns[] = {0, 9, 0, 0, 0};
    report(sparse_matrix_create(2, 9, falling, columns, &wrong) == SPARSE_INVALID && !wrong &&
               strstr(sparse_error_text(), "row 1"),
           "refused: offsets that decrease");
    report(sparse_matrix_create(2, 9, ends_at_2, columns, &wrong) == SPARSE_INVALID &&
               strstr(sparse_error_text(), "row 1"),
           "refused: a column that is none");
    sparse_plan *plan;
    sparse_plan_create(A, &(sparse_request){.operation = "spmm", .width = 4, .values = d}, &plan);
    report(sparse_plan_run(plan, (const void *[]){NULL}, (void *[]){values->device}, NULL) ==
                   SPARSE_INVALID &&
               strstr(sparse_error_text(), "spmm: B is NULL"),
           "refused: an input that is NULL");
    report(sparse_plan_run(plan, (const void *[]){d}, (void *[]){values->device + 1}, NULL) ==
                   SPARSE_INVALID &&
               strstr(sparse_error_text(), "spmm: C does not begin at a multiple of 256"),
           "refused: an output that no vector load fits");
    sparse_plan_destroy(plan);
    sparse_plan_destroy(NULL);
    sparse_matrix_destroy(NULL);
}

/* ---- threads --------------------------------------------------------------------------------- */

typedef struct job {
    sparse_matrix *A;
    const pair *values;
    unsigned seed;
    int ok;
} job;

/* Makes plans and runs them, on a stream of its own. */
static void *work(void *argument)
{
    job *j = argument;
    pair B = pair_of(COLS * WIDTH, j->seed), C = pair_of(ROWS * WIDTH, 1);
    const sparse_request r = {.operation = "spmm", .width = WIDTH, .values = j->values->device};
    for (int round = 0; round < 5 && j->ok; round++) {
        sparse_plan *plan;
        j->ok = sparse_plan_create(j->A, &r, &plan) == SPARSE_OK &&
                spmm_is_right(plan, j->values, &B, &C) &&
                sparse_plan_create(j->A, &(sparse_request){.operation = "none"},
                                   &(sparse_plan *){0}) == SPARSE_INVALID;
        sparse_plan_destroy(plan);
    }
    return NULL;
}

static void test_threads(sparse_matrix *A, const pair *values)
{
    enum { THREADS = 4 };
    pthread_t thread[THREADS];
    job jobs[THREADS];
    int ok = 1;
    sparse_plan *none;
    sparse_plan_create(A, &(sparse_request){.operation = "mine"}, &none);
    for (int i = 0; i < THREADS; i++) {
        jobs[i] = (job){A, values, 100 + i, 1};
        pthread_create(&thread[i], NULL, work, &jobs[i]);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(thread[i], NULL);
        ok = ok && jobs[i].ok;
    }
    report(ok, "four threads make and run plans on one matrix");
    report(strstr(sparse_error_text(), "'mine'") != NULL, "each thread has its own error text");
}

int main(void)
{
    sparse_matrix *A, *empty;
    sparse_plan *plan;
    make_pattern();
    pair values = pair_of(nnz, 1);
    if (sparse_matrix_create(ROWS, COLS, row_ptr, col_idx, &A) != SPARSE_OK) {
        printf("not ok 1 - the matrix: %s\n", sparse_error_text());
        return 1;
    }
    test_spmm(A, &values);
    test_epilogue(A, &values);
    test_sddmm(A, &values);
    test_attention(A);
    test_backward_and_softmax(A);
    test_blocks();
    test_transposed(A, &values);
    test_refusals(A, &values);
    test_threads(A, &values);
    report(sparse_matrix_create(0, 0, (int64_t[]){0}, NULL, &empty) == SPARSE_OK,
           "a matrix of nothing");
    sparse_matrix_destroy(empty);
    report(sparse_plan_create(
               A,
               &(sparse_request){.operation = "attention", .width = WIDTH, .kernel = "attention"},
               &plan) == SPARSE_OK &&
               sparse_plan_workspace_bytes(plan) >= 4 * (size_t)nnz,
           "lab 35's workspace: a score a nonzero, at least");
    sparse_plan_destroy(plan);
    sparse_matrix_destroy(A);
    report(contenders == 7, "the library takes no name of the program's");
    printf("1..%d\n", tests);
    return failures > 0;
}
