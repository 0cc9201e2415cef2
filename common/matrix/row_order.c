#include "matrix/row_order.h"

static int class_of(const csr_matrix *A, int64_t row, int unit, int classes)
{
    const int64_t length = A->row_ptr[row + 1] - A->row_ptr[row];
    const int64_t in_units = (length + unit - 1) / unit;
    return in_units < classes ? (int)in_units : classes - 1;
}

static void sort_window(const csr_matrix *A, int64_t from, int64_t to, int unit, int classes,
                        int *order)
{
    int64_t place[MAX_ROW_CLASSES] = {0}; /* how many a class has, then where its next one goes */
    for (int64_t row = from; row < to; row++)
        place[class_of(A, row, unit, classes)]++;
    int64_t at = from;
    for (int c = classes - 1; c >= 0; c--) {
        const int64_t count = place[c];
        place[c] = at;
        at += count;
    }
    for (int64_t row = from; row < to; row++)
        order[place[class_of(A, row, unit, classes)]++] = (int)row;
}

void rows_by_length(const csr_matrix *A, int window, int unit, int classes, int *order)
{
    for (int64_t from = 0; from < A->rows; from += window) {
        const int64_t to = from + window < A->rows ? from + window : A->rows;
        sort_window(A, from, to, unit, classes, order);
    }
}
