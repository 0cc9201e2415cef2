#include "ops/spmm_ranges.h"

#include "matrix/test_limit.h"
#include "ops/inputs.h"

#include <stdlib.h>

/* Nonzeros of a range at most. */
static int64_t limit(void)
{
    return test_limit("SPMM_TEST_RANGE_NONZEROS", MAX_NNZ);
}

/* The last row at which a range that begins at `begin` may end: a multiple of `step`, or the number of rows. */
static int64_t last_end(const int64_t *row_ptr, int64_t rows, int64_t begin, int64_t most,
                        int64_t step)
{
    if (row_ptr[rows] - row_ptr[begin] <= most) return rows;
    int64_t low = begin / step, high = (rows + step - 1) / step; /* low fits, high does not */
    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        if (row_ptr[middle * step] - row_ptr[begin] <= most)
            low = middle;
        else
            high = middle;
    }
    return low * step;
}

int spmm_ranges_fill(const int64_t *row_ptr, int64_t rows, int64_t most, int64_t step,
                     int64_t first[MAX_ROW_RANGES + 1], int64_t *row)
{
    int count = 0;
    first[0] = 0;
    do {
        if (count == MAX_ROW_RANGES) return -1;
        *row = first[count];
        first[count + 1] = last_end(row_ptr, rows, *row, most, step);
        if (first[++count] == *row && rows > 0) return 0;
    } while (first[count] < rows);
    return count;
}

/* Rows of C whose bytes together are a multiple of 16. */
static int64_t rows_between_vectors(const problem *p)
{
    enum { VECTOR = 16 };
    const int64_t row_bytes = (int64_t)precision_format(p->precision)->bytes * p->width;
    int64_t step = 1;
    while (step * row_bytes % VECTOR)
        step *= 2;
    return step;
}

/* Nonzeros of a range that leave as few ranges as the limit does, and all but the last about alike: a range ends only
 * where `step` rows more would exceed them, so each has its share at least. */
static int64_t share_of(const problem *p, int64_t most, int64_t step)
{
    if (p->A->nnz <= most) return most;
    const int64_t ranges = (p->A->nnz + most - 1) / most;
    const int64_t share = p->A->nnz / ranges + p->stats.max * step;
    return share < most ? share : most;
}

/* Says why A has no ranges: spmm_ranges_fill has returned `count`, and ended at `row`. */
static enum status refuse(const problem *p, int count, int64_t row, int64_t step, int64_t most,
                          error_text *error)
{
    const csr_matrix *A = p->A;
    int64_t longest = 0;
    while (longest < A->rows && A->row_ptr[longest + 1] - A->row_ptr[longest] <= most)
        longest++;
    if (longest < A->rows)
        return fail(error, STATUS_MEMORY,
                    "row %lld has %lld nonzeros: the 32-bit offsets of kernels take at most %lld "
                    "in a range of rows",
                    (long long)longest, (long long)(A->row_ptr[longest + 1] - A->row_ptr[longest]),
                    (long long)most);
    if (count < 0)
        return fail(error, STATUS_MEMORY,
                    "%lld nonzeros need more than %d row ranges of at most %lld, and one device "
                    "takes no more",
                    (long long)A->nnz, MAX_ROW_RANGES, (long long)most);
    const int64_t end = row + step < A->rows ? row + step : A->rows;
    return fail(error, STATUS_MEMORY,
                "rows %lld to %lld, which C's alignment keeps together at this %s, have %lld "
                "nonzeros: a range of rows takes at most %lld",
                (long long)row, (long long)end - 1, p->operation->width,
                (long long)(A->row_ptr[end] - A->row_ptr[row]), (long long)most);
}

static enum status cut(problem *p, error_text *error)
{
    const csr_matrix *A = p->A;
    const int64_t step = rows_between_vectors(p), most = limit();
    int64_t row;
    const int count =
        spmm_ranges_fill(A->row_ptr, A->rows, share_of(p, most, step), step, p->range_first, &row);
    p->num_ranges = count > 0 ? count : 0;
    return count > 0 ? STATUS_OK : refuse(p, count, row, step, most, error);
}

/* Fills a range from rows first .. end - 1 of A, which are not all of it. */
static enum status make_part(const csr_matrix *A, int64_t first, int64_t end, spmm_range *range,
                             error_text *error)
{
    const int64_t rows = end - first, at = A->row_ptr[first];
    int64_t *own = malloc((rows + 1) * sizeof *own);
    if (!own) return fail(error, STATUS_MEMORY, "no memory for the offsets of a row range");
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i <= rows; i++)
        own[i] = A->row_ptr[first + i] - at;
    range->pattern = (csr_matrix){.rows = rows,
                                  .cols = A->cols,
                                  .nnz = own[rows],
                                  .row_ptr = own,
                                  .col_idx = A->col_idx + at};
    range->offsets = own;
    return row_stats_compute(&range->pattern, &range->stats, error);
}

enum status spmm_ranges_make(problem *p, spmm_ranges *ranges, error_text *error)
{
    *ranges = (spmm_ranges){0};
    enum status status = cut(p, error);
    for (int r = 0; status == STATUS_OK && r < p->num_ranges; r++) {
        spmm_range *range = &ranges->range[ranges->count++];
        if (p->num_ranges == 1)
            *range = (spmm_range){.pattern = *p->A, .stats = p->stats};
        else
            status = make_part(p->A, p->range_first[r], p->range_first[r + 1], range, error);
        if (status != STATUS_OK) break;
        range->row_ptr = dataset_offsets(&range->pattern);
        if (!range->row_ptr) status = fail(error, STATUS_MEMORY, "no memory for 32-bit offsets");
    }
    if (status != STATUS_OK) spmm_ranges_free(ranges);
    return status;
}

void spmm_ranges_free(spmm_ranges *ranges)
{
    for (int r = 0; r < ranges->count; r++) {
        free(ranges->range[r].offsets);
        free(ranges->range[r].row_ptr);
    }
    *ranges = (spmm_ranges){0};
}

int64_t spmm_ranges_bytes(int64_t rows, int64_t nnz)
{
    const int64_t wide = nnz > limit() ? (int64_t)sizeof(int64_t) : 0;
    return (rows + MAX_ROW_RANGES) * (wide + (int64_t)sizeof(int32_t));
}
