#include "matrix/stats.h"

#include "matrix/memory.h"

#include <math.h>
#include <stdlib.h>

const double row_quantile_levels[ROW_QUANTILES] = {.01, .10, .25, .50, .75, .90, .99};

static int64_t longest_row(const csr_matrix *A)
{
    int64_t longest = 0;
    for (int64_t i = 0; i < A->rows; i++) {
        int64_t length = A->row_ptr[i + 1] - A->row_ptr[i];
        if (length > longest) longest = length;
    }
    return longest;
}

/* Everything below follows from the histogram: rows_of_length[n] rows have n nonzeros. */

static void compute_spread(const int64_t *rows_of_length, row_stats *stats)
{
    double squares = 0;     /* sum over rows of (length - mean)^2 */
    double rank_weight = 0; /* sum over rows, shortest first, of rank * length, ranks from 1 */
    double shorter = 0;     /* rows met so far */
    for (int64_t length = 0; length <= stats->max; length++) {
        double rows = (double)rows_of_length[length];
        double deviation = (double)length - stats->mean;
        squares += rows * deviation * deviation;
        rank_weight += (double)length * rows * (shorter + (rows + 1) / 2);
        shorter += rows;
    }
    double n = (double)stats->rows;
    stats->cov = sqrt(squares / n) / stats->mean;
    stats->gini = 2 * rank_weight / (n * (double)stats->nnz) - (n + 1) / n;
    if (stats->gini < 0) stats->gini = 0; /* equal rows: the two terms cancel but for rounding */
}

static void compute_quantiles(const int64_t *rows_of_length, row_stats *stats)
{
    int64_t length = 0, rows_up_to = rows_of_length[0];
    for (int q = 0; q < ROW_QUANTILES; q++) {
        /* In whole percent, so that 10% of 10 rows is 1 row and not 1.0000000000000002. */
        int64_t percent = (int64_t)lround(row_quantile_levels[q] * 100);
        int64_t rank = (percent * stats->rows + 99) / 100;
        while (rows_up_to < rank)
            rows_up_to += rows_of_length[++length];
        stats->quantile[q] = length;
    }
}

enum status row_stats_compute(const csr_matrix *A, row_stats *stats, error_text *error)
{
    *stats = (row_stats){.rows = A->rows, .cols = A->cols, .nnz = A->nnz, .empty_rows = A->rows};
    if (A->rows == 0 || A->nnz == 0) return STATUS_OK;

    stats->max = longest_row(A);
    stats->mean = (double)A->nnz / (double)A->rows;
    stats->density = stats->mean / (double)A->cols;

    int64_t bytes = (stats->max + 1) * (int64_t)sizeof(int64_t);
    enum status status = memory_check(bytes, "the row-length histogram", error);
    if (status != STATUS_OK) return status;
    int64_t *rows_of_length = calloc((size_t)stats->max + 1, sizeof *rows_of_length);
    if (!rows_of_length)
        return fail(error, STATUS_MEMORY, "no memory for the row-length histogram");
    for (int64_t i = 0; i < A->rows; i++)
        rows_of_length[A->row_ptr[i + 1] - A->row_ptr[i]]++;

    stats->empty_rows = rows_of_length[0];
    compute_spread(rows_of_length, stats);
    compute_quantiles(rows_of_length, stats);
    free(rows_of_length);
    return STATUS_OK;
}
