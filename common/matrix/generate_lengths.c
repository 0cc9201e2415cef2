#include "matrix/generate_lengths.h"

#include "matrix/generate_math.h"
#include "matrix/random.h"

double equal_weight(const void *unused, int64_t row)
{
    (void)unused, (void)row;
    return 1;
}

/* exp of a normal number with this sigma has the coefficient of variation asked for. */
log_normal log_normal_of(double cov, uint64_t seed)
{
    return (log_normal){sqrt(portable_log(1 + cov * cov)), seed};
}

/* z, the sum of twelve uniform numbers less 6, is nearly normal. */
double log_normal_weight(const void *model, int64_t row)
{
    const log_normal *m = model;
    double z = -6;
    for (uint64_t i = 0; i < 12; i++)
        z += random_unit(m->seed, 12 * (uint64_t)row + i);
    return portable_exp(m->sigma * z);
}

/* The entries per unit of weight in rows below the cap; *open_weight and *open_total receive what
 * those rows weigh and hold together. In each round the rows that the current scale fills drop out,
 * and the scale of the others rises. So the full rows only become more, and the rounds end. */
static double scale_under_cap(int64_t rows, int64_t total, int64_t cap, row_weight weight,
                              const void *model, double *open_weight, int64_t *open_total)
{
    double scale = 0;
    for (int64_t full_before = -1;;) {
        int64_t full = 0;
        *open_weight = 0;
        for (int64_t i = 0; i < rows; i++) {
            double w = weight(model, i);
            if (scale * w >= (double)cap)
                full++;
            else
                *open_weight += w;
        }
        *open_total = total - full * cap;
        if (full == rows || full <= full_before) return scale;
        scale = (double)*open_total / *open_weight;
        full_before = full;
    }
}

void lengths_share(int64_t *length, int64_t rows, int64_t total, int64_t cap, row_weight weight,
                   const void *model)
{
    double open_weight;
    int64_t open_total;
    double scale = scale_under_cap(rows, total, cap, weight, model, &open_weight, &open_total);

    /* Rounding the running sum, not each length, makes the sum come out exactly. */
    double passed = 0;
    int64_t placed = 0;
    for (int64_t i = 0; i < rows; i++) {
        double w = weight(model, i);
        if (scale * w >= (double)cap) {
            length[i] = cap;
            continue;
        }
        passed += w;
        int64_t reached = (int64_t)((double)open_total * (passed / open_weight) + 0.5);
        length[i] = reached - placed < cap ? reached - placed : cap;
        placed += length[i];
    }

    /* A row that rounding pushed over the cap at the very end leaves an entry to place. */
    for (int64_t i = 0; i < rows && placed < open_total; i++) {
        if (length[i] < cap) {
            length[i]++;
            placed++;
        }
    }
}

void lengths_shuffle(int64_t *length, int64_t rows, uint64_t seed)
{
    for (int64_t i = rows - 1; i > 0; i--) {
        int64_t j = (int64_t)random_below(seed, (uint64_t)i, (uint64_t)i + 1);
        int64_t swap = length[i];
        length[i] = length[j];
        length[j] = swap;
    }
}

void lengths_to_offsets(csr_matrix *A)
{
    for (int64_t i = 0; i < A->rows; i++)
        A->row_ptr[i + 1] += A->row_ptr[i];
}
