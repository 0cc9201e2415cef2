#include "matrix/pattern.h"

#include "matrix/memory.h"
#include "matrix/random.h"

#include <stdlib.h>

int64_t pattern_count(const row_pattern *p)
{
    int64_t places = 0;
#pragma omp parallel for reduction(+ : places)
    for (int64_t i = 0; i < p->rows; i++)
        places += p->columns_of(p->shape, i, NULL);
    return places;
}

static int64_t longest_row(const row_pattern *p)
{
    int64_t longest = 0;
#pragma omp parallel for reduction(max : longest)
    for (int64_t i = 0; i < p->rows; i++) {
        const int64_t length = p->columns_of(p->shape, i, NULL);
        if (length > longest) longest = length;
    }
    return longest;
}

/* Entry t of those `places` is kept with the probability that it is among those still wanted of those still left: that
 * makes every choice of A->nnz entries equally likely, in one walk. */
static void keep_some(const row_pattern *p, int64_t places, uint64_t seed, int32_t *columns,
                      csr_matrix *A)
{
    int64_t seen = 0, kept = 0;
    for (int64_t i = 0; i < p->rows; i++) {
        const int64_t length = p->columns_of(p->shape, i, columns);
        for (int64_t k = 0; k < length; k++, seen++) {
            const uint64_t left = (uint64_t)(places - seen);
            const bool all = A->nnz - kept == places - seen;
            if (all || (int64_t)random_below(seed, (uint64_t)seen, left) < A->nnz - kept)
                A->col_idx[kept++] = columns[k];
        }
        A->row_ptr[i + 1] = kept;
    }
}

enum status pattern_fill(const row_pattern *p, int64_t places, int64_t nnz, uint64_t seed,
                         csr_matrix *A, error_text *error)
{
    enum status status = csr_alloc(A, p->rows, p->cols, nnz, false, error);
    if (status != STATUS_OK) return status;
    const int64_t bytes = longest_row(p) * (int64_t)sizeof(int32_t);
    status = memory_check(bytes, "a row of the pattern", error);
    if (status != STATUS_OK) return status;
    int32_t *columns = malloc((size_t)bytes + 1);
    if (!columns) return fail(error, STATUS_MEMORY, "no memory for a row of the pattern");
    keep_some(p, places, seed, columns, A);
    free(columns);
    return STATUS_OK;
}
