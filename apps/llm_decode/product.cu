#include "product.h"

#include "baselines/cublas_status.h"
#include "device/facts.h"
#include "device/split_sums.cuh"
#include "formats/lane_major_operand.cuh"
#include "formats/tca_bme.h"
#include "models/lane_major.h"
#include "ops/storage.h"

#include <algorithm>

#include <math.h>
#include <string.h>

static const char *const NAMES[NUM_KINDS] = {"dense", "bitmap", "lane_major"};

const char *kernel_name(enum kernel_kind kind)
{
    return NAMES[kind];
}

/* ---- making ------------------------------------------------------------------------------------ */

cudaError_t scratch_create(int most_rows, int64_t most_nonzeros, csr_scratch *s)
{
    *s = csr_scratch{};
    CUDA_TRY(cudaMalloc((void **)&s->d_row_ptr, ((size_t)most_rows + 1) * sizeof(int)));
    CUDA_TRY(cudaMalloc((void **)&s->d_col_idx, most_nonzeros * sizeof(int)));
    return cudaMalloc(&s->d_values, most_nonzeros * sizeof(__half));
}

void scratch_destroy(csr_scratch *s)
{
    cudaFree(s->d_row_ptr);
    cudaFree(s->d_col_idx);
    cudaFree(s->d_values);
    *s = csr_scratch{};
}

/* Statistics of rows that are all equally long. */
static row_stats stats_of(const weight_spec *w)
{
    row_stats s = {};
    s.rows = w->rows;
    s.cols = w->cols;
    s.nnz = (int64_t)w->rows * w->kept;
    s.max = w->kept;
    s.mean = w->kept;
    s.density = (double)w->kept / w->cols;
    for (int i = 0; i < ROW_QUANTILES; i++)
        s.quantile[i] = w->kept;
    return s;
}

static cudaError_t make_plan(product *p, int columns, row_epilogue epilogue,
                             const csr_scratch *scratch)
{
    const spmm_contender *const c = spmm_find(NAMES[p->kind], PRECISION_FP16);
    if (!c || c->base.min_compute_capability > device_facts_get()->compute_capability)
        return cudaErrorNotSupported;
    const row_stats stats = stats_of(&p->weights);
    p->plan.A.rows = p->weights.rows;
    p->plan.A.cols = p->weights.cols;
    p->plan.A.nnz = (int)stats.nnz;
    p->plan.A.d_row_ptr = scratch->d_row_ptr;
    p->plan.A.d_col_idx = scratch->d_col_idx;
    p->plan.A.d_values16 = scratch->d_values;
    p->plan.A.stats = &stats;
    p->plan.N = columns;
    p->plan.contender = c;
    if (spmm_applies_epilogue(c)) p->plan.epilogue = epilogue;
    spmm_choose(c, &stats, columns, p->plan.tuning);
    CUDA_TRY(
        weights_make_csr(&p->weights, scratch->d_row_ptr, scratch->d_col_idx, scratch->d_values));
    CUDA_TRY(c->prepare(&p->plan));
    /* CSR is the next product's from here on: who reads it would crash, and not be wrong. */
    p->plan.A.d_row_ptr = p->plan.A.d_col_idx = NULL;
    p->plan.A.d_values16 = NULL;
    p->plan.A.stats = NULL;
    return cudaDeviceSynchronize();
}

static cudaError_t make(product *p, int columns, row_epilogue epilogue, const csr_scratch *scratch)
{
    if (p->kind != KERNEL_DENSE) return make_plan(p, columns, epilogue, scratch);
    CUDA_TRY(cudaMalloc(&p->d_dense, (size_t)p->weights.rows * p->weights.cols * sizeof(__half)));
    CUDA_TRY(weights_make_dense(&p->weights, p->d_dense));
    return cudaDeviceSynchronize();
}

cudaError_t product_create(const weight_spec *w, enum kernel_kind kind, int columns,
                           row_epilogue epilogue, const csr_scratch *scratch, product *p)
{
    *p = product{};
    p->weights = *w;
    p->kind = kind;
    const cudaError_t error = make(p, columns, epilogue, scratch);
    if (error != cudaSuccess) product_destroy(p);
    return error;
}

void product_destroy(product *p)
{
    const spmm_contender *const c = p->plan.contender;
    if (c && c->release && p->plan.state) c->release(&p->plan);
    cudaFree(p->d_dense);
    *p = product{};
}

double product_bytes(const product *p)
{
    if (p->kind == KERNEL_DENSE) return 2.0 * p->weights.rows * p->weights.cols;
    return (double)p->plan.contender->format_bytes(&p->plan);
}

/* ---- running ----------------------------------------------------------------------------------- */

bool product_finishes(const product *p)
{
    return !epilogue_is_none(&p->plan.epilogue);
}

/* Enqueues y = W x + beta y over `depth` of the `cols` columns of W. cuBLAS stores by columns. With a column's features side by
 * side y is rows x columns of it, and W' is transposed. Row-major x and y are their transposes there, and y' = x' W'. */
static cudaError_t add_product(cublasHandle_t blas, const __half *W, int rows, int cols, int depth,
                               int columns, const __half *x, bool x_by_column, const float *beta,
                               void *y, bool y_by_column, cudaDataType y_type)
{
    static const float one = 1;
    const cublasOperation_t x_op = x_by_column == y_by_column ? CUBLAS_OP_N : CUBLAS_OP_T;
    const int x_pitch = x_by_column ? cols : columns;
    if (y_by_column)
        CUBLAS_TRY(cublasGemmEx(blas, CUBLAS_OP_T, x_op, rows, columns, depth, &one, W, CUDA_R_16F,
                                cols, x, CUDA_R_16F, x_pitch, beta, y, y_type, rows,
                                CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
    else
        CUBLAS_TRY(cublasGemmEx(blas, x_op, CUBLAS_OP_N, columns, rows, depth, &one, x, CUDA_R_16F,
                                x_pitch, W, CUDA_R_16F, cols, beta, y, y_type, columns,
                                CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
    return cudaSuccess;
}

int dense_part(int cols, int most)
{
    const int EVEN = 8, parts = (cols - 1) / (most ? most : (int)MOST_PRODUCTS) + 1;
    return ((cols - 1) / parts / EVEN + 1) * EVEN;
}

cudaError_t dense_product(cublasHandle_t blas, const void *W, int rows, int cols, int columns,
                          const strided *x, void *y, size_t y_feature, cudaDataType y_type,
                          int most)
{
    static const float zero = 0, one = 1;
    const int part = dense_part(cols, most);
    for (int from = 0; from < cols; from += part)
        CUDA_TRY(add_product(blas, (const __half *)W + from, rows, cols,
                             std::min(part, cols - from), columns,
                             (const __half *)x->data + from * x->feature, x->feature == 1,
                             from ? &one : &zero, y, y_feature == 1, y_type));
    return cudaSuccess;
}

cudaError_t product_run(const product *p, cublasHandle_t blas, int columns, const strided *x,
                        strided *y, cudaStream_t stream)
{
    if (p->kind != KERNEL_DENSE) return spmm_run(&p->plan, x->data, y->data, stream);
    return dense_product(blas, p->d_dense, p->weights.rows, p->weights.cols, columns, x, y->data,
                         y->feature, CUDA_R_16F, p->weights.cols);
}

/* ---- counting ---------------------------------------------------------------------------------- */

static double nonzeros(const weight_spec *w)
{
    return (double)w->rows * w->kept;
}

static double sparsity_of(const weight_spec *w)
{
    return 1 - (double)w->kept / w->cols;
}

/* Steps of all blocks: each has an equal share of the quads of all groups, and of a group as many as fill its steps. */
static double steps_of(const lane_major_shape *shape, int64_t groups, int64_t across)
{
    const int64_t quads = groups * across;
    double steps = 0;
    for (int64_t block = 0; block < shape->blocks; block++) {
        const int64_t end = quads * (block + 1) / shape->blocks;
        for (int64_t at = quads * block / shape->blocks; at < end;) {
            const int64_t stop = min(end, (at / across + 1) * across);
            steps += (double)((stop - at - 1) / shape->step + 1);
            at = stop;
        }
    }
    return steps;
}

/* Bits for every element, of whole groups; notes of each step; and values, two to a word, whose rows of 128 bytes are as
 * many as the fullest bank has words: see lane_major_bytes in ops/storage.c, which has steps of two quads. With whole words
 * a lane whose number of values in a fragment is odd has one more: of 8 elements, kept with probability q each, the number
 * is odd with probability (1 - (1 - 2q)^8) / 2. */
static double lane_major_expected(const weight_spec *w, int columns)
{
    const row_stats stats = stats_of(w);
    const lane_major_shape shape = lane_major_choose(&stats, columns);
    const int64_t strips = (w->rows + STRIP_ROWS - 1) / STRIP_ROWS;
    const int64_t across = (groups_of(w->cols) + shape.ways - 1) / shape.ways;
    const int64_t groups = (strips * shape.ways + SLOTS - 1) / SLOTS;
    const double q = stats.density, steps = steps_of(&shape, groups, across);
    const double fullest = 1.25 * sqrt(LANES * shape.step * q * (1 - q)) / 2;
    const double notes = NOTE_ROWS,
                 rows = (double)(SLOTS * groups * across) + steps * (notes + fullest);
    double values = nonzeros(w);
    if (shape.even) values += (double)w->rows * w->cols / 16 * (1 - pow(1 - 2 * q, 8));
    return (int)ROW_BYTES * rows + 2 * values + 4 * steps + sizeof(block_start) * shape.blocks;
}

double product_expected_bytes(const weight_spec *w, enum kernel_kind kind, int columns)
{
    switch (kind) {
    case KERNEL_BITMAP:
        return storage_bytes(STORAGE_TCA_BME, w->rows, w->cols, sparsity_of(w));
    case KERNEL_LANE_MAJOR:
        return lane_major_expected(w, columns);
    default:
        return 2.0 * w->rows * w->cols;
    }
}

double product_workspace_bytes(const weight_spec *w, enum kernel_kind kind, int columns)
{
    const double used = 8.0 * groups_of(w->cols);
    if (kind == KERNEL_BITMAP) {
        const int splits = splits_for(0, groups_of(w->cols), stats_of(w).max);
        const double pitch = (double)slices_of(columns) * tile_of(columns);
        return used +
               (splits > 1 ? 4.0 * splits * (groups_of(w->rows) * (int)GROUP_SIDE) * pitch : 0);
    }
    if (kind == KERNEL_LANE_MAJOR) {
        const row_stats stats = stats_of(w);
        const lane_major_shape shape = lane_major_choose(&stats, columns);
        const int tiles = tiles_of(columns);
        const double quads = groups_of(w->cols) + shape.ways - 1;
        return used + quads * x_bytes(tiles) +
               (size_t)shape.blocks * SLOTS * tiles * 4 * LANES * sizeof(float);
    }
    return 0;
}

double product_making_bytes(const weight_spec *w, enum kernel_kind kind)
{
    const double csr = 4 * (w->rows + 1.0) + 6 * nonzeros(w);
    return kind == KERNEL_DENSE    ? 0
           : kind == KERNEL_BITMAP ? csr
                                   : csr + product_expected_bytes(w, KERNEL_BITMAP, 1);
}
