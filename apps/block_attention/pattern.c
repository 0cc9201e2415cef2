#include "pattern.h"

int64_t pattern_blocks(const block_pattern *p)
{
    const int side = pattern_side(p);
    int64_t blocks = 0;
    for (int row = 0; row < side; row++)
        for (int col = 0; col <= row; col++)
            blocks += pattern_has(p, row, col);
    return blocks;
}

enum status pattern_make(const block_pattern *p, int heads, csr_matrix *A, error_text *error)
{
    const int side = pattern_side(p);
    const int64_t rows = (int64_t)heads * side;
    const enum status status = csr_alloc(A, rows, rows, heads * pattern_blocks(p), false, error);
    if (status != STATUS_OK) return status;
    int64_t at = 0;
    for (int64_t row = 0; row < rows; row++) {
        const int64_t first = row / side * side;
        for (int col = 0; col <= row - first; col++)
            if (pattern_has(p, (int)(row - first), col)) A->col_idx[at++] = (int32_t)(first + col);
        A->row_ptr[row + 1] = at;
    }
    A->block = p->block;
    return STATUS_OK;
}
