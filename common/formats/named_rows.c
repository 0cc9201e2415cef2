#include "formats/named_rows.h"

#include <stdlib.h>
#include <string.h>

static int64_t list_number(const named_rows *n, int rank, int chunk, int source)
{
    return ((int64_t)rank * n->order.chunks + chunk) * n->order.ranks + source;
}

/* Marks the rows of B that a range of rows of A names. */
static void mark(const csr_matrix *A, int64_t begin, int64_t end, bool all, uint8_t *is_named)
{
    memset(is_named, all, A->cols);
    for (int64_t k = A->row_ptr[begin]; k < A->row_ptr[end] && !all; k++)
        is_named[A->col_idx[k]] = 1;
}

/* Writes the lists of a rank from `at` on; returns their end. */
static int64_t write_lists(named_rows *n, int rank, const uint8_t *is_named, int64_t at)
{
    n->width[rank] = 1;
    for (int k = 0; k < n->order.chunks; k++) {
        const int64_t chunk_begins = at;
        for (int q = 0; q < n->order.ranks; q++) {
            int64_t from, end;
            arrival_chunk(&n->order, q, k, &from, &end);
            n->first[list_number(n, rank, k, q)] = at;
            for (int64_t v = from; v < end; v++)
                if (is_named[v]) n->rows[at++] = (int32_t)v;
        }
        if (at - chunk_begins > n->width[rank]) n->width[rank] = at - chunk_begins;
    }
    return at;
}

bool named_rows_make(named_rows *n, const csr_matrix *A, const int64_t *first_row,
                     const arrival_order *order, bool all)
{
    const int ranks = order->ranks;
    const size_t lists = (size_t)ranks * order->chunks * ranks;
    uint8_t *is_named = malloc(A->cols + 1);
    *n = (named_rows){.order = *order};
    n->first = malloc((lists + 1) * sizeof *n->first);
    n->rows = malloc(((size_t)A->cols * ranks + 1) * sizeof *n->rows);
    const bool made = is_named && n->first && n->rows;
    int64_t at = 0;
    for (int r = 0; r < ranks && made; r++) {
        mark(A, first_row[r], first_row[r + 1], all, is_named);
        at = write_lists(n, r, is_named, at);
    }
    if (made)
        n->first[lists] = at;
    else
        named_rows_free(n);
    free(is_named);
    return made;
}

void named_rows_free(named_rows *n)
{
    free(n->rows);
    free(n->first);
    *n = (named_rows){0};
}

const int32_t *named_rows_list(const named_rows *n, int rank, int chunk, int source, int64_t *count)
{
    const int64_t *const first = n->first + list_number(n, rank, chunk, source);
    *count = first[1] - first[0];
    return n->rows + first[0];
}

int64_t named_rows_place(const named_rows *n, int rank, int chunk, int source)
{
    const int64_t in_chunk =
        n->first[list_number(n, rank, chunk, source)] - n->first[list_number(n, rank, chunk, 0)];
    return chunk * n->width[rank] + in_chunk;
}

void named_rows_places(const named_rows *n, int rank, int32_t *place)
{
    for (int k = 0; k < n->order.chunks; k++)
        for (int q = 0; q < n->order.ranks; q++) {
            int64_t count;
            const int32_t *const list = named_rows_list(n, rank, k, q, &count);
            const int64_t first = named_rows_place(n, rank, k, q);
            for (int64_t i = 0; i < count; i++)
                place[list[i]] = (int32_t)(first + i);
        }
}
