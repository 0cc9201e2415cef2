#include "matrix/row_sort.h"

#include "matrix/memory.h"

#include <stdlib.h>
#include <string.h>

enum {
    INSERTION_LENGTH = 32, /* up to here an insertion sort beats counting 256 digits */
    DIGIT_BITS = 8,
    DIGITS = 1 << DIGIT_BITS
};

/* The entries of one row; value is NULL for a pattern. */
typedef struct entries {
    int32_t *col;
    float *value;
} entries;

/* One thread's second buffer for the longest row it has met. */
typedef struct scratch {
    entries space;
    int64_t capacity;
} scratch;

static bool ascending(const int32_t *col, int64_t n)
{
    for (int64_t i = 1; i < n; i++) {
        if (col[i - 1] > col[i]) return false;
    }
    return true;
}

static void insertion_sort(entries row, int64_t n)
{
    for (int64_t i = 1; i < n; i++) {
        int32_t col = row.col[i];
        float value = row.value ? row.value[i] : 0;
        int64_t j = i;
        for (; j > 0 && row.col[j - 1] > col; j--) {
            row.col[j] = row.col[j - 1];
            if (row.value) row.value[j] = row.value[j - 1];
        }
        row.col[j] = col;
        if (row.value) row.value[j] = value;
    }
}

/* Moves `from` to `to`, stably sorted by the digit at `shift`. */
static void sort_by_digit(entries from, entries to, int64_t n, int shift)
{
    int64_t next[DIGITS] = {0};
    for (int64_t i = 0; i < n; i++)
        next[from.col[i] >> shift & (DIGITS - 1)]++;
    int64_t position = 0;
    for (int digit = 0; digit < DIGITS; digit++) {
        int64_t entries_of_digit = next[digit];
        next[digit] = position;
        position += entries_of_digit;
    }
    for (int64_t i = 0; i < n; i++) {
        int64_t place = next[from.col[i] >> shift & (DIGITS - 1)]++;
        to.col[place] = from.col[i];
        if (from.value) to.value[place] = from.value[i];
    }
}

/* Least significant digit first; ends in `row` whatever the number of digits. */
static void radix_sort(entries row, entries other, int64_t n, int64_t cols)
{
    entries from = row, to = other;
    for (int shift = 0; shift < 31 && (cols - 1) >> shift > 0; shift += DIGIT_BITS) {
        sort_by_digit(from, to, n, shift);
        entries swap = from;
        from = to;
        to = swap;
    }
    if (from.col != row.col) {
        memcpy(row.col, from.col, (size_t)n * sizeof *row.col);
        if (row.value) memcpy(row.value, from.value, (size_t)n * sizeof *row.value);
    }
}

static bool scratch_reserve(scratch *s, int64_t n, bool with_values)
{
    if (n <= s->capacity) return true;
    int64_t entry_bytes = (int64_t)(sizeof(int32_t) + (with_values ? sizeof(float) : 0));
    if (memory_check(n * entry_bytes, "", NULL) != STATUS_OK) return false;
    free(s->space.col);
    free(s->space.value);
    s->capacity = n;
    s->space.col = malloc((size_t)n * sizeof(int32_t));
    s->space.value = with_values ? malloc((size_t)n * sizeof(float)) : NULL;
    return s->space.col && (!with_values || s->space.value);
}

void columns_sort(int32_t *columns, int64_t n, int64_t cols, int32_t *scratch)
{
    const entries row = {columns, NULL}, other = {scratch, NULL};
    if (n <= INSERTION_LENGTH)
        insertion_sort(row, n);
    else
        radix_sort(row, other, n, cols);
}

enum status csr_sort_rows(csr_matrix *A, error_text *error)
{
    bool out_of_memory = false;
#pragma omp parallel reduction(|| : out_of_memory)
    {
        scratch mine = {{NULL, NULL}, 0};
#pragma omp for schedule(dynamic, 256)
        for (int64_t i = 0; i < A->rows; i++) {
            int64_t begin = A->row_ptr[i], n = A->row_ptr[i + 1] - begin;
            entries row = {A->col_idx + begin, A->values ? A->values + begin : NULL};
            if (ascending(row.col, n)) continue;
            if (n <= INSERTION_LENGTH)
                insertion_sort(row, n);
            else if (!out_of_memory && scratch_reserve(&mine, n, row.value != NULL))
                radix_sort(row, mine.space, n, A->cols);
            else
                out_of_memory = true;
        }
        free(mine.space.col);
        free(mine.space.value);
    }
    if (out_of_memory) return fail(error, STATUS_MEMORY, "no memory to sort the longest rows");
    return STATUS_OK;
}
