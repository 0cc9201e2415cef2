#include "matrix/generate_columns.h"

#include "matrix/memory.h"
#include "matrix/random.h"
#include "matrix/row_sort.h"

#include <omp.h>
#include <stdlib.h>

enum {
    AHEAD = 6,  /* draws between asking for memory and using it: about 100 ns */
    TRIES = 32, /* draws before a column is no longer sought by chance */
    WORD_BITS = 64
};

/* Arrays that all threads read. */
typedef struct sampler {
    const csr_matrix *A;
    const column_model *model;
    uint64_t seed;
    int32_t *guide; /* guide[b]: the row that holds entry b << guide_shift */
    int guide_shift;
    int64_t stride; /* column of rank r: r * stride mod cols */
} sampler;

/* The random numbers of one row. */
typedef struct stream {
    uint64_t seed, next;
} stream;

static int64_t below(stream *s, int64_t bound)
{
    return (int64_t)random_below(s->seed, s->next++, (uint64_t)bound);
}

static double unit(stream *s)
{
    return random_unit(s->seed, s->next++);
}

/* ---- popularity --------------------------------------------------------------------------- */

/* Drawing an entry of the whole matrix and taking its row draws rows in proportion to their
 * lengths. The guide cuts the search for an entry's row from all rows to the few that begin between
 * two of its marks. */
static enum status guide_make(sampler *s, error_text *error)
{
    const csr_matrix *A = s->A;
    while (A->nnz >> s->guide_shift > A->rows)
        s->guide_shift++;
    int64_t marks = (A->nnz >> s->guide_shift) + 2;
    int64_t bytes = marks * (int64_t)sizeof *s->guide;
    enum status status = memory_check(bytes, "drawing columns", error);
    if (status != STATUS_OK) return status;
    s->guide = malloc((size_t)bytes);
    if (!s->guide) return fail(error, STATUS_MEMORY, "no memory to draw columns");

    int64_t row = 0;
    for (int64_t mark = 0; mark < marks; mark++) {
        while (row + 1 < A->rows && A->row_ptr[row + 1] <= mark << s->guide_shift)
            row++;
        s->guide[mark] = (int32_t)row;
    }
    return STATUS_OK;
}

/* The row that holds `entry`: the last one that starts at or before it. */
static int64_t row_of_entry(const sampler *s, int64_t entry)
{
    int64_t low = s->guide[entry >> s->guide_shift];
    int64_t high = (int64_t)s->guide[(entry >> s->guide_shift) + 1] + 1;
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        if (s->A->row_ptr[middle] <= entry)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* A number near the golden section of `cols` without a common divisor: multiples of it modulo cols
 * visit every column once, each far from the last. */
static int64_t stride_for(int64_t cols)
{
    int64_t stride = (int64_t)((double)cols * 0.6180339887498949) | 1;
    for (;; stride += 2) {
        int64_t a = cols, b = stride;
        while (b > 0) {
            int64_t rest = a % b;
            a = b;
            b = rest;
        }
        if (a <= 1) return stride;
    }
}

/* With u uniform in [0, 1), (cols + flat) * u^power - flat falls on rank r with the probability in
 * the header; what falls below rank 0 is drawn again. */
static int64_t draw_ranked(const sampler *s, stream *random)
{
    const column_model *m = s->model;
    for (;;) {
        double u = unit(random), x = (double)(s->A->cols + m->flat);
        for (int i = 0; i < m->power; i++)
            x *= u;
        int64_t rank = (int64_t)x - m->flat;
        if (rank >= 0 && rank < s->A->cols) return rank * s->stride % s->A->cols;
    }
}

/* Finding the row of a random entry waits for memory twice. Numbers of a stream can be drawn in any
 * order, so the draws to come are known: their places are asked for while this one is handled.
 * Where other numbers are drawn in between, what comes is not what was asked for, and nothing is
 * lost. */
static void prefetch_draws(const sampler *s, const stream *random)
{
    uint64_t nnz = (uint64_t)s->A->nnz;
    int64_t later = (int64_t)random_below(random->seed, random->next + 2 * AHEAD, nnz);
    int64_t soon = (int64_t)random_below(random->seed, random->next + AHEAD, nnz);
    __builtin_prefetch(&s->guide[later >> s->guide_shift]);
    __builtin_prefetch(&s->A->row_ptr[s->guide[soon >> s->guide_shift]]);
}

/* A column of [low, high) by popularity; inside a window a ranked model is an even one. */
static int64_t draw(const sampler *s, stream *random, int64_t low, int64_t high)
{
    const csr_matrix *A = s->A;
    bool everywhere = high - low == A->cols;
    if (s->model->popularity == COLUMNS_RANKED && everywhere) return draw_ranked(s, random);
    if (s->model->popularity == COLUMNS_BY_LENGTH && A->row_ptr[high] > A->row_ptr[low]) {
        if (everywhere) prefetch_draws(s, random);
        return row_of_entry(s, A->row_ptr[low] + below(random, A->row_ptr[high] - A->row_ptr[low]));
    }
    return low + below(random, high - low);
}

/* ---- one row, without repetition ---------------------------------------------------------- */

static bool is_taken(const uint64_t *taken, int64_t column)
{
    return taken[column / WORD_BITS] >> (column % WORD_BITS) & 1;
}

static void set_taken(uint64_t *taken, int64_t column)
{
    taken[column / WORD_BITS] |= UINT64_C(1) << (column % WORD_BITS);
}

/* The first free column of [from, end), or -1. */
static int64_t free_column(const uint64_t *taken, int64_t from, int64_t end)
{
    while (from < end) {
        uint64_t free_bits = ~taken[from / WORD_BITS] >> (from % WORD_BITS);
        if (free_bits) {
            int64_t column = from + __builtin_ctzll(free_bits);
            return column < end ? column : -1;
        }
        from += WORD_BITS - from % WORD_BITS;
    }
    return -1;
}

/* A free column of [low, high), or where there is none, of the whole row. Chance finds one quickly
 * unless the popular columns are nearly used up; then the next free column upwards is as good. */
static int64_t draw_free(const sampler *s, stream *random, const uint64_t *taken, int64_t low,
                         int64_t high)
{
    int64_t column = low;
    for (int i = 0; i < TRIES; i++) {
        column = draw(s, random, low, high);
        if (!is_taken(taken, column)) return column;
    }
    int64_t found = free_column(taken, column, high);
    if (found < 0) found = free_column(taken, low, column);
    if (found < 0) found = free_column(taken, column, s->A->cols);
    if (found < 0) found = free_column(taken, 0, column);
    return found;
}

/* `taken` is all zero on entry and on return. */
static void draw_row(const sampler *s, int64_t row, uint64_t *taken)
{
    const csr_matrix *A = s->A;
    const column_model *m = s->model;
    stream random = {random_substream(s->seed, (uint64_t)row), 0};
    int32_t *col = A->col_idx + A->row_ptr[row];
    int64_t n = A->row_ptr[row + 1] - A->row_ptr[row];
    int64_t window = 2 * m->window + 1, window_low = 0;
    if (window >= A->cols)
        window = A->cols;
    else {
        window_low = row * A->cols / A->rows - m->window;
        if (window_low > A->cols - window) window_low = A->cols - window;
        if (window_low < 0) window_low = 0;
    }

    if (m->empty_diagonal) set_taken(taken, row);
    for (int64_t k = 0; k < n; k++) {
        if (m->repeats > 0 && k > 0 && unit(&random) < m->repeats) {
            col[k] = col[k - 1];
            continue;
        }
        bool near = m->near > 0 && unit(&random) < m->near;
        col[k] = (int32_t)(near ? draw_free(s, &random, taken, window_low, window_low + window)
                                : draw_free(s, &random, taken, 0, A->cols));
        set_taken(taken, col[k]);
    }
    for (int64_t k = 0; k < n; k++)
        taken[col[k] / WORD_BITS] = 0;
    if (m->empty_diagonal) taken[row / WORD_BITS] = 0;
}

enum status columns_draw(csr_matrix *A, const column_model *model, uint64_t seed, error_text *error)
{
    if (A->nnz == 0) return STATUS_OK;
    sampler s = {.A = A, .model = model, .seed = seed, .stride = stride_for(A->cols)};
    size_t words = (size_t)(A->cols + WORD_BITS - 1) / WORD_BITS;
    int threads = omp_get_max_threads();
    uint64_t *taken = NULL;

    enum status status = STATUS_OK;
    if (model->popularity == COLUMNS_BY_LENGTH) status = guide_make(&s, error);
    if (status != STATUS_OK) goto done;
    status = memory_check((int64_t)words * 8 * threads, "drawing columns", error);
    if (status != STATUS_OK) goto done;
    taken = calloc(words * (size_t)threads, sizeof *taken);
    if (!taken) {
        status = fail(error, STATUS_MEMORY, "no memory to draw columns");
        goto done;
    }

    /* Small pieces: a single row may hold a hundredth of all entries. */
#pragma omp parallel for schedule(dynamic, 64)
    for (int64_t row = 0; row < A->rows; row++)
        draw_row(&s, row, taken + words * (size_t)omp_get_thread_num());
    status = csr_sort_rows(A, error);
done:
    free(taken);
    free(s.guide);
    return status;
}
