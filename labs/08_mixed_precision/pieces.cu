#include "pieces.h"

#include "device/cuda_try.h"
#include "matrix/row_order.h"

#include <stdlib.h>

/* Rows are sorted among this many neighbours only, which are likely to look at the same rows of B. */
constexpr int WINDOW = 4096;
/* Rows whose numbers of nonzeros are the same in units of this many take the same number of rounds. */
constexpr int UNIT = 4, CLASSES = 64;

static int row_length(const csr_matrix *A, int row)
{
    return (int)(A->row_ptr[row + 1] - A->row_ptr[row]);
}

/* Fills `pieces`, unless it is NULL, and returns how many there are. */
static int list_pieces(const csr_matrix *A, const int *order, int split, int most, piece *pieces)
{
    int listed = 0;
    for (int position = 0; position < (int)A->rows; position++) {
        const int row = order ? order[position] : position, length = row_length(A, row);
        if (length <= split) continue;
        const int count = (length - 1) / most + 1, first = listed, start = (int)A->row_ptr[row];
        for (int i = 0; i < count; i++, listed++) {
            const int from = (int)((int64_t)length * i / count);
            const int to = (int)((int64_t)length * (i + 1) / count);
            if (pieces) pieces[listed] = {row, start + from, start + to, first, count};
        }
    }
    return listed;
}

/* A device copy of so many bytes, of which there may be none. */
static cudaError_t upload(void **device, const void *host, size_t bytes)
{
    CUDA_TRY(cudaMalloc(device, bytes + 1));
    CUDA_TRY(cudaMemcpy(*device, host, bytes, cudaMemcpyHostToDevice));
    return cudaSuccess;
}

static cudaError_t create(const spmm_plan *plan, int split, int most, int slices, bool bundle,
                          int *order, piece **pieces, work_list *work)
{
    const csr_matrix *A = plan->A.host;
    const size_t order_bytes = (size_t)A->rows * sizeof *order;
    const bool ordered = plan->d_row_order || bundle;
    work->d_order = plan->d_row_order;
    if (plan->d_row_order) {
        CUDA_TRY(cudaMemcpy(order, plan->d_row_order, order_bytes, cudaMemcpyDeviceToHost));
    } else if (bundle) {
        rows_by_length(A, WINDOW, UNIT, CLASSES, order);
        CUDA_TRY(upload((void **)&work->d_bundled, order, order_bytes));
        work->d_order = work->d_bundled;
    }
    work->num_pieces = list_pieces(A, NULL, split, most, NULL);
    *pieces = (piece *)malloc(work->num_pieces * sizeof **pieces + 1);
    if (!*pieces) return cudaErrorMemoryAllocation;
    list_pieces(A, ordered ? order : NULL, split, most, *pieces);
    CUDA_TRY(upload((void **)&work->d_pieces, *pieces, work->num_pieces * sizeof **pieces));
    if (plan->A.stats->max <= most) return cudaSuccess;
    const size_t arrived = (size_t)work->num_pieces * slices * sizeof *work->d_arrived;
    CUDA_TRY(cudaMalloc((void **)&work->d_sums,
                        (size_t)work->num_pieces * plan->N * sizeof *work->d_sums));
    CUDA_TRY(cudaMalloc((void **)&work->d_arrived, arrived));
    CUDA_TRY(cudaMemset(work->d_arrived, 0, arrived));
    return cudaSuccess;
}

cudaError_t work_list_create(const spmm_plan *plan, int split, int most, int slices, bool bundle,
                             work_list *work)
{
    piece *pieces = NULL;
    int *order = (int *)malloc((size_t)plan->A.rows * sizeof *order + 1);
    cudaError_t error = cudaErrorMemoryAllocation;
    *work = {};
    if (order) error = create(plan, split, most, slices, bundle, order, &pieces, work);
    free(order);
    free(pieces);
    if (error != cudaSuccess) work_list_free(work);
    return error;
}

void work_list_free(work_list *work)
{
    cudaFree(work->d_pieces);
    cudaFree(work->d_sums);
    cudaFree(work->d_arrived);
    cudaFree(work->d_bundled);
    *work = {};
}
