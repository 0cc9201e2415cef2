#include "labstat/formats.h"

#include "formats/condensed_blocks.h"
#include "formats/lane_major.h"
#include "formats/row_windows.h"
#include "formats/tca_bme.h"
#include "formats/tiled_csl.h"
#include "formats/two_four.h"
#include "models/lane_major.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 16 }; /* columns of B for which the lane-major format is cut */

static const struct {
    const char *name;
    int value_bits;
} FORMATS[NUM_COUNTED] = {
    [COUNTED_CSR_32] = {"CSR", 32},       [COUNTED_COO] = {"COO", 32},
    [COUNTED_TC_GNN] = {"TC-GNN", 32},    [COUNTED_ME_TCF] = {"ME-TCF", 32},
    [COUNTED_BRP] = {"BRP", 32},          [COUNTED_BRP_64] = {"BRP-64", 32},
    [COUNTED_CSR_16] = {"CSR", 16},       [COUNTED_TCA_BME] = {"TCA-BME", 16},
    [COUNTED_LANE_MAJOR] = {"lane", 16},  [COUNTED_TILED_CSL] = {"Tiled-CSL", 16},
    [COUNTED_TWO_FOUR] = {"2:4+CSR", 16},
};

const char *counted_name(enum counted_format format)
{
    return FORMATS[format].name;
}

int counted_value_bits(enum counted_format format)
{
    return FORMATS[format].value_bits;
}

enum counted_format counted_base(enum counted_format format)
{
    return FORMATS[format].value_bits == 32 ? COUNTED_CSR_32 : COUNTED_CSR_16;
}

static enum status failed(cudaError_t code, error_text *error)
{
    if (code == cudaErrorMemoryAllocation)
        return fail(error, STATUS_MEMORY, "no memory on the device for a format of this matrix");
    return fail(error, STATUS_RUNTIME,
                "the device that makes formats failed: %s (make labstat BACKEND=simt)",
                cudaGetErrorString(code));
}

/* ---- on the device -------------------------------------------------------------------------------- */

static void free_on_device(device_csr *d_A)
{
    cudaFree((void *)d_A->d_row_ptr);
    cudaFree((void *)d_A->d_col_idx);
    cudaFree((void *)d_A->d_values);
    cudaFree((void *)d_A->d_values16);
}

/* `count` elements of `bytes` on the device, of `from`, or each a copy of `one` if that is NULL. */
static cudaError_t upload(void **d, const void *from, const void *one, size_t bytes, int64_t count)
{
    char *copies = from ? NULL : malloc((size_t)count * bytes + 1);
    cudaError_t error = from || copies ? cudaSuccess : cudaErrorMemoryAllocation;
    for (int64_t i = 0; copies && i < count; i++)
        memcpy(copies + (size_t)i * bytes, one, bytes);
    if (error == cudaSuccess) error = cudaMalloc(d, (size_t)count * bytes + 1);
    if (error == cudaSuccess)
        error = cudaMemcpy(*d, from ? from : copies, (size_t)count * bytes, cudaMemcpyHostToDevice);
    free(copies);
    return error;
}

/* A with ones of 32 or 16 bits; the caller frees it, on error too. */
static cudaError_t to_device(const csr_matrix *A, const row_stats *stats, int bits, device_csr *d_A)
{
    static const float one = 1;
    static const uint16_t one16 = 0x3c00; /* in fp16 */
    int *row_ptr = malloc(((size_t)A->rows + 1) * sizeof *row_ptr);
    void *d[3] = {NULL};
    cudaError_t error = row_ptr ? cudaSuccess : cudaErrorMemoryAllocation;
    for (int64_t i = 0; row_ptr && i <= A->rows; i++)
        row_ptr[i] = (int)A->row_ptr[i];
    if (error == cudaSuccess) error = upload(&d[0], row_ptr, NULL, sizeof *row_ptr, A->rows + 1);
    if (error == cudaSuccess) error = upload(&d[1], A->col_idx, NULL, sizeof *A->col_idx, A->nnz);
    if (error == cudaSuccess)
        error = bits == 32 ? upload(&d[2], NULL, &one, sizeof one, A->nnz)
                           : upload(&d[2], NULL, &one16, sizeof one16, A->nnz);
    *d_A = (device_csr){.rows = (int)A->rows,
                        .cols = (int)A->cols,
                        .nnz = (int)A->nnz,
                        .d_row_ptr = d[0],
                        .d_col_idx = d[1],
                        .d_values = bits == 32 ? d[2] : NULL,
                        .d_values16 = bits == 32 ? NULL : d[2],
                        .host = A,
                        .stats = stats};
    free(row_ptr);
    return error;
}

/* ---- graphs --------------------------------------------------------------------------------------- */

/* BRP with its residual, packed on the host: the same bits, and no device sorts hundreds of millions of columns. */
static enum status count_windows(const csr_matrix *A, const row_stats *stats,
                                 int64_t bytes[NUM_COUNTED], error_text *error)
{
    const row_windows_shape shape = {.residual = true, .longest = 64, .where = ON_HOST};
    row_windows *windows = NULL;
    device_csr d_A;
    cudaError_t code = to_device(A, stats, 32, &d_A);
    if (code == cudaSuccess) code = row_windows_build(&d_A, NULL, &shape, &windows);
    free_on_device(&d_A);
    if (code == cudaErrorNotSupported) return STATUS_OK;
    if (code != cudaSuccess) return failed(code, error);
    bytes[COUNTED_BRP] = (int64_t)row_windows_published_bytes(windows);
    bytes[COUNTED_BRP_64] = (int64_t)row_windows_bytes(windows);
    row_windows_free(windows);
    return STATUS_OK;
}

static enum status count_of_graphs(const csr_matrix *A, const row_stats *stats,
                                   int64_t bytes[NUM_COUNTED], error_text *error)
{
    tc_gnn t;
    me_tcf m;
    bytes[COUNTED_CSR_32] = 4 * (A->rows + 1) + 8 * A->nnz;
    bytes[COUNTED_COO] = 12 * A->nnz;
    enum status status = tc_gnn_encode(A, &t, error);
    if (status != STATUS_OK) return status;
    bytes[COUNTED_TC_GNN] = tc_gnn_bytes(&t);
    tc_gnn_free(&t);
    status = me_tcf_encode(A, &m, error);
    if (status != STATUS_OK) return status;
    bytes[COUNTED_ME_TCF] = me_tcf_bytes(&m);
    me_tcf_free(&m);
    return count_windows(A, stats, bytes, error);
}

/* ---- weights -------------------------------------------------------------------------------------- */

static cudaError_t count_made_of(const tca_bme *bitmaps, const csr_matrix *A,
                                 const row_stats *stats, int64_t bytes[NUM_COUNTED])
{
    lane_major lanes;
    tiled_csl tiles;
    two_four fours;
    const lane_major_shape shape = lane_major_choose(stats, WIDTH);
    cudaError_t error = cudaSuccess;
    bytes[COUNTED_TCA_BME] = tca_bme_bytes(bitmaps);
    if (lane_major_fits(A->rows, A->cols)) {
        error = lane_major_create(bitmaps, &shape, &lanes);
        if (error != cudaSuccess) return error;
        bytes[COUNTED_LANE_MAJOR] = lane_major_bytes(&lanes);
        lane_major_destroy(&lanes);
    }
    error = tiled_csl_build(ON_DEVICE, bitmaps, &tiles);
    if (error != cudaSuccess) return error;
    bytes[COUNTED_TILED_CSL] = tiled_csl_bytes(&tiles);
    tiled_csl_free(&tiles);
    if (two_four_unsuited(A->rows, A->cols, A->nnz)) return cudaSuccess;
    error = two_four_build(ON_DEVICE, bitmaps, &fours);
    if (error != cudaSuccess) return error;
    bytes[COUNTED_TWO_FOUR] = two_four_bytes(&fours);
    two_four_free(&fours);
    return cudaSuccess;
}

static enum status count_of_weights(const csr_matrix *A, const row_stats *stats,
                                    int64_t bytes[NUM_COUNTED], error_text *error)
{
    device_csr d_A;
    tca_bme bitmaps;
    bytes[COUNTED_CSR_16] = 4 * (A->rows + 1) + 6 * A->nnz;
    if (tca_bme_unsuited(A->rows, A->cols, A->nnz)) return STATUS_OK;
    cudaError_t code = to_device(A, stats, 16, &d_A);
    if (code == cudaSuccess) code = tca_bme_create(&d_A, &bitmaps);
    free_on_device(&d_A);
    if (code != cudaSuccess) return failed(code, error);
    code = count_made_of(&bitmaps, A, stats, bytes);
    tca_bme_destroy(&bitmaps);
    return code == cudaSuccess ? STATUS_OK : failed(code, error);
}

enum status count_formats(const csr_matrix *A, const row_stats *stats, int64_t bytes[NUM_COUNTED],
                          error_text *error)
{
    for (int f = 0; f < NUM_COUNTED; f++)
        bytes[f] = -1;
    if (A->nnz > INT_MAX) return fail(error, STATUS_MEMORY, "too many nonzeros for 32-bit offsets");
    const enum status status = count_of_graphs(A, stats, bytes, error);
    return status == STATUS_OK ? count_of_weights(A, stats, bytes, error) : status;
}
