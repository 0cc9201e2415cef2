#include "matrix/summary.h"

#include <math.h>
#include <stdlib.h>

enum { BAR_WIDTH = 50 };

/* Finer where matrices are: layers have from a half to nearly all of their weights removed, graphs
 * lack all but a few in a million entries. */
const histogram_scale sparsity_scale = {
    .title = "sparsity",
    .edge = {0, .1, .2, .3, .4, .5, .6, .7, .8, .9, .95, .98, .99, .999, .9999, .99999},
    .num_bins = 16,
};
const histogram_scale mean_row_scale = {
    .title = "mean row",
    .edge = {0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768},
    .num_bins = 17,
};
const histogram_scale cov_scale = {
    .title = "CoV",
    .edge = {0, .1, .2, .3, .4, .5, .75, 1, 1.5, 2, 3, 5, 10, 20, 50},
    .num_bins = 15,
};

double sparsity_of(const row_stats *s)
{
    const double cells = (double)s->rows * (double)s->cols;
    /* One division, so that 0.7 is the same 0.7 as in the scale. */
    return cells > 0 ? (cells - (double)s->nnz) / cells : NAN;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double median_of(double *values, size_t count)
{
    if (count == 0) return NAN;
    qsort(values, count, sizeof *values, ascending);
    return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

void histogram_count(const histogram_scale *scale, const double *values, size_t count, size_t *bins)
{
    for (int i = 0; i < scale->num_bins; i++)
        bins[i] = 0;
    for (size_t k = 0; k < count; k++) {
        int above = 0; /* edges not above the value */
        while (above < scale->num_bins && values[k] >= scale->edge[above])
            above++;
        if (above > 0) bins[above - 1]++;
    }
}

void histogram_print(FILE *out, const histogram_scale *scale, const double *values, size_t count)
{
    size_t bins[MAX_BINS], fullest = 0;
    int first = scale->num_bins, last = -1;
    histogram_count(scale, values, count, bins);
    for (int i = 0; i < scale->num_bins; i++) {
        if (bins[i] == 0) continue;
        if (first > i) first = i;
        last = i;
        if (bins[i] > fullest) fullest = bins[i];
    }
    for (int i = first; i <= last; i++) {
        char from[24], to[24] = "";
        snprintf(from, sizeof from, "%.10g", scale->edge[i]);
        if (i + 1 < scale->num_bins) snprintf(to, sizeof to, "%.10g", scale->edge[i + 1]);
        fprintf(out, "%-9s %7s %s %-7s %6zu", i == first ? scale->title : "", from,
                *to ? "to" : "up", to, bins[i]);
        if (bins[i] > 0) fputs("  ", out);
        /* Rounded up: one matrix among thousands is still to be seen. */
        for (size_t k = (bins[i] * BAR_WIDTH + fullest - 1) / fullest; k > 0; k--)
            putc('#', out);
        putc('\n', out);
    }
}
