#include "training/linear.h"

#include "harness/timing.h"
#include "matrix/stats.h"
#include "models/in_place.h"
#include "training/linear_kernels.h"
#include "training/try.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct linear {
    int64_t rows, cols, nnz;
    int N;
    linear_kernels kernels;
    cublasHandle_t blas;
    float *W,
        *gradient; /* nnz numbers; of a dense layer rows * cols, of which those at `place` count */
    float *packed; /* nnz numbers: a gradient before it is added, or on the way to the host */
    int *place;    /* of a dense layer: where the nonzeros are */
    sparse_matrix *matrix;
    sparse_plan *forward, *transposed, *sddmm;
};

/* ---- the pattern ------------------------------------------------------------------------------- */

static void forget_pattern(linear *l)
{
    sparse_plan_destroy(l->forward);
    sparse_plan_destroy(l->transposed);
    sparse_plan_destroy(l->sddmm);
    sparse_matrix_destroy(l->matrix);
    l->forward = l->transposed = l->sddmm = NULL;
    l->matrix = NULL;
}

static enum status upload_places(linear *l, const csr_matrix *A, error_text *error)
{
    int *place = malloc((A->nnz + 1) * sizeof *place);
    if (!place) return fail(error, STATUS_MEMORY, "no memory for the places of weights");
    for (int64_t i = 0; i < A->rows; i++)
        for (int64_t z = A->row_ptr[i]; z < A->row_ptr[i + 1]; z++)
            place[z] = (int)(i * A->cols + A->col_idx[z]);
    const cudaError_t cuda =
        cudaMemcpy(l->place, place, A->nnz * sizeof *place, cudaMemcpyHostToDevice);
    free(place);
    return cuda == cudaSuccess ? STATUS_OK : device_fail(cuda, "the places of weights", error);
}

/* The weights are new in each step: a kernel with an own copy of them would make that anew, too. */
static enum status find_in_place(const linear *l, const csr_matrix *A, const char **name,
                                 error_text *error)
{
    row_stats stats;
    TRY(row_stats_compute(A, &stats, error));
    *name = IN_PLACE[in_place_fastest(&stats, l->N)];
    return STATUS_OK;
}

static enum status make_plans(linear *l, const csr_matrix *A, error_text *error)
{
    const linear_kernels *k = &l->kernels;
    sparse_request product = {
        .operation = "spmm", .kernel = k->spmm, .width = l->N, .values = l->W};
    if (!k->spmm) TRY(find_in_place(l, A, &product.kernel, error));
    TRY_PLAN(sparse_plan_create(l->matrix, &product, &l->forward));
    product.operation = "transposed_spmm";
    product.kernel = k->transposed;
    TRY_PLAN(sparse_plan_create(l->matrix, &product, &l->transposed));
    const sparse_request of_weights = {.operation = "sddmm", .kernel = k->sddmm, .width = l->N};
    TRY_PLAN(sparse_plan_create(l->matrix, &of_weights, &l->sddmm));
    return STATUS_OK;
}

/* Waits for the device before it looks at the clock. */
static enum status look(double *ms, error_text *error)
{
    TRY_CUDA(cudaDeviceSynchronize());
    *ms = wall_ms();
    return STATUS_OK;
}

static enum status take_pattern(linear *l, const csr_matrix *A, const float *values,
                                pattern_cost *cost, error_text *error)
{
    double begin = 0, uploaded = 0, end = 0;
    TRY(look(&begin, error));
    if (l->kernels.dense)
        TRY(upload_places(l, A, error));
    else
        TRY_PLAN(sparse_matrix_create(A->rows, A->cols, A->row_ptr, A->col_idx, &l->matrix));
    TRY(look(&uploaded, error));
    TRY(linear_set_values(l, values, error));
    if (!l->kernels.dense) TRY(make_plans(l, A, error));
    TRY(look(&end, error));
    if (cost) *cost = (pattern_cost){uploaded - begin, end - uploaded};
    return STATUS_OK;
}

/* ---- making and forgetting --------------------------------------------------------------------- */

static enum status make_arrays(linear *l, error_text *error)
{
    const bool dense = l->kernels.dense;
    const size_t packed = (l->nnz + 1) * sizeof(float);
    const size_t own = dense ? l->rows * l->cols * sizeof(float) : packed;
    TRY_CUDA(cudaMalloc((void **)&l->W, own));
    TRY_CUDA(cudaMalloc((void **)&l->gradient, own));
    TRY_CUDA(cudaMalloc((void **)&l->packed, packed));
    if (dense) TRY_CUDA(cudaMalloc((void **)&l->place, packed));
    /* NaN, so that no number is right that nobody wrote. */
    TRY_CUDA(cudaMemset(l->gradient, 0xff, own));
    TRY_CUDA(cudaMemset(l->packed, 0xff, packed));
    return STATUS_OK;
}

static enum status make(linear *l, const csr_matrix *A, const float *values, pattern_cost *cost,
                        error_text *error)
{
    TRY(make_arrays(l, error));
    return take_pattern(l, A, values, cost, error);
}

enum status linear_create(const csr_matrix *pattern, const float *values, int N,
                          const linear_kernels *kernels, cublasHandle_t blas, linear **made,
                          pattern_cost *cost, error_text *error)
{
    *made = NULL;
    if (kernels->dense && pattern->rows * pattern->cols > INT32_MAX)
        return fail(error, STATUS_MEMORY, "%lld x %lld weights with their zeros are too many",
                    (long long)pattern->rows, (long long)pattern->cols);
    linear *l = calloc(1, sizeof *l);
    if (!l) return fail(error, STATUS_MEMORY, "no memory for a layer");
    l->rows = pattern->rows;
    l->cols = pattern->cols;
    l->nnz = pattern->nnz;
    l->N = N;
    l->kernels = *kernels;
    l->blas = blas;
    const enum status status = make(l, pattern, values, cost, error);
    if (status == STATUS_OK)
        *made = l;
    else
        linear_destroy(l);
    return status;
}

void linear_destroy(linear *l)
{
    if (!l) return;
    forget_pattern(l);
    cudaFree(l->W);
    cudaFree(l->gradient);
    cudaFree(l->packed);
    cudaFree(l->place);
    free(l);
}

enum status linear_change_pattern(linear *l, const csr_matrix *pattern, const float *values,
                                  pattern_cost *cost, error_text *error)
{
    if (pattern->rows != l->rows || pattern->cols != l->cols || pattern->nnz != l->nnz)
        return fail(error, STATUS_RUNTIME, "a layer's new pattern has another size");
    forget_pattern(l);
    return take_pattern(l, pattern, values, cost, error);
}

/* ---- products ---------------------------------------------------------------------------------- */

/* C [m][n] = op(A) op(B), plus beta C, of row-major arrays: cuBLAS reads each as its transpose, so that the product is
 * C^T = op(B)^T op(A)^T. k is the inner dimension. */
static enum status multiply(const linear *l, int64_t m, int64_t n, int64_t k, const float *A,
                            bool turn_A, const float *B, bool turn_B, float beta, float *C,
                            error_text *error)
{
    const float one = 1;
    const cublasStatus_t status = cublasSgemm(
        l->blas, turn_B ? CUBLAS_OP_T : CUBLAS_OP_N, turn_A ? CUBLAS_OP_T : CUBLAS_OP_N, (int)n,
        (int)m, (int)k, &one, B, (int)(turn_B ? k : n), A, (int)(turn_A ? m : k), &beta, C, (int)n);
    return status == CUBLAS_STATUS_SUCCESS
               ? STATUS_OK
               : fail(error, STATUS_RUNTIME, "cublasSgemm failed with status %d", (int)status);
}

enum status linear_forward(const linear *l, const float *X, float *Y, error_text *error)
{
    if (l->kernels.dense)
        return multiply(l, l->rows, l->N, l->cols, l->W, false, X, false, 0, Y, error);
    TRY_PLAN(sparse_plan_run(l->forward, (const void *[]){X}, (void *[]){Y}, NULL));
    return STATUS_OK;
}

enum status linear_input_gradient(const linear *l, const float *dY, float *dX, error_text *error)
{
    if (l->kernels.dense)
        return multiply(l, l->cols, l->N, l->rows, l->W, true, dY, false, 0, dX, error);
    TRY_PLAN(sparse_plan_run(l->transposed, (const void *[]){dY}, (void *[]){dX}, NULL));
    return STATUS_OK;
}

enum status linear_weight_gradient(linear *l, const float *dY, const float *X, bool add,
                                   error_text *error)
{
    if (l->kernels.dense)
        return multiply(l, l->rows, l->cols, l->N, dY, false, X, true, add ? 1 : 0, l->gradient,
                        error);
    float *const to = add ? l->packed : l->gradient;
    TRY_PLAN(sparse_plan_run(l->sddmm, (const void *[]){dY, X}, (void *[]){to}, NULL));
    if (add) TRY_CUDA(weights_add(l->nnz, l->packed, l->gradient, NULL));
    return STATUS_OK;
}

enum status linear_full_gradient(const linear *l, const float *dY, const float *X, float *G,
                                 error_text *error)
{
    return multiply(l, l->rows, l->cols, l->N, dY, false, X, true, 0, G, error);
}

/* ---- values ------------------------------------------------------------------------------------ */

static enum status tell_plans(const linear *l, error_text *error)
{
    if (l->forward) TRY_PLAN(sparse_plan_update_values(l->forward));
    if (l->transposed) TRY_PLAN(sparse_plan_update_values(l->transposed));
    return STATUS_OK;
}

enum status linear_update(linear *l, float rate, error_text *error)
{
    TRY_CUDA(weights_update(l->nnz, l->place, rate, l->gradient, l->W, NULL));
    return tell_plans(l, error);
}

enum status linear_move_values(linear *l, error_text *error)
{
    if (l->kernels.dense) return fail(error, STATUS_SKIPPED, "a dense layer moves no values");
    TRY_PLAN(sparse_plan_move_values(l->transposed, NULL));
    return STATUS_OK;
}

enum status linear_set_values(linear *l, const float *values, error_text *error)
{
    const size_t bytes = l->nnz * sizeof *values;
    TRY_CUDA(cudaMemcpy(l->place ? l->packed : l->W, values, bytes, cudaMemcpyHostToDevice));
    if (l->place) {
        TRY_CUDA(cudaMemset(l->W, 0, l->rows * l->cols * sizeof *values));
        TRY_CUDA(weights_scatter(l->nnz, l->place, l->packed, l->W, NULL));
    }
    return tell_plans(l, error);
}

static enum status fetch(const linear *l, const float *from, float *to, error_text *error)
{
    if (l->place) TRY_CUDA(weights_gather(l->nnz, l->place, from, l->packed, NULL));
    TRY_CUDA(
        cudaMemcpy(to, l->place ? l->packed : from, l->nnz * sizeof *to, cudaMemcpyDeviceToHost));
    return STATUS_OK;
}

enum status linear_fetch_values(const linear *l, float *values, error_text *error)
{
    return fetch(l, l->W, values, error);
}

enum status linear_fetch_gradient(const linear *l, float *gradient, error_text *error)
{
    return fetch(l, l->gradient, gradient, error);
}

void linear_kernel_names(const linear *l, char *text, size_t bytes)
{
    if (l->kernels.dense)
        snprintf(text, bytes, "cublasSgemm");
    else
        snprintf(text, bytes, "%s, %s, %s", sparse_plan_kernel(l->forward),
                 sparse_plan_kernel(l->transposed), sparse_plan_kernel(l->sddmm));
}
