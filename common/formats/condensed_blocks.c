#include "formats/condensed_blocks.h"
#include "matrix/memory.h"

#include <limits.h>
#include <stdlib.h>

/* A window's nonzeros in the order of their columns, then rows, then places in A. */
typedef struct sorted_window {
    uint64_t *key; /* column << 32 | row in the window << 28 | place in the window */
    int count;
} sorted_window;

enum { ROW_SHIFT = 28, COLUMN_SHIFT = 32 };

static int column_of(uint64_t key)
{
    return (int)(key >> COLUMN_SHIFT);
}
static int row_of(uint64_t key)
{
    return (int)(key >> ROW_SHIFT & (CONDENSED_ROWS - 1));
}
static int64_t place_of(uint64_t key)
{
    return (int64_t)(key & ((UINT64_C(1) << ROW_SHIFT) - 1));
}

static int64_t window_end(const csr_matrix *A, int64_t window)
{
    const int64_t row = (window + 1) * CONDENSED_ROWS;
    return A->row_ptr[row < A->rows ? row : A->rows];
}

static int key_order(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void sort_window(const csr_matrix *A, int64_t window, sorted_window *w)
{
    const int64_t first = window * CONDENSED_ROWS, begin = A->row_ptr[first];
    w->count = 0;
    for (int64_t row = first; row < first + CONDENSED_ROWS && row < A->rows; row++)
        for (int64_t k = A->row_ptr[row]; k < A->row_ptr[row + 1]; k++)
            w->key[w->count++] = (uint64_t)A->col_idx[k] << COLUMN_SHIFT |
                                 (uint64_t)(row - first) << ROW_SHIFT | (uint64_t)(k - begin);
    qsort(w->key, (size_t)w->count, sizeof *w->key, key_order);
}

/* Counts windows; room for the fullest one. */
static enum status windows_begin(const csr_matrix *A, int64_t bytes, int *windows, sorted_window *w,
                                 error_text *error)
{
    int64_t fullest = 0;
    *windows = (int)((A->rows + CONDENSED_ROWS - 1) / CONDENSED_ROWS);
    for (int64_t i = 0; i < *windows; i++) {
        const int64_t count = window_end(A, i) - A->row_ptr[i * CONDENSED_ROWS];
        if (count > fullest) fullest = count;
    }
    *w = (sorted_window){0};
    if (A->nnz > INT_MAX || fullest >> ROW_SHIFT)
        return fail(error, STATUS_MEMORY, "too many nonzeros for 32-bit offsets");
    enum status status = memory_check(bytes + 8 * fullest, "the blocks of a graph", error);
    if (status != STATUS_OK) return status;
    w->key = malloc((size_t)fullest * sizeof *w->key + 1);
    return w->key ? STATUS_OK : fail(error, STATUS_MEMORY, "no memory for a window");
}

static float value_of(const csr_matrix *A, int64_t k)
{
    return A->values ? A->values[k] : 1;
}

/* ---- TC-GNN ------------------------------------------------------------------------------------ */

static enum status tc_gnn_allocate(const csr_matrix *A, tc_gnn *m, error_text *error)
{
    const size_t nnz = (size_t)A->nnz;
    m->row_ptr = malloc(((size_t)A->rows + 1) * sizeof *m->row_ptr);
    m->col_idx = malloc(nnz * sizeof *m->col_idx + 1);
    m->row = malloc(nnz * sizeof *m->row + 1);
    m->rank = malloc(nnz * sizeof *m->rank + 1);
    m->blocks_of_window = calloc((size_t)m->windows + 1, sizeof *m->blocks_of_window);
    m->values = malloc(nnz * sizeof *m->values + 1);
    if (m->row_ptr && m->col_idx && m->row && m->rank && m->blocks_of_window && m->values)
        return STATUS_OK;
    return fail(error, STATUS_MEMORY, "no memory for TC-GNN's arrays");
}

/* Ranks of one window's columns, and how many blocks they make. */
static void rank_columns(const csr_matrix *A, int64_t window, const sorted_window *w, tc_gnn *m)
{
    const int64_t begin = A->row_ptr[window * CONDENSED_ROWS];
    int rank = -1;
    for (int i = 0; i < w->count; i++) {
        if (i == 0 || column_of(w->key[i]) != column_of(w->key[i - 1])) rank++;
        m->rank[begin + place_of(w->key[i])] = rank;
    }
    m->blocks_of_window[window] = (rank + CONDENSED_COLUMNS) / CONDENSED_COLUMNS;
}

enum status tc_gnn_encode(const csr_matrix *A, tc_gnn *m, error_text *error)
{
    sorted_window w;
    *m = (tc_gnn){.rows = (int)A->rows, .cols = (int)A->cols, .nnz = (int)A->nnz};
    enum status status = windows_begin(A, 20 * A->nnz + 5 * A->rows, &m->windows, &w, error);
    if (status == STATUS_OK) status = tc_gnn_allocate(A, m, error);
    if (status != STATUS_OK) {
        free(w.key);
        tc_gnn_free(m);
        return status;
    }
    m->row_ptr[0] = 0;
    for (int64_t row = 0; row < A->rows; row++) {
        m->row_ptr[row + 1] = (int)A->row_ptr[row + 1];
        for (int64_t k = A->row_ptr[row]; k < A->row_ptr[row + 1]; k++) {
            m->col_idx[k] = A->col_idx[k];
            m->row[k] = (int)row;
            m->values[k] = value_of(A, k);
        }
    }
    for (int64_t window = 0; window < m->windows; window++) {
        sort_window(A, window, &w);
        rank_columns(A, window, &w, m);
    }
    free(w.key);
    return STATUS_OK;
}

int64_t tc_gnn_bytes(const tc_gnn *m)
{
    return 4 * ((int64_t)m->rows + 1 + m->windows) + 16 * (int64_t)m->nnz;
}

void tc_gnn_free(tc_gnn *m)
{
    free(m->row_ptr);
    free(m->col_idx);
    free(m->row);
    free(m->rank);
    free(m->blocks_of_window);
    free(m->values);
    *m = (tc_gnn){0};
}

/* ---- ME-TCF ------------------------------------------------------------------------------------ */

/* Room for the most blocks there can be: a window has one for eight of its nonzeros, and one that is not full. */
static enum status me_tcf_allocate(const csr_matrix *A, me_tcf *m, error_text *error)
{
    const size_t nnz = (size_t)A->nnz;
    const size_t most = nnz / CONDENSED_COLUMNS + (size_t)m->windows;
    m->first_block = malloc(((size_t)m->windows + 1) * sizeof *m->first_block);
    m->begin = malloc((most + 1) * sizeof *m->begin);
    m->column = malloc(most * CONDENSED_COLUMNS * sizeof *m->column + 1);
    m->place = malloc(nnz + 1);
    m->values = malloc(nnz * sizeof *m->values + 1);
    if (m->first_block && m->begin && m->column && m->place && m->values) return STATUS_OK;
    return fail(error, STATUS_MEMORY, "no memory for ME-TCF's arrays");
}

/* Appends one window's blocks and nonzeros; `at`: the nonzeros so far. */
static void append_window(const csr_matrix *A, int64_t window, const sorted_window *w, int at,
                          me_tcf *m)
{
    const int64_t from = A->row_ptr[window * CONDENSED_ROWS];
    int rank = -1;
    m->first_block[window] = m->blocks;
    for (int i = 0; i < w->count; i++, at++) {
        const int column = column_of(w->key[i]);
        if (i == 0 || column != column_of(w->key[i - 1])) {
            rank++;
            if (rank % CONDENSED_COLUMNS == 0) m->begin[m->blocks++] = at;
            int *const columns = m->column + (int64_t)(m->blocks - 1) * CONDENSED_COLUMNS;
            for (int c = rank % CONDENSED_COLUMNS; c < CONDENSED_COLUMNS; c++)
                columns[c] = column;
        }
        m->place[at] = (uint8_t)(row_of(w->key[i]) * CONDENSED_COLUMNS + rank % CONDENSED_COLUMNS);
        m->values[at] = value_of(A, from + place_of(w->key[i]));
    }
}

enum status me_tcf_encode(const csr_matrix *A, me_tcf *m, error_text *error)
{
    sorted_window w;
    *m = (me_tcf){.rows = (int)A->rows, .cols = (int)A->cols, .nnz = (int)A->nnz};
    enum status status = windows_begin(A, 10 * A->nnz + 3 * A->rows, &m->windows, &w, error);
    if (status == STATUS_OK) status = me_tcf_allocate(A, m, error);
    if (status != STATUS_OK) {
        free(w.key);
        me_tcf_free(m);
        return status;
    }
    for (int64_t window = 0; window < m->windows; window++) {
        sort_window(A, window, &w);
        append_window(A, window, &w, (int)A->row_ptr[window * CONDENSED_ROWS], m);
    }
    m->first_block[m->windows] = m->blocks;
    m->begin[m->blocks] = m->nnz;
    free(w.key);
    return STATUS_OK;
}

int64_t me_tcf_bytes(const me_tcf *m)
{
    return 4 * ((int64_t)m->windows + 1) + 4 * ((int64_t)m->blocks + 1) +
           4 * CONDENSED_COLUMNS * (int64_t)m->blocks + 5 * (int64_t)m->nnz;
}

void me_tcf_free(me_tcf *m)
{
    free(m->first_block);
    free(m->begin);
    free(m->column);
    free(m->place);
    free(m->values);
    *m = (me_tcf){0};
}
