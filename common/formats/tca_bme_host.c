#include "formats/tca_bme.h"
#include "matrix/memory.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* A row of groups, spread out: which elements are stored, and their values. */
typedef struct band {
    int64_t width;
    uint8_t *stored; /* GROUP_SIDE x width ... */
    uint16_t *value; /* ... each */
} band;

static void band_free(band *b)
{
    free(b->stored);
    free(b->value);
    *b = (band){0};
}

static enum status band_alloc(band *b, int across, error_text *error)
{
    b->width = (int64_t)across * GROUP_SIDE;
    const size_t elements = (size_t)b->width * GROUP_SIDE;
    b->stored = calloc(elements + 1, sizeof *b->stored);
    b->value = calloc(elements + 1, sizeof *b->value);
    if (b->stored && b->value) return STATUS_OK;
    band_free(b);
    return fail(error, STATUS_MEMORY, "no memory for a row of groups");
}

/* Where bitmap tile `tile` of the band's n-th group has its first element. */
static size_t corner_of(const band *b, int64_t n, int tile)
{
    const int strip = tile / STRIP_BITMAPS, mma = tile / 4 % 4, quarter = tile % 4;
    const int64_t row = strip * MMA_SIDE + quarter % 2 * BITMAP_SIDE;
    const int64_t column = n * GROUP_SIDE + mma * MMA_SIDE + quarter / 2 * BITMAP_SIDE;
    return (size_t)(row * b->width + column);
}

static size_t bit_of(const band *b, size_t corner, int bit)
{
    return corner + (size_t)(bit / BITMAP_SIDE * b->width) + bit % BITMAP_SIDE;
}

/* ---- to the format ----------------------------------------------------------------------------- */

void tca_bme_free(tca_bme *m)
{
    free(m->offset);
    free(m->bitmap);
    free(m->values);
    free(m->repeat_ptr);
    free(m->repeat_col);
    free(m->repeat_value);
    *m = (tca_bme){0};
}

/* Spreads out rows first, first + 1, ... of A, and appends what is named again to the repeats. */
static void spread(const csr_matrix *A, const uint16_t *values, int64_t first, band *b, tca_bme *m)
{
    memset(b->stored, 0, (size_t)b->width * GROUP_SIDE);
    for (int64_t i = first; i < first + GROUP_SIDE && i < A->rows; i++) {
        for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
            const size_t at = (size_t)((i - first) * b->width + A->col_idx[k]);
            if (!b->stored[at]) {
                b->stored[at] = 1;
                b->value[at] = values[k];
            } else {
                m->repeat_col[m->num_repeats] = A->col_idx[k];
                m->repeat_value[m->num_repeats++] = values[k];
            }
        }
        m->repeat_ptr[i + 1] = m->num_repeats;
    }
}

/* Appends one group's bitmaps and values, bit by bit. */
static void append_group(const band *b, int64_t group, tca_bme *m)
{
    const int start = m->num_values;
    m->offset[group] = start;
    for (int tile = 0; tile < GROUP_BITMAPS; tile++) {
        const size_t corner = corner_of(b, group % m->across, tile);
        uint64_t bits = 0;
        for (int bit = 0; bit < 64; bit++) {
            const size_t at = bit_of(b, corner, bit);
            if (!b->stored[at]) continue;
            bits |= UINT64_C(1) << bit;
            m->values[m->num_values++] = b->value[at];
        }
        m->bitmap[group * GROUP_BITMAPS + tile] = bits;
    }
    while (m->num_values % GROUP_ALIGNMENT)
        m->values[m->num_values++] = 0;
    if (m->num_values - start > m->longest) m->longest = m->num_values - start;
}

/* Room for the most values there can be. */
static enum status allocate(const csr_matrix *A, tca_bme *m, error_text *error)
{
    const int64_t groups = tca_bme_groups(m), most = A->nnz + groups * (GROUP_ALIGNMENT - 1);
    if (most > INT_MAX || groups > INT_MAX - 1)
        return fail(error, STATUS_MEMORY, "too large for 32-bit offsets");
    const int64_t bytes = (4 + 8 * GROUP_BITMAPS) * groups + 2 * most + 6 * A->nnz + 4 * A->rows;
    enum status status = memory_check(bytes, "the bitmaps", error);
    if (status != STATUS_OK) return status;
    m->offset = calloc((size_t)groups + 1, sizeof *m->offset);
    m->bitmap = calloc((size_t)groups * GROUP_BITMAPS + 1, sizeof *m->bitmap);
    m->values = calloc((size_t)most + 1, sizeof *m->values);
    m->repeat_ptr = calloc((size_t)A->rows + 1, sizeof *m->repeat_ptr);
    m->repeat_col = calloc((size_t)A->nnz + 1, sizeof *m->repeat_col);
    m->repeat_value = calloc((size_t)A->nnz + 1, sizeof *m->repeat_value);
    if (m->offset && m->bitmap && m->values && m->repeat_ptr && m->repeat_col && m->repeat_value)
        return STATUS_OK;
    return fail(error, STATUS_MEMORY, "no memory for the bitmaps");
}

enum status tca_bme_encode(const csr_matrix *A, const uint16_t *values, tca_bme *m,
                           error_text *error)
{
    band b = {0};
    *m = (tca_bme){.rows = (int)A->rows,
                   .cols = (int)A->cols,
                   .down = groups_of(A->rows),
                   .across = groups_of(A->cols)};
    enum status status = allocate(A, m, error);
    if (status == STATUS_OK) status = band_alloc(&b, m->across, error);
    if (status != STATUS_OK) {
        tca_bme_free(m);
        return status;
    }
    for (int64_t row = 0; row < m->down; row++) {
        spread(A, values, row * GROUP_SIDE, &b, m);
        for (int64_t group = row * m->across; group < (row + 1) * m->across; group++)
            append_group(&b, group, m);
    }
    m->offset[tca_bme_groups(m)] = m->num_values;
    band_free(&b);
    return STATUS_OK;
}

/* ---- and back ---------------------------------------------------------------------------------- */

static void take_group(const tca_bme *m, int64_t group, band *b)
{
    const uint16_t *next = m->values + m->offset[group];
    for (int tile = 0; tile < GROUP_BITMAPS; tile++) {
        const size_t corner = corner_of(b, group % m->across, tile);
        for (int bit = 0; bit < 64; bit++) {
            const size_t at = bit_of(b, corner, bit);
            b->stored[at] = m->bitmap[group * GROUP_BITMAPS + tile] >> bit & 1;
            if (b->stored[at]) b->value[at] = *next++;
        }
    }
}

/* Appends the band's rows to A, which has room for them. */
static void append_rows(const tca_bme *m, const band *b, int64_t first, csr_matrix *A,
                        uint16_t *values)
{
    for (int64_t i = first; i < first + GROUP_SIDE && i < A->rows; i++) {
        int64_t at = A->row_ptr[i];
        for (int64_t column = 0; column < A->cols; column++) {
            const size_t from = (size_t)((i - first) * b->width + column);
            if (!b->stored[from]) continue;
            A->col_idx[at] = (int32_t)column;
            values[at++] = b->value[from];
        }
        for (int k = m->repeat_ptr[i]; k < m->repeat_ptr[i + 1]; k++) {
            A->col_idx[at] = m->repeat_col[k];
            values[at++] = m->repeat_value[k];
        }
        A->row_ptr[i + 1] = at;
    }
}

enum status tca_bme_decode(const tca_bme *m, csr_matrix *A, uint16_t **values, error_text *error)
{
    band b = {0};
    int64_t nnz = m->num_repeats;
    *values = NULL;
    for (int64_t i = 0; i < tca_bme_groups(m) * GROUP_BITMAPS; i++)
        nnz += __builtin_popcountll(m->bitmap[i]);
    enum status status = csr_alloc(A, m->rows, m->cols, nnz, false, error);
    if (status == STATUS_OK) status = band_alloc(&b, m->across, error);
    if (status != STATUS_OK) goto done;
    *values = malloc((size_t)nnz * sizeof **values + 1);
    if (!*values) {
        status = fail(error, STATUS_MEMORY, "no memory for the values");
        goto done;
    }
    for (int64_t row = 0; row < m->down; row++) {
        for (int64_t group = row * m->across; group < (row + 1) * m->across; group++)
            take_group(m, group, &b);
        append_rows(m, &b, row * GROUP_SIDE, A, *values);
    }
done:
    band_free(&b);
    if (status != STATUS_OK) csr_free(A);
    return status;
}
