#include "ops/bsmm_problem.h"

#include "matrix/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the layout ------------------------------------------------------------------------------ */

enum status bsmm_layout_create(problem *p, int block_knob, block_layout *layout, int *block,
                               error_text *error)
{
    const csr_matrix *A = p->A;
    enum status status = dataset_check(p, "block-sparse", error);
    if (status != STATUS_OK) return status;
    if (A->block) p->knobs[block_knob] = A->block;
    *block = problem_knob(p, block_knob);
    const int64_t lines = A->rows > A->cols ? A->rows : A->cols;
    if (lines * *block > INT32_MAX)
        return fail(error, STATUS_MEMORY, "%lld blocks of %d features are more than an int counts",
                    (long long)lines, *block);
    if (A->nnz * *block * *block > MAX_NNZ)
        return fail(error, STATUS_MEMORY, "%lld blocks of %d x %d are more weights than 2^31",
                    (long long)A->nnz, *block, *block);
    uint8_t *used = dataset_mark_columns(p); /* counts them */
    if (!used) return fail(error, STATUS_MEMORY, "no memory to mark the columns of A");
    free(used);
    return block_layout_make(A, layout, error);
}

uint8_t *bsmm_mark_lines(const block_layout *layout, bool columns, const float *gate)
{
    uint8_t *used = calloc((size_t)(columns ? layout->cols : layout->rows) + 1, 1);
    for (int b = 0; used && b < layout->blocks; b++)
        if (!gate || gate[b] != 0) used[columns ? layout->col[b] : layout->row[b]] = 1;
    return used;
}

/* ---- inputs ---------------------------------------------------------------------------------- */

void bsmm_gates_fill(numbers *gate, const problem *p, const block_layout *layout)
{
    const uint64_t stream = random_substream(p->seed, 10), zeros = random_substream(p->seed, 11);
    const float *values = p->whole ? NULL : p->A->values;
    for (int b = 0; b < layout->blocks; b++) {
        const float drawn =
            p->whole ? 1 + (float)random_below(stream, b, 2) : random_symmetric(stream, b);
        gate->own[b] = values                           ? values[layout->entry[b]]
                       : random_below(zeros, b, 4) == 0 ? 0
                                                        : drawn;
    }
}

void bsmm_features_fill(numbers *n, int count, int lines, int block, int N, const uint8_t *used,
                        int most, uint64_t stream)
{
    const int64_t features = (int64_t)lines * block;
    const bool token_major = bsmm_token_major(n->precision);
#pragma omp parallel for schedule(static)
    for (int64_t row = 0; row < count * (token_major ? N : features); row++) {
        const int64_t width = token_major ? features : N;
        for (int64_t i = 0; i < width; i++) {
            const int64_t feature = token_major ? i : row % features;
            const size_t at = (size_t)(row * width + i);
            n->own[at] = used[feature / block] ? input_number(most, stream, at)
                         : feature % 2         ? INFINITY
                                               : NAN;
        }
    }
}

bool bsmm_weights_fill(numbers *n, const block_layout *layout, int block, const float *gate,
                       int most, uint64_t stream)
{
    uint8_t *used = malloc((size_t)layout->blocks + 1);
    for (int b = 0; used && b < layout->blocks; b++)
        used[b] = !gate || gate[b] != 0;
    if (used) numbers_fill_rows(n, layout->blocks, block * block, used, most, stream);
    free(used);
    return used != NULL;
}

/* ---- sums ------------------------------------------------------------------------------------ */

bool bsmm_sums_alloc(bsmm_sums *s, int64_t count)
{
    s->result = calloc(4 * ((size_t)count + 1), sizeof *s->result);
    if (!s->result) return false;
    s->size = s->result + count;
    s->squares = s->size + count;
    s->largest = s->squares + count;
    s->count = count;
    return true;
}

void bsmm_sums_clear(bsmm_sums *s)
{
    memset(s->result, 0, 4 * (size_t)s->count * sizeof *s->result);
}

void bsmm_sums_free(bsmm_sums *s)
{
    free(s->result);
    *s = (bsmm_sums){0};
}
