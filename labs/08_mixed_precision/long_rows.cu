#include "long_rows.h"

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

/* Fills `segments`, unless it is NULL, and returns their number. */
static int list_segments(const csr_matrix *A, const int *order, int split, int most,
                         segment *segments)
{
    int listed = 0;
    for (int position = 0; position < (int)A->rows; position++) {
        const int row = order ? order[position] : position, length = row_length(A, row);
        if (length <= split) continue;
        const int count = (length - 1) / most + 1, first = listed, start = (int)A->row_ptr[row];
        for (int i = 0; i < count; i++, listed++) {
            const int from = (int)((int64_t)length * i / count);
            const int to = (int)((int64_t)length * (i + 1) / count);
            if (segments) segments[listed] = {row, start + from, start + to, first, count};
        }
    }
    return listed;
}

/* Copies `bytes` bytes, which may be 0, to a new device array. */
static cudaError_t upload(void **device, const void *host, size_t bytes)
{
    CUDA_TRY(cudaMalloc(device, bytes + 1));
    CUDA_TRY(cudaMemcpy(*device, host, bytes, cudaMemcpyHostToDevice));
    return cudaSuccess;
}

static cudaError_t create(const spmm_plan *plan, int split, int most, int slices, bool bundle,
                          int *order, segment **segments, work_list *work)
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
    work->num_segments = list_segments(A, NULL, split, most, NULL);
    *segments = (segment *)malloc(work->num_segments * sizeof **segments + 1);
    if (!*segments) return cudaErrorMemoryAllocation;
    list_segments(A, ordered ? order : NULL, split, most, *segments);
    CUDA_TRY(upload((void **)&work->d_segments, *segments, work->num_segments * sizeof **segments));
    if (plan->A.stats->max <= most) return cudaSuccess;
    const size_t arrived = (size_t)work->num_segments * slices * sizeof *work->d_arrived;
    CUDA_TRY(cudaMalloc((void **)&work->d_sums,
                        (size_t)work->num_segments * plan->N * sizeof *work->d_sums));
    CUDA_TRY(cudaMalloc((void **)&work->d_arrived, arrived));
    CUDA_TRY(cudaMemset(work->d_arrived, 0, arrived));
    return cudaSuccess;
}

cudaError_t work_list_create(const spmm_plan *plan, int split, int most, int slices, bool bundle,
                             work_list *work)
{
    segment *segments = NULL;
    int *order = (int *)malloc((size_t)plan->A.rows * sizeof *order + 1);
    cudaError_t error = cudaErrorMemoryAllocation;
    *work = {};
    if (order) error = create(plan, split, most, slices, bundle, order, &segments, work);
    free(order);
    free(segments);
    if (error != cudaSuccess) work_list_free(work);
    return error;
}

void work_list_free(work_list *work)
{
    cudaFree(work->d_segments);
    cudaFree(work->d_sums);
    cudaFree(work->d_arrived);
    cudaFree(work->d_bundled);
    *work = {};
}
