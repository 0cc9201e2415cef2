#include "matrix/shapes.h"

#include "matrix/random.h"

/* Nonzeros the largest tile of any lab holds; row lengths are tried up to two of them and a bit. */
enum { LARGEST_TILE = 128, LONGEST_TRIED = 2 * LARGEST_TILE + 3, ALIGNMENTS = 4 };

/* How long row i is, and which column its k-th nonzero has. */
typedef int64_t row_length_fn(int64_t row);
typedef int32_t column_fn(int64_t row, int64_t k, int64_t cols);

static enum status make(csr_matrix *A, int64_t rows, int64_t cols, row_length_fn *length,
                        column_fn *column, error_text *error)
{
    int64_t nnz = 0;
    for (int64_t i = 0; i < rows; i++)
        nnz += length(i);
    enum status status = csr_alloc(A, rows, cols, nnz, false, error);
    if (status != STATUS_OK) return status;
    for (int64_t i = 0, at = 0; i < rows; i++) {
        for (int64_t k = 0; k < length(i); k++)
            A->col_idx[at++] = column(i, k, cols);
        A->row_ptr[i + 1] = at;
    }
    return csr_validate(A, "test matrix", error);
}

/* ---- columns --------------------------------------------------------------------------------- */

/* Spread over all columns, unsorted, with repetitions. */
static int32_t any_column(int64_t row, int64_t k, int64_t cols)
{
    return (int32_t)random_below(row, k, cols);
}

/* Ascending and distinct while the row is no longer than cols. */
static int32_t sorted_column(int64_t row, int64_t k, int64_t cols)
{
    (void)row;
    return (int32_t)(k % cols);
}

/* Only odd ones: the harness fills the untouched rows of B, row 0 among them, with NaN and
 * infinities. */
static int32_t odd_column(int64_t row, int64_t k, int64_t cols)
{
    return (int32_t)(2 * random_below(row, k, cols / 2) + 1);
}

/* The same column many times over. */
static int32_t repeated_column(int64_t row, int64_t k, int64_t cols)
{
    return (int32_t)((row + k / 7) % cols);
}

/* In the lower half, but for two that are the only ones of their quarters. */
static int32_t lower_column(int64_t row, int64_t k, int64_t cols)
{
    if (k == 100 || k == 1900) return (int32_t)(k == 100 ? cols - 1 : cols / 2);
    return (int32_t)random_below(row, k, cols / 2);
}

/* ---- row lengths ----------------------------------------------------------------------------- */

static int64_t no_length(int64_t row)
{
    (void)row;
    return 0;
}
static int64_t five(int64_t row)
{
    (void)row;
    return 5;
}
static int64_t every_third_empty(int64_t row)
{
    return row % 3 ? row % 40 : 0;
}
static int64_t one_huge(int64_t row)
{
    return row == 17 ? 3001 : row % 4;
}
/* Rows of a block each where those of up to 2048 are of a warp: a block finds several of every other row. */
static int64_t several_huge(int64_t row)
{
    if (row == 6) return 2048;
    return row == 0 || row == 2 || row == 4 || row == 1099 ? 2049 : row % 3;
}
/* Long sums, where rounding adds up and one product is a small part. */
static int64_t thousands(int64_t row)
{
    return row == 3 ? 5000 : row == 9 ? 10000 : row == 15 ? 40000 : row % 3;
}
static int64_t huge_first(int64_t row)
{
    return row == 0 ? 1500 : 1;
}
static int64_t huge_last(int64_t row)
{
    return row == 36 ? 1500 : 0;
}
static int64_t skewed(int64_t row)
{
    return 2000 / ((row * 7) % 97 + 1);
}

/* Pairs of rows: the second of pair p has length p % (LONGEST_TRIED + 1); the first pads, so that
 * over ALIGNMENTS rounds every length starts at every offset modulo ALIGNMENTS. */
static int64_t lengths_at_alignments(int64_t row)
{
    const int64_t pair = row / 2, lengths = LONGEST_TRIED + 1;
    if (row % 2) return pair % lengths;
    /* Nonzeros before this pair, were every pair padded so far: keep the sum of the padding and
     * the length before it congruent to the round. */
    const int64_t round = pair / lengths, before = pair ? (pair - 1) % lengths : 0;
    const int64_t last_round = pair ? (pair - 1) / lengths : 0;
    const int64_t offset = (last_round + before) % ALIGNMENTS;
    return (round - offset + ALIGNMENTS) % ALIGNMENTS;
}

static int64_t mixed(int64_t row)
{
    static const int64_t LENGTHS[] = {0,   1,   31,  32, 33,  63,  64, 65,
                                      127, 128, 129, 5,  256, 257, 700};
    return LENGTHS[row % (sizeof LENGTHS / sizeof LENGTHS[0])];
}

/* ---- the list -------------------------------------------------------------------------------- */

#define SHAPE(function, rows, cols, length, column)               \
    static enum status function(csr_matrix *A, error_text *error) \
    {                                                             \
        return make(A, rows, cols, length, column, error);        \
    }

SHAPE(make_no_rows, 0, 9, no_length, any_column)
SHAPE(make_no_columns, 9, 0, no_length, any_column)
SHAPE(make_nothing, 131, 7, no_length, any_column)
SHAPE(make_one_element, 1, 1, huge_first, any_column)
SHAPE(make_empty_rows, 131, 50, every_third_empty, any_column)
SHAPE(make_one_huge_row, 45, 300, one_huge, any_column)
SHAPE(make_several_huge_rows, 1100, 400, several_huge, lower_column)
SHAPE(make_huge_first_row, 37, 2000, huge_first, sorted_column)
SHAPE(make_huge_last_row, 37, 2000, huge_last, sorted_column)
SHAPE(make_one_column, 70, 1, five, any_column)
SHAPE(make_tall, 1000, 33, every_third_empty, sorted_column)
SHAPE(make_duplicates, 90, 64, every_third_empty, repeated_column)
SHAPE(make_unused_columns, 90, 64, every_third_empty, odd_column)
SHAPE(make_skewed, 97, 97, skewed, any_column)
SHAPE(make_lengths, 2 * ALIGNMENTS * (LONGEST_TRIED + 1), 400, lengths_at_alignments, any_column)

enum status make_long_rows(csr_matrix *A, error_text *error)
{
    return make(A, 20, 10000, thousands, any_column, error);
}

enum status make_neighbours(csr_matrix *A, error_text *error)
{
    return make(A, 33, 1000, every_third_empty, sorted_column, error);
}

enum status make_everything(csr_matrix *A, error_text *error)
{
    return make(A, 131, 300, mixed, odd_column, error);
}

enum status make_few_blocks(csr_matrix *A, error_text *error)
{
    return make(A, 13, 21, mixed, odd_column, error);
}

static int64_t uneven(int64_t row)
{
    (void)row;
    return 4 + 11;
}

static int32_t uneven_column(int64_t row, int64_t k, int64_t cols)
{
    (void)cols;
    return (int32_t)(k < 4 ? k : 4 * (k - 3) + (row + k) % 4);
}

enum status make_uneven_blocks(csr_matrix *A, error_text *error)
{
    const enum status status = make(A, 13, 48, uneven, uneven_column, error);
    if (status == STATUS_OK) A->block = 64;
    return status;
}

typedef float value_fn(int64_t k);

/* 50 rows of 9 nonzeros with values of their own. */
static enum status make_with_values(csr_matrix *A, value_fn *value, error_text *error)
{
    const int64_t rows = 50, cols = 60, length = 9;
    enum status status = csr_alloc(A, rows, cols, rows * length, true, error);
    if (status != STATUS_OK) return status;
    for (int64_t k = 0; k < A->nnz; k++) {
        A->col_idx[k] = (int32_t)random_below(3, k, cols);
        A->values[k] = value(k);
    }
    for (int64_t i = 0; i <= rows; i++)
        A->row_ptr[i] = i * length;
    return STATUS_OK;
}

static float zero_or_subnormal(int64_t k)
{
    return k % 3 == 0 ? 0.0f : k % 3 == 1 ? -0x1p-140f : random_symmetric(4, k);
}
static float subnormal(int64_t k)
{
    return random_symmetric(5, k) * 0x1p-130f;
}

enum status make_explicit_zeros(csr_matrix *A, error_text *error)
{
    return make_with_values(A, zero_or_subnormal, error);
}
static enum status make_subnormals(csr_matrix *A, error_text *error)
{
    return make_with_values(A, subnormal, error);
}

const shape SHAPES[] = {
    {"no rows", make_no_rows},
    {"no columns", make_no_columns},
    {"no nonzeros", make_nothing},
    {"one by one", make_one_element},
    {"empty rows", make_empty_rows},
    {"one huge row", make_one_huge_row},
    {"several huge rows", make_several_huge_rows},
    {"huge first row", make_huge_first_row},
    {"huge last row, the rest empty", make_huge_last_row},
    {"one column", make_one_column},
    {"wider than tall", make_neighbours},
    {"taller than wide", make_tall},
    {"duplicate columns", make_duplicates},
    {"NaN and Inf in untouched rows of B", make_unused_columns},
    {"skewed row lengths", make_skewed},
    {"explicit zeros and subnormals", make_explicit_zeros},
    {"every row length at every alignment", make_lengths},
    {"everything at once", make_everything},
    {"rows of 5,000, 10,000 and 40,000", make_long_rows},
    {"subnormals alone", make_subnormals},
};
const int NUM_SHAPES = sizeof SHAPES / sizeof SHAPES[0];
