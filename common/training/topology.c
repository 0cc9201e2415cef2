#include "training/topology.h"

#include "matrix/random.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

/* A place of W, and how much is said for it. */
typedef struct candidate {
    float score;
    int64_t place;
} candidate;

/* Fates of a place. */
enum { IS_ZERO, STAYS, GROWS };

typedef struct change {
    const csr_matrix *W;
    unsigned char *fate; /* of each place of rows * cols */
    float *value;        /* of places that stay */
    candidate *list;
} change;

static bool is_before(const candidate *a, const candidate *b)
{
    return a->score > b->score || (a->score == b->score && a->place < b->place);
}

static void swap(candidate *a, candidate *b)
{
    const candidate kept = *a;
    *a = *b;
    *b = kept;
}

/* Brings the k best of `count` candidates to the front, in any order: C. A. R. Hoare's selection. No two are equal. */
static void select_best(candidate *list, int64_t count, int64_t k)
{
    int64_t low = 0, high = count - 1;
    while (low < high) {
        const candidate pivot = list[low + (high - low) / 2];
        int64_t i = low, j = high;
        while (i <= j) {
            while (is_before(&list[i], &pivot))
                i++;
            while (is_before(&pivot, &list[j]))
                j--;
            if (i <= j) swap(&list[i++], &list[j--]);
        }
        if (k - 1 <= j)
            high = j;
        else if (k - 1 >= i)
            low = i;
        else
            return;
    }
}

/* Marks all weights as staying but for the k least. */
static void drop(const change *c, int64_t k)
{
    const csr_matrix *W = c->W;
    for (int64_t i = 0; i < W->rows; i++)
        for (int64_t z = W->row_ptr[i]; z < W->row_ptr[i + 1]; z++) {
            const int64_t place = i * W->cols + W->col_idx[z];
            c->list[z] = (candidate){-fabsf(W->values[z]), place};
            c->fate[place] = STAYS;
            c->value[place] = W->values[z];
        }
    select_best(c->list, W->nnz, k);
}

/* Marks k places that are zero in W. A weight that was just dropped still has its mark, so that it does not grow again. */
static void grow(const change *c, int64_t k, const float *G, uint64_t seed)
{
    const int64_t all = c->W->rows * c->W->cols;
    int64_t zeros = 0;
    for (int64_t place = 0; place < all; place++)
        if (c->fate[place] == IS_ZERO)
            c->list[zeros++] =
                (candidate){G ? fabsf(G[place]) : (float)random_unit(seed, place), place};
    select_best(c->list, zeros, k);
    for (int64_t i = 0; i < k; i++) {
        c->fate[c->list[i].place] = GROWS;
        c->value[c->list[i].place] = 0;
    }
}

static void write_next(const change *c, csr_matrix *next)
{
    int64_t z = 0, place = 0;
    for (int64_t i = 0; i < next->rows; i++) {
        for (int64_t j = 0; j < next->cols; j++, place++) {
            if (c->fate[place] == IS_ZERO) continue;
            next->col_idx[z] = (int32_t)j;
            next->values[z++] = c->value[place];
        }
        next->row_ptr[i + 1] = z;
    }
}

enum status topology_change(const csr_matrix *W, int64_t drops, int64_t grows, const float *G,
                            uint64_t seed, csr_matrix *next, error_text *error)
{
    const int64_t all = W->rows * W->cols, zeros = all - W->nnz;
    if (grows > zeros) grows = zeros;
    enum status status = csr_alloc(next, W->rows, W->cols, W->nnz - drops + grows, true, error);
    if (status != STATUS_OK) return status;
    const change c = {W, calloc(all + 1, 1), malloc((all + 1) * sizeof(float)),
                      malloc((all + 1) * sizeof(candidate))};
    candidate *dropped = malloc((drops + 1) * sizeof *dropped);
    if (!c.fate || !c.value || !c.list || !dropped) {
        status = fail(error, STATUS_MEMORY, "no memory to choose another pattern");
        csr_free(next);
    } else {
        drop(&c, drops);
        for (int64_t i = 0; i < drops; i++)
            dropped[i] = c.list[i];
        grow(&c, grows, G, seed);
        for (int64_t i = 0; i < drops; i++)
            c.fate[dropped[i].place] = IS_ZERO;
        write_next(&c, next);
    }
    free(c.fate);
    free(c.value);
    free(c.list);
    free(dropped);
    return status;
}
