#include "attend.h"

#include "baselines/cublas_status.h"
#include "matrix/memory.h"
#include "training/try.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const char *const VARIANTS[NUM_VARIANTS] = {"three_steps", "one_pass", "dense",
                                                   "dense_one_pass"};
static const char *const PARTS[NUM_PARTS] = {"scores", "softmax", "sum"};

const char *variant_name(enum variant v)
{
    return VARIANTS[v];
}

const char *part_name(enum part p)
{
    return PARTS[p];
}

static bool is_one_pass(const attend_settings *is)
{
    return is->variant == ONE_PASS || is->variant == DENSE_ONE_PASS;
}

/* Whether features of a head lie apart: [d][heads][length]. */
static bool is_transposed(const attend *a)
{
    return a->is.variant == THREE_STEPS && a->is.precision != PRECISION_FP32;
}

static size_t element(const attend *a)
{
    return precision_format(a->is.precision)->bytes;
}

const char *attend_unsuited(attend_settings *is)
{
    const char *why = NULL;
    if (!is_one_pass(is)) return NULL;
    if (is->unit != NUM_ONE_PASS_UNITS)
        return one_pass_unsuited((enum one_pass_unit)is->unit, is->precision, is->pattern.block,
                                 is->d);
    for (int unit = 0; unit < NUM_ONE_PASS_UNITS; unit++) {
        why = one_pass_unsuited((enum one_pass_unit)unit, is->precision, is->pattern.block, is->d);
        is->unit = unit;
        if (!why) break;
    }
    return why;
}

/* ---- opening ----------------------------------------------------------------------------------- */

static void count_rooms(attend *a)
{
    const attend_settings *is = &a->is;
    const size_t bytes = attend_count(a) * element(a), blocks = pattern_blocks(&a->pattern);
    const size_t lists = is->variant == THREE_STEPS ? is->heads : 1;
    rooms_add(&a->rooms, "Q", bytes, &a->d_Q);
    rooms_add(&a->rooms, "K", bytes, &a->d_K);
    rooms_add(&a->rooms, "V", bytes, &a->d_V);
    rooms_add(&a->rooms, "O", bytes, &a->d_O);
    if (!is_one_pass(is)) rooms_add(&a->rooms, "scores", attend_score_bytes(a), &a->d_S);
    if (is->variant == DENSE) return;
    rooms_add(&a->rooms, "lists", (lists * pattern_side(&a->pattern) + 1) * sizeof(int),
              (void **)&a->d_row_ptr);
    rooms_add(&a->rooms, "lists", lists * blocks * sizeof(int), (void **)&a->d_list);
}

static enum status make_plan(const attend *a, const char *operation, const char *kernel,
                             const char *pass, sparse_plan **plan, error_text *error)
{
    char settings[48];
    snprintf(settings, sizeof settings, "BLOCK=%d%s", a->pattern.block, pass);
    const sparse_request r = {.operation = operation,
                              .kernel = kernel,
                              .settings = settings,
                              .precision = (enum sparse_precision)a->is.precision,
                              .width = a->is.d};
    TRY_PLAN(sparse_plan_create(a->matrix, &r, plan));
    return STATUS_OK;
}

static enum status upload_lists(const attend *a, const int *row_ptr, const int *list, int rows,
                                error_text *error)
{
    TRY_CUDA(cudaMemcpy(a->d_row_ptr, row_ptr, ((size_t)rows + 1) * sizeof *row_ptr,
                        cudaMemcpyHostToDevice));
    TRY_CUDA(cudaMemcpy(a->d_list, list, row_ptr[rows] * sizeof *list, cudaMemcpyHostToDevice));
    return STATUS_OK;
}

static enum status open_steps(attend *a, error_text *error)
{
    const csr_matrix *A = &a->A;
    TRY(pattern_make(&a->pattern, a->is.heads, &a->A, error));
    TRY(block_layout_make(A, &a->layout, error));
    TRY(upload_lists(a, a->layout.row_ptr, a->layout.of_row, a->layout.rows, error));
    TRY_PLAN(sparse_matrix_create(A->rows, A->cols, A->row_ptr, A->col_idx, &a->matrix));
    TRY(make_plan(a, "bsmm_update", NULL, "", &a->scores, error));
    return make_plan(a, "bsmm", a->is.product, ",PASS=bprop", &a->sum, error);
}

static enum status open_one_pass(attend *a, error_text *error)
{
    TRY(pattern_make(&a->pattern, 1, &a->A, error));
    TRY(block_layout_make(&a->A, &a->layout, error));
    return upload_lists(a, a->layout.row_ptr, a->A.col_idx, a->layout.rows, error);
}

/* Parts of a sum may not be added up in 16 bits, as cuBLAS else may where it cuts long sums: bounds are those of fp32 sums. */
static enum status open_dense(attend *a, error_text *error)
{
    const bool started =
        cublasCreate(&a->cublas) == CUBLAS_STATUS_SUCCESS &&
        cublasSetMathMode(a->cublas, CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION) ==
            CUBLAS_STATUS_SUCCESS;
    return started ? STATUS_OK : fail(error, STATUS_RUNTIME, "cuBLAS does not start");
}

static enum status open_arrays(attend *a, error_text *error)
{
    TRY(rooms_open(&a->rooms, variant_name(a->is.variant), "a smaller --length or fewer --heads",
                   error));
    if (is_one_pass(&a->is)) return open_one_pass(a, error);
    if (a->is.variant == THREE_STEPS) return open_steps(a, error);
    return open_dense(a, error);
}

enum status attend_open(attend *a, const attend_settings *is, error_text *error)
{
    const bool sparse = is->variant == THREE_STEPS || is->variant == ONE_PASS;
    *a = (attend){.is = *is, .pattern = sparse ? is->pattern : pattern_dense(&is->pattern)};
    count_rooms(a);
    const enum status status = open_arrays(a, error);
    if (status != STATUS_OK) attend_close(a);
    return status;
}

void attend_close(attend *a)
{
    sparse_plan_destroy(a->scores);
    sparse_plan_destroy(a->sum);
    sparse_matrix_destroy(a->matrix);
    if (a->cublas) cublasDestroy(a->cublas);
    block_layout_free(&a->layout);
    csr_free(&a->A);
    rooms_close(&a->rooms);
    *a = (attend){.is = a->is, .pattern = a->pattern};
}

size_t attend_bytes(const attend *a)
{
    size_t bytes = rooms_bytes(&a->rooms);
    if (a->scores) bytes += sparse_plan_workspace_bytes(a->scores);
    if (a->sum) bytes += sparse_plan_workspace_bytes(a->sum);
    return bytes;
}

size_t attend_score_bytes(const attend *a)
{
    const size_t L = a->pattern.length, B = a->pattern.block;
    if (is_one_pass(&a->is)) return 0;
    return a->is.heads * element(a) *
           (a->is.variant == DENSE ? L * L : pattern_blocks(&a->pattern) * B * B);
}

const char *attend_kernel(const attend *a, enum part part)
{
    if (a->is.variant == DENSE) return part == PART_SOFTMAX ? "own" : "cuBLAS";
    if (is_one_pass(&a->is))
        return part == PART_SUM ? one_pass_name((enum one_pass_unit)a->is.unit) : "";
    return part == PART_SOFTMAX ? "own"
                                : sparse_plan_kernel(part == PART_SCORES ? a->scores : a->sum);
}

/* ---- numbers ----------------------------------------------------------------------------------- */

/* to[c][r] = from[r][c] of a row-major matrix. */
static void transpose(const float *from, size_t rows, size_t cols, float *to)
{
#pragma omp parallel for schedule(static)
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < cols; c++)
            to[c * rows + r] = from[r * cols + c];
}

/* Room on the host for numbers in the order and the precision of the device. */
typedef struct staging {
    float *floats;
    void *narrow;
} staging;

static enum status staging_open(const attend *a, staging *s, error_text *error)
{
    const size_t count = attend_count(a);
    *s = (staging){NULL, NULL};
    TRY(memory_check((int64_t)(count * (sizeof(float) + element(a))), "copies of Q", error));
    *s = (staging){malloc(count * sizeof(float)), malloc(count * element(a))};
    if (s->floats && s->narrow) return STATUS_OK;
    free(s->floats);
    free(s->narrow);
    return fail(error, STATUS_MEMORY, "no memory for copies of Q");
}

static void staging_close(staging *s)
{
    free(s->floats);
    free(s->narrow);
}

static cudaError_t upload(const attend *a, const staging *s, const float *from, void *d_to)
{
    const size_t count = attend_count(a), d = a->is.d;
    if (!from) return cudaSuccess;
    if (is_transposed(a)) {
        transpose(from, count / d, d, s->floats);
        from = s->floats;
    }
    precision_narrow(a->is.precision, from, s->narrow, count);
    return cudaMemcpy(d_to, s->narrow, count * element(a), cudaMemcpyHostToDevice);
}

enum status attend_upload(const attend *a, const float *Q, const float *K, const float *V,
                          error_text *error)
{
    staging s;
    TRY(staging_open(a, &s, error));
    cudaError_t e = upload(a, &s, Q, a->d_Q);
    if (e == cudaSuccess) e = upload(a, &s, K, a->d_K);
    if (e == cudaSuccess) e = upload(a, &s, V, a->d_V);
    if (e == cudaSuccess) e = cudaMemset(a->d_O, 0xff, attend_count(a) * element(a));
    staging_close(&s);
    return e == cudaSuccess ? STATUS_OK : device_fail(e, "uploading Q, K and V", error);
}

enum status attend_fetch(const attend *a, float *O, error_text *error)
{
    const size_t count = attend_count(a), d = a->is.d;
    staging s;
    TRY(staging_open(a, &s, error));
    const cudaError_t e = cudaMemcpy(s.narrow, a->d_O, count * element(a), cudaMemcpyDeviceToHost);
    precision_widen(a->is.precision, s.narrow, is_transposed(a) ? s.floats : O, count);
    if (is_transposed(a)) transpose(s.floats, d, count / d, O);
    staging_close(&s);
    return e == cudaSuccess ? STATUS_OK : device_fail(e, "attention", error);
}

/* ---- running ----------------------------------------------------------------------------------- */

static float scale(const attend *a)
{
    return (float)(1 / sqrt((double)a->is.d));
}

static cudaDataType cuda_type(enum precision precision)
{
    return precision == PRECISION_FP32   ? CUDA_R_32F
           : precision == PRECISION_FP16 ? CUDA_R_16F
                                         : CUDA_R_16BF;
}

/* In cuBLAS's order of columns an array [length][d] is a matrix d x length, and scores [length][length] have a column a
 * query. */
static cudaError_t dense_scores(const attend *a)
{
    const int n = a->pattern.length, d = a->is.d;
    const long long each = (long long)n * d, pairs = (long long)n * n;
    const cudaDataType type = cuda_type(a->is.precision);
    const float one = 1, zero = 0;
    CUBLAS_TRY(cublasGemmStridedBatchedEx(
        a->cublas, CUBLAS_OP_T, CUBLAS_OP_N, n, n, d, &one, a->d_K, type, d, each, a->d_Q, type, d,
        each, &zero, a->d_S, type, n, pairs, a->is.heads, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
    return cudaSuccess;
}

static cudaError_t dense_sum(const attend *a)
{
    const int n = a->pattern.length, d = a->is.d;
    const long long each = (long long)n * d, pairs = (long long)n * n;
    const cudaDataType type = cuda_type(a->is.precision);
    const float one = 1, zero = 0;
    CUBLAS_TRY(cublasGemmStridedBatchedEx(
        a->cublas, CUBLAS_OP_N, CUBLAS_OP_N, d, n, n, &one, a->d_V, type, d, each, a->d_S, type, n,
        pairs, &zero, a->d_O, type, d, each, a->is.heads, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
    return cudaSuccess;
}

static cudaError_t run_softmax(const attend *a)
{
    const scores s = {.precision = a->is.precision,
                      .rows = a->is.heads * a->pattern.length,
                      .length = a->pattern.length,
                      .block = a->pattern.block,
                      .scale = scale(a),
                      .row_ptr = a->d_row_ptr,
                      .of_row = a->d_list,
                      .S = a->d_S};
    return softmax_rows(&s);
}

static cudaError_t run_one_pass(const attend *a)
{
    const one_pass p = {.unit = (enum one_pass_unit)a->is.unit,
                        .precision = a->is.precision,
                        .heads = a->is.heads,
                        .length = a->pattern.length,
                        .d = a->is.d,
                        .block = a->pattern.block,
                        .scale = scale(a),
                        .row_ptr = a->d_row_ptr,
                        .col = a->d_list,
                        .Q = a->d_Q,
                        .K = a->d_K,
                        .V = a->d_V,
                        .O = a->d_O};
    return one_pass_run(&p);
}

enum status attend_part(const attend *a, enum part part, error_text *error)
{
    const bool dense = a->is.variant == DENSE;
    if (is_one_pass(&a->is)) {
        if (part == PART_SUM) TRY_CUDA(run_one_pass(a));
    } else if (part == PART_SOFTMAX) {
        TRY_CUDA(run_softmax(a));
    } else if (dense) {
        TRY_CUDA(part == PART_SCORES ? dense_scores(a) : dense_sum(a));
    } else if (part == PART_SCORES) {
        TRY_PLAN(
            sparse_plan_run(a->scores, (const void *[]){a->d_Q, a->d_K}, (void *[]){a->d_S}, NULL));
    } else {
        TRY_PLAN(
            sparse_plan_run(a->sum, (const void *[]){a->d_S, a->d_V}, (void *[]){a->d_O}, NULL));
    }
    return STATUS_OK;
}

enum status attend_run(const attend *a, error_text *error)
{
    for (int part = 0; part < NUM_PARTS; part++)
        TRY(attend_part(a, (enum part)part, error));
    return STATUS_OK;
}
