#include "matrix/row_cut.h"

static int64_t work_before(const int64_t *row_ptr, int64_t row)
{
    return row_ptr[row] + ROW_RANGES_ROW_COST * row;
}

void row_ranges_cut(const int64_t *row_ptr, int64_t rows, int ranges, int64_t *first)
{
    const int64_t all = work_before(row_ptr, rows);
    for (int r = 0; r <= ranges; r++) {
        /* all * r overflows nothing: 2^40 nonzeros on 2^16 ranges stay below 2^63 */
        const int64_t share = all * r / ranges;
        int64_t low = 0, high = rows;
        while (low < high) {
            const int64_t middle = low + (high - low) / 2;
            if (work_before(row_ptr, middle) < share)
                low = middle + 1;
            else
                high = middle;
        }
        first[r] = low;
    }
}
