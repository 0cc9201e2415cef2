#include "model.h"

#include "matrix/random.h"

#include <math.h>
#include <stdlib.h>

const char *cell_name(enum cell_kind kind)
{
    return kind == CELL_RNN ? "rnn" : kind == CELL_GRU ? "gru" : "lstm";
}

/* Streams of random numbers. */
enum { OF_WEIGHTS, OF_INPUT, OF_TARGET };

/* ---- making it --------------------------------------------------------------------------------- */

static enum status find_cell(recurrent *r, error_text *error)
{
    const csr_matrix *A = &r->data.matrix;
    const int64_t gates = A->cols ? A->rows / A->cols : 0;
    if ((gates != CELL_RNN && gates != CELL_GRU && gates != CELL_LSTM) || A->rows % A->cols)
        return fail(error, STATUS_DATASET,
                    "%s: %lld x %lld is no cell; rows must be 1, 3 or 4 times the columns",
                    r->data.name, (long long)A->rows, (long long)A->cols);
    r->kind = (enum cell_kind)gates;
    r->units = A->cols;
    return STATUS_OK;
}

static enum status refuse_duplicates(const recurrent *r, error_text *error)
{
    const csr_matrix *A = &r->data.matrix;
    int64_t *last = malloc((A->cols + 1) * sizeof *last), twice = -1;
    if (!last) return fail(error, STATUS_MEMORY, "no memory to look at the pattern");
    for (int64_t j = 0; j < A->cols; j++)
        last[j] = -1;
    for (int64_t i = 0; i < A->rows; i++)
        for (int64_t z = A->row_ptr[i]; z < A->row_ptr[i + 1]; z++) {
            if (last[A->col_idx[z]] == i) twice = i;
            last[A->col_idx[z]] = i;
        }
    free(last);
    return twice < 0 ? STATUS_OK
                     : fail(error, STATUS_DATASET, "%s: row %lld has a column twice", r->data.name,
                            (long long)twice);
}

/* Fills numbers: uniform in [-scale, scale). */
static void fill(float *x, int64_t count, float scale, uint64_t stream)
{
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < count; i++)
        x[i] = scale * random_symmetric(stream, i);
}

enum status recurrent_open(const char *spec, const char *data_dir, int N, int steps, uint64_t seed,
                           recurrent *r, error_text *error)
{
    *r = (recurrent){.N = N, .steps = steps};
    enum status status = dataset_open(spec, data_dir, &r->data, error);
    if (status == STATUS_OK) status = find_cell(r, error);
    if (status == STATUS_OK) status = refuse_duplicates(r, error);
    if (status != STATUS_OK) return status;
    const csr_matrix *A = &r->data.matrix;
    const int64_t of_input = steps * A->rows * N, of_target = r->units * N;
    r->W = malloc((A->nnz + 1) * sizeof *r->W);
    r->D = malloc((of_input + 1) * sizeof *r->D);
    r->target = malloc((of_target + 1) * sizeof *r->target);
    if (!r->W || !r->D || !r->target)
        return fail(error, STATUS_MEMORY, "no memory for %lld numbers of input",
                    (long long)of_input);
    fill(r->W, A->nnz, (float)sqrt(3 / ((double)A->nnz / A->rows + 1e-9)),
         random_substream(seed, OF_WEIGHTS));
    fill(r->D, of_input, 1, random_substream(seed, OF_INPUT));
    fill(r->target, of_target, .5f, random_substream(seed, OF_TARGET));
    return STATUS_OK;
}

void recurrent_close(recurrent *r)
{
    dataset_close(&r->data);
    free(r->W);
    free(r->D);
    free(r->target);
}

/* ---- the loss ---------------------------------------------------------------------------------- */

static double logistic(double x)
{
    return 1 / (1 + exp(-x));
}

/* The next state of one unit and column, of its gates' products p and inputs d. */
static double next_state(enum cell_kind kind, const double *p, const double *d, double h, double *c)
{
    if (kind == CELL_RNN) return tanh(p[0] + d[0]);
    if (kind == CELL_GRU) {
        const double reset = logistic(p[0] + d[0]), keep = logistic(p[1] + d[1]);
        return (1 - keep) * tanh(reset * p[2] + d[2]) + keep * h;
    }
    *c = logistic(p[1] + d[1]) * *c + logistic(p[0] + d[0]) * tanh(p[2] + d[2]);
    return logistic(p[3] + d[3]) * tanh(*c);
}

/* One time step of unit j: h is [H][columns]. */
static void advance(const recurrent *r, int t, int columns, int64_t j, const double *W,
                    const double *h, double *next, double *c)
{
    const csr_matrix *A = &r->data.matrix;
    for (int n = 0; n < columns; n++) {
        double p[CELL_LSTM] = {0}, d[CELL_LSTM] = {0};
        for (int g = 0; g < (int)r->kind; g++) {
            const int64_t row = g * r->units + j;
            for (int64_t z = A->row_ptr[row]; z < A->row_ptr[row + 1]; z++)
                p[g] += W[z] * h[(int64_t)A->col_idx[z] * columns + n];
            d[g] = r->D[(t * A->rows + row) * r->N + n];
        }
        next[j * columns + n] = next_state(r->kind, p, d, h[j * columns + n], &c[j * columns + n]);
    }
}

double recurrent_loss(const recurrent *r, int columns, const double *W)
{
    const int64_t count = r->units * columns;
    double *h = calloc(3 * count + 1, sizeof *h), loss = 0;
    if (!h) return NAN;
    double *now = h, *next = h + count, *const c = h + 2 * count;
    for (int t = 0; t < r->steps; t++) {
#pragma omp parallel for schedule(static)
        for (int64_t j = 0; j < r->units; j++)
            advance(r, t, columns, j, W, now, next, c);
        double *const kept = now;
        now = next;
        next = kept;
    }
    for (int64_t j = 0; j < r->units; j++)
        for (int n = 0; n < columns; n++) {
            const double off = now[j * columns + n] - r->target[j * r->N + n];
            loss += off * off / (2.0 * columns);
        }
    free(h);
    return loss;
}
