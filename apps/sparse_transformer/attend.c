#include "attend.h"

#include "baselines/cublas_status.h"
#include "harness/device.h"
#include "kernels.h"
#include "matrix/memory.h"
#include "ops/inputs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static size_t element(const attend *a)
{
    return precision_format(a->is.precision)->bytes;
}

size_t attend_stride(int rows, int heads, int d)
{
    return ((size_t)rows * heads * d + 127) / 128 * 128;
}

static size_t stride(const attend *a)
{
    return attend_stride(a->is.rows, a->is.heads, a->is.d);
}

/* ---- arrays ------------------------------------------------------------------------------------ */

void attend_plan_rooms(attend *a, const attend_settings *is, rooms *r)
{
    *a = (attend){.is = *is};
    const size_t n = (size_t)is->rows, pairs = n * n * is->heads;
    if (is->sparse) {
        rooms_add(r, "mask", (n + 1) * sizeof(int), (void **)&a->d_row_ptr);
        rooms_add(r, "mask", (size_t)is->mask->nnz * sizeof(int), (void **)&a->d_col_idx);
        rooms_add(r, "lse", n * is->heads * sizeof(float), (void **)&a->d_lse);
    } else {
        rooms_add(r, "logits", pairs * element(a), &a->d_logits);
        if (!is->in_place) rooms_add(r, "shares", pairs * element(a), &a->d_shares);
        if (is->mask)
            rooms_add(r, "mask", n * mask_words(is->rows) * sizeof(uint32_t),
                      (void **)&a->d_allowed);
    }
    if (is->precision != PRECISION_FP32)
        rooms_add(r, "copies in 16 bits", 4 * stride(a) * element(a), &a->d_narrow);
}

/* ---- opening ----------------------------------------------------------------------------------- */

static enum status upload(void *to, const void *from, size_t bytes, error_text *error)
{
    const cudaError_t e = cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice);
    return e == cudaSuccess ? STATUS_OK : device_fail(e, "uploading the mask", error);
}

static enum status upload_bits(attend *a, error_text *error)
{
    const csr_matrix *A = a->is.mask;
    const size_t words = mask_words(a->is.rows), bytes = A->rows * words * sizeof(uint32_t);
    enum status status = memory_check((int64_t)bytes, "the mask", error);
    if (status != STATUS_OK) return status;
    uint32_t *bits = calloc(A->rows * words, sizeof *bits);
    if (!bits) return fail(error, STATUS_MEMORY, "no memory for the mask");
    for (int64_t i = 0; i < A->rows; i++)
        for (int64_t z = A->row_ptr[i]; z < A->row_ptr[i + 1]; z++)
            bits[i * words + A->col_idx[z] / 32] |= UINT32_C(1) << A->col_idx[z] % 32;
    status = upload(a->d_allowed, bits, bytes, error);
    free(bits);
    return status;
}

static enum status upload_pattern(attend *a, error_text *error)
{
    const csr_matrix *A = a->is.mask;
    int32_t *row_ptr = dataset_offsets(A);
    if (!row_ptr) return fail(error, STATUS_MEMORY, "no memory for the mask");
    enum status status =
        upload(a->d_row_ptr, row_ptr, ((size_t)A->rows + 1) * sizeof *row_ptr, error);
    free(row_ptr);
    if (status == STATUS_OK)
        status = upload(a->d_col_idx, A->col_idx, (size_t)A->nnz * sizeof *A->col_idx, error);
    return status;
}

static enum status prepare(attend *a, error_text *error)
{
    const attention_contender *c = a->is.sparse;
    const csr_matrix *A = a->is.mask;
    const problem p = {.operation = &attention_operation, .A = A, .width = a->is.d};
    const char *why = c->base.unsuited ? c->base.unsuited(&p) : NULL;
    if (why) return fail(error, STATUS_SKIPPED, "%s: %s", c->base.name, why);
    a->plan = (attention_plan){
        .A = {.rows = (int)A->rows,
              .cols = (int)A->cols,
              .nnz = (int)A->nnz,
              .d_row_ptr = a->d_row_ptr,
              .d_col_idx = a->d_col_idx,
              .host = A,
              .stats = a->is.stats},
        .d = a->is.d,
        .heads = a->is.heads,
        .mode = ATTENTION_DOT,
        .scale = (float)(1 / sqrt((double)a->is.d)),
    };
    contender_initial_tuning(&c->base, a->plan.tuning);
    if (c->choose) c->choose(a->is.stats, a->is.d, a->plan.tuning);
    a->plan.contender = c;
    const cudaError_t e = c->prepare ? c->prepare(&a->plan) : cudaSuccess;
    if (e == cudaSuccess) return STATUS_OK;
    a->plan.contender = NULL; /* there is nothing to release */
    return device_fail(e, c->base.name, error);
}

enum status attend_open(attend *a, error_text *error)
{
    if (!a->is.sparse) return a->is.mask ? upload_bits(a, error) : STATUS_OK;
    if (a->is.mask->nnz * a->is.heads > MAX_NNZ)
        return fail(error, STATUS_MEMORY, "%lld scores need 64-bit offsets; try fewer heads",
                    (long long)a->is.mask->nnz * a->is.heads);
    enum status status = upload_pattern(a, error);
    return status == STATUS_OK ? prepare(a, error) : status;
}

size_t attend_plan_bytes(const attend *a)
{
    const attention_contender *c = a->plan.contender;
    return c && c->workspace_bytes ? c->workspace_bytes(&a->plan) : 0;
}

void attend_close(attend *a)
{
    const attention_contender *c = a->plan.contender;
    if (c && c->release) c->release(&a->plan);
    a->plan.contender = NULL;
}

/* ---- running ----------------------------------------------------------------------------------- */

/* In cuBLAS's order of columns an array [rows][heads][d] holds, for each head, a matrix d x rows whose columns are heads * d
 * numbers apart. logits[h] is rows x rows, and its columns are queries. */
static cudaError_t run_dense(const attend *a, cublasHandle_t cublas, const void *Q, const void *K,
                             const void *V, void *O, watcher *w)
{
    const int n = a->is.rows, H = a->is.heads, d = a->is.d, node = H * d;
    const long long pairs = (long long)n * n;
    const cudaDataType type = a->is.precision == PRECISION_FP32 ? CUDA_R_32F : CUDA_R_16F;
    const float scale = (float)(1 / sqrt((double)d)), one = 1, zero = 0;
    void *const shares = a->is.in_place ? a->d_logits : a->d_shares;
    CUBLAS_TRY(cublasGemmStridedBatchedEx(cublas, CUBLAS_OP_T, CUBLAS_OP_N, n, n, d, &scale, K,
                                          type, node, d, Q, type, node, d, &zero, a->d_logits, type,
                                          n, pairs, H, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
    CUDA_TRY(part_done(w, PART_LOGITS));
    CUDA_TRY(masked_softmax(a->is.precision, n, H, a->d_allowed, a->d_logits, shares));
    CUDA_TRY(part_done(w, PART_SOFTMAX));
    CUBLAS_TRY(cublasGemmStridedBatchedEx(cublas, CUBLAS_OP_N, CUBLAS_OP_N, d, n, n, &one, V, type,
                                          node, d, shares, type, n, pairs, &zero, O, type, node, d,
                                          H, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
    return part_done(w, PART_SUM);
}

static cudaError_t run_any(const attend *a, cublasHandle_t cublas, const void *Q, const void *K,
                           const void *V, void *O, watcher *w)
{
    if (!a->is.sparse) return run_dense(a, cublas, Q, K, V, O, w);
    const attention_inputs in = {.Q = Q, .K = K, .V = V};
    CUDA_TRY(a->is.sparse->run(&a->plan, &in, O, a->d_lse, NULL));
    return part_done(w, PART_ATTENTION);
}

cudaError_t attend_run(const attend *a, cublasHandle_t cublas, const float *qkv, float *O,
                       watcher *w)
{
    const size_t step = stride(a), count = (size_t)a->is.rows * a->is.heads * a->is.d;
    if (a->is.precision == PRECISION_FP32)
        return run_any(a, cublas, qkv, qkv + step, qkv + 2 * step, O, w);
    char *const narrow = a->d_narrow;
    const size_t bytes = step * element(a);
    CUDA_TRY(narrow_to_fp16(2 * step + count, qkv, narrow));
    CUDA_TRY(part_done(w, PART_CAST));
    CUDA_TRY(run_any(a, cublas, narrow, narrow + bytes, narrow + 2 * bytes, narrow + 3 * bytes, w));
    CUDA_TRY(widen_from_fp16(count, narrow + 3 * bytes, O));
    return part_done(w, PART_CAST);
}
