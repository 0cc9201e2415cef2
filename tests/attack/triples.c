#include "triples.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void triples_add(triples *m, int64_t row, int64_t col, float value)
{
    if (m->count == m->capacity) {
        m->capacity = 2 * m->capacity + 64;
        m->entry = realloc(m->entry, (size_t)m->capacity * sizeof *m->entry);
        if (!m->entry) abort();
    }
    m->entry[m->count++] = (triple){row, col, value};
}

void triples_free(triples *m)
{
    free(m->entry);
    *m = (triples){0};
}

/* Any order of values will do, NaN included. */
static uint32_t bits_of(float value)
{
    uint32_t bits;
    if (isnan(value)) value = NAN;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static int compare(const void *left, const void *right)
{
    const triple *a = left, *b = right;
    if (a->row != b->row) return a->row < b->row ? -1 : 1;
    if (a->col != b->col) return a->col < b->col ? -1 : 1;
    uint32_t x = bits_of(a->value), y = bits_of(b->value);
    return (x > y) - (x < y);
}

void triples_sort(triples *m)
{
    if (m->count > 0) qsort(m->entry, (size_t)m->count, sizeof *m->entry, compare);
}

void check_invariants(attempt *t, const csr_matrix *A, int64_t bytes)
{
    enum { LARGEST = 2147483647 };
    if (A->rows < 0 || A->rows > LARGEST || A->cols < 0 || A->cols > LARGEST || A->nnz < 0) {
        found(t, "sizes %lld x %lld, %lld", (long long)A->rows, (long long)A->cols,
              (long long)A->nnz);
        return;
    }
    /* A nonzero takes a bit of a packed file at least. */
    if (A->rows > (1 << 23) + 8000 * bytes || A->cols > (1 << 23) + 8000000 * bytes)
        found(t, "%lld x %lld from %lld bytes", (long long)A->rows, (long long)A->cols,
              (long long)bytes);
    if (A->row_ptr[0] != 0 || A->row_ptr[A->rows] != A->nnz)
        found(t, "row offsets from %lld to %lld, but %lld nonzeros", (long long)A->row_ptr[0],
              (long long)A->row_ptr[A->rows], (long long)A->nnz);
    for (int64_t i = 0; i < A->rows && !*t->finding; i++)
        if (A->row_ptr[i + 1] < A->row_ptr[i])
            found(t, "row %lld has a negative length", (long long)i);
    float sum = 0; /* touches every value, for the sanitizer */
    for (int64_t k = 0; k < A->nnz && !*t->finding; k++) {
        if (A->col_idx[k] < 0 || A->col_idx[k] >= A->cols)
            found(t, "entry %lld has column %d", (long long)k, A->col_idx[k]);
        if (A->values) sum += A->values[k];
    }
    if (sum == 12345.678f) puts("touched");
}

void check_equal(attempt *t, const csr_matrix *A, triples *m)
{
    if (*t->finding) return;
    if (A->rows != m->rows || A->cols != m->cols || A->nnz != m->count ||
        (A->values != NULL) != m->with_values) {
        found(t, "read as %lld x %lld, %lld nonzeros%s; it is %lld x %lld, %lld%s",
              (long long)A->rows, (long long)A->cols, (long long)A->nnz,
              A->values ? "" : " (a pattern)", (long long)m->rows, (long long)m->cols,
              (long long)m->count, m->with_values ? "" : " (a pattern)");
        return;
    }
    triples mine = {0};
    for (int64_t i = 0; i < A->rows; i++)
        for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++)
            triples_add(&mine, i, A->col_idx[k], A->values ? A->values[k] : 0);
    if (!m->with_values)
        for (int64_t k = 0; k < m->count; k++)
            m->entry[k].value = 0;
    triples_sort(&mine);
    triples_sort(m);
    for (int64_t k = 0; k < m->count; k++)
        if (compare(&mine.entry[k], &m->entry[k]) != 0) {
            const triple *a = &mine.entry[k], *b = &m->entry[k];
            found(t, "read (%lld, %lld) = %.9g where (%lld, %lld) = %.9g stands", (long long)a->row,
                  (long long)a->col, (double)a->value, (long long)b->row, (long long)b->col,
                  (double)b->value);
            break;
        }
    triples_free(&mine);
}
