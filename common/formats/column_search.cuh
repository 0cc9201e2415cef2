/*
 * column_search.cuh - finds where a column, or a block of columns, begins in a row of ascending columns.
 */
#ifndef FORMATS_COLUMN_SEARCH_CUH
#define FORMATS_COLUMN_SEARCH_CUH

/* Returns the first nonzero from `begin` on, below `end`, of that column or a later one; `end` if there is
 * none. Halves the range: columns[begin .. end-1] must ascend. */
static __host__ __device__ __forceinline__ int first_from_column(const int *columns, int begin,
                                                                 int end, int column)
{
    while (begin < end) {
        const int middle = begin + (end - begin) / 2;
        if (columns[middle] < column)
            begin = middle + 1;
        else
            end = middle;
    }
    return begin;
}

#endif
