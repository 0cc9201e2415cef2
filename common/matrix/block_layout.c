#include "matrix/block_layout.h"

#include <stdlib.h>
#include <string.h>

bool block_side_is_known(int64_t side)
{
    return side == 8 || side == 16 || side == 32 || side == 64;
}

/* Moves bit i of x to bit 2i, by halves: 16 bits apart, 8, 4, 2, 1. */
static uint64_t spread_bits(uint32_t x)
{
    uint64_t z = x;
    z = (z | z << 16) & UINT64_C(0x0000ffff0000ffff);
    z = (z | z << 8) & UINT64_C(0x00ff00ff00ff00ff);
    z = (z | z << 4) & UINT64_C(0x0f0f0f0f0f0f0f0f);
    z = (z | z << 2) & UINT64_C(0x3333333333333333);
    return (z | z << 1) & UINT64_C(0x5555555555555555);
}

uint64_t block_z_order(uint32_t row, uint32_t col)
{
    return spread_bits(row) << 1 | spread_bits(col);
}

/* ---- making ---------------------------------------------------------------------------------- */

typedef struct place {
    uint64_t z;
    int row, col, entry;
} place;

static int by_z_order(const void *a, const void *b)
{
    const place *x = a, *y = b;
    return x->z != y->z ? (x->z > y->z) - (x->z < y->z) : x->entry - y->entry;
}

/* Sorts the entries of A, without those that repeat one; returns how many there are. */
static int sort_places(const csr_matrix *A, place *all)
{
    int64_t n = 0, kept = 0;
    for (int64_t r = 0; r < A->rows; r++)
        for (int64_t i = A->row_ptr[r]; i < A->row_ptr[r + 1]; i++)
            all[n++] = (place){block_z_order((uint32_t)r, (uint32_t)A->col_idx[i]), (int)r,
                               A->col_idx[i], (int)i};
    qsort(all, (size_t)n, sizeof *all, by_z_order);
    for (int64_t i = 0; i < n; i++)
        if (i == 0 || all[i].z != all[i - 1].z) all[kept++] = all[i];
    return (int)kept;
}

/* Lists the blocks of each line. Those of one line come by ascending z-order, in which the other coordinate ascends. */
static void list_lines(int lines, int blocks, const int *line, int *ptr, int *of_line)
{
    for (int b = 0; b < blocks; b++)
        ptr[line[b] + 1]++;
    for (int i = 0; i < lines; i++)
        ptr[i + 1] += ptr[i];
    for (int b = 0; b < blocks; b++)
        of_line[ptr[line[b]]++] = b;
    memmove(ptr + 1, ptr, (size_t)lines * sizeof *ptr);
    ptr[0] = 0;
}

static bool allocate(const csr_matrix *A, int blocks, block_layout *l)
{
    const size_t bytes = ((size_t)blocks + 1) * sizeof(int);
    *l = (block_layout){.rows = (int)A->rows,
                        .cols = (int)A->cols,
                        .blocks = blocks,
                        .row = malloc(bytes),
                        .col = malloc(bytes),
                        .entry = malloc(bytes),
                        .of_row = malloc(bytes),
                        .of_col = malloc(bytes),
                        .row_ptr = calloc((size_t)A->rows + 1, sizeof(int)),
                        .col_ptr = calloc((size_t)A->cols + 1, sizeof(int))};
    return l->row && l->col && l->entry && l->of_row && l->of_col && l->row_ptr && l->col_ptr;
}

enum status block_layout_make(const csr_matrix *A, block_layout *layout, error_text *error)
{
    *layout = (block_layout){0};
    place *all = malloc(((size_t)A->nnz + 1) * sizeof *all);
    const int blocks = all ? sort_places(A, all) : 0;
    if (!all || !allocate(A, blocks, layout)) {
        free(all);
        block_layout_free(layout);
        return fail(error, STATUS_MEMORY, "no memory for the layout of %lld blocks",
                    (long long)A->nnz);
    }
    for (int b = 0; b < blocks; b++) {
        layout->row[b] = all[b].row;
        layout->col[b] = all[b].col;
        layout->entry[b] = all[b].entry;
    }
    free(all);
    list_lines(layout->rows, blocks, layout->row, layout->row_ptr, layout->of_row);
    list_lines(layout->cols, blocks, layout->col, layout->col_ptr, layout->of_col);
    return STATUS_OK;
}

void block_layout_free(block_layout *layout)
{
    free(layout->row);
    free(layout->col);
    free(layout->entry);
    free(layout->row_ptr);
    free(layout->of_row);
    free(layout->col_ptr);
    free(layout->of_col);
    *layout = (block_layout){0};
}

/* ---- weights --------------------------------------------------------------------------------- */

void block_identity(const block_layout *l, int side, float scale, float *W)
{
    memset(W, 0, (size_t)l->blocks * side * side * sizeof *W);
    for (int b = 0; b < l->blocks; b++)
        for (int i = 0; i < side && l->row[b] % l->cols == l->col[b] % l->rows; i++)
            W[((size_t)b * side + i) * side + i] = scale;
}

/* Element (0, j) of row i of block b in the dense matrix. */
static size_t dense_row(const block_layout *l, int side, int b, int i)
{
    return ((size_t)l->row[b] * side + i) * l->cols * side + (size_t)l->col[b] * side;
}

void block_to_dense(const block_layout *l, int side, const float *W, float *dense)
{
    memset(dense, 0, (size_t)l->rows * l->cols * side * side * sizeof *dense);
    for (int b = 0; b < l->blocks; b++)
        for (int i = 0; i < side; i++)
            memcpy(dense + dense_row(l, side, b, i), W + ((size_t)b * side + i) * side,
                   side * sizeof *W);
}

void block_from_dense(const block_layout *l, int side, const float *dense, float *W)
{
    for (int b = 0; b < l->blocks; b++)
        for (int i = 0; i < side; i++)
            memcpy(W + ((size_t)b * side + i) * side, dense + dense_row(l, side, b, i),
                   side * sizeof *W);
}
