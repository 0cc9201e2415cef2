#include "ops/attention_problem.h"

#include "matrix/memory.h"
#include "matrix/random.h"
#include "ops/rounding.h"
#include "ops/softmax.h"
#include "ops/wide_vectors.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

/* Streams of random numbers: one an array, one for the kinds of rows, one for what a column is. */
enum { OF_VALUES = 1, OF_Q, OF_K, OF_V, OF_EL, OF_ER, OF_A, OF_ROW, OF_COLUMN };

void attention_problem_free(attention_problem *own)
{
    numbers *const all[] = {&own->values, &own->Q, &own->K, &own->V, &own->el, &own->er, &own->a};
    free(own->row_ptr);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        numbers_free(all[i]);
    own->row_ptr = NULL;
}

/* ---- making ---------------------------------------------------------------------------------- */

/* Values that are multiplied by numbers up to 1 and added up, or added to scores, must not overflow. */
static enum status require_finite(const problem *p, const attention_problem *own, error_text *error)
{
    const csr_matrix *A = p->A;
    const bool is_weighted = own->mode == ATTENTION_WEIGHTED;
    const double most = is_weighted ? precision_format(p->precision)->largest / 2 : FLT_MAX / 4;
    for (int64_t i = 0; A->values && i < A->rows; i++) {
        double sum = 0;
        for (int64_t z = A->row_ptr[i]; z < A->row_ptr[i + 1]; z++)
            sum = is_weighted ? sum + fabs((double)A->values[z])
                              : fmax(sum, fabs((double)A->values[z]));
        if (sum > most)
            return fail(error, p->precision == PRECISION_FP32 ? STATUS_DATASET : STATUS_SKIPPED,
                        "row %lld: values of %.3g overflow %s", (long long)i, sum,
                        precision_name(p->precision));
    }
    return STATUS_OK;
}

/* An array that the problem may want, and how many numbers it has. One that is wanted is there, if only of no numbers:
 * the mode says which inputs a kernel gets, not the shape of A. */
typedef struct wanted {
    numbers *array;
    enum precision precision;
    bool wanted;
    size_t count;
} wanted;

static enum status allocate(const problem *p, attention_problem *own, bool values,
                            error_text *error)
{
    const csr_matrix *A = p->A;
    const enum attention_mode mode = own->mode;
    const bool has_Q = mode == ATTENTION_DOT || mode == ATTENTION_GATV2;
    const size_t H = own->heads, of_rows = A->rows * H, of_cols = A->cols * H, d = own->d;
    const wanted all[] = {
        {&own->values, p->precision, values, A->nnz},
        {&own->Q, p->precision, has_Q, of_rows * d},
        {&own->K, p->precision, mode == ATTENTION_DOT, of_cols * d},
        {&own->V, p->precision, true, of_cols * d},
        {&own->el, PRECISION_FP32, mode == ATTENTION_GAT, of_rows},
        {&own->er, PRECISION_FP32, mode == ATTENTION_GAT, of_cols},
        {&own->a, PRECISION_FP32, mode == ATTENTION_GATV2, H * d},
    };
    const int num = sizeof all / sizeof *all;
    size_t bytes = (A->rows + 1) * sizeof(int32_t);
    error_text reason;
    for (int i = 0; i < num; i++)
        bytes += all[i].wanted ? numbers_bytes(all[i].precision, all[i].count) : 0;
    enum status status = memory_check(bytes, "the problem", &reason);
    if (status != STATUS_OK)
        return fail(error, status, "%s; try a smaller d or fewer HEADS", reason.text);
    own->row_ptr = dataset_offsets(A);
    bool made = own->row_ptr;
    for (int i = 0; i < num && made; i++)
        made = !all[i].wanted || numbers_alloc(all[i].array, all[i].precision, all[i].count);
    if (made) return STATUS_OK;
    attention_problem_free(own);
    return fail(error, STATUS_MEMORY, "no memory for Q, K, V and the copies of A");
}

/* Scores of rows with these factors are small, or so large that exponentials overflow without the maximum. */
static float row_factor(const problem *p, int64_t row)
{
    static const float FACTORS[] = {1, 1, 16, 512};
    const uint64_t which = random_below(random_substream(p->seed, OF_ROW), row, 4);
    return which == 3 && p->width > 1024 ? 64 : FACTORS[which]; /* products must fit fp16 */
}

static void scale_rows(numbers *n, int64_t rows, int64_t width, const problem *p)
{
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < rows; i++)
        for (int64_t c = 0; c < width; c++)
            n->own[i * width + c] *= row_factor(p, i);
}

/* In some rows the bias ascends, so that a running maximum changes all the time. */
static void fill_values(const problem *p, attention_problem *own)
{
    const csr_matrix *A = p->A;
    const uint64_t stream = random_substream(p->seed, OF_VALUES);
    const bool is_weighted = own->mode == ATTENTION_WEIGHTED;
#pragma omp parallel for schedule(dynamic, 64)
    for (int64_t i = 0; i < A->rows; i++)
        for (int64_t z = A->row_ptr[i]; z < A->row_ptr[i + 1]; z++) {
            const float place = (float)fmin((double)(z - A->row_ptr[i]), 10000);
            const float random = random_symmetric(stream, z);
            own->values.own[z] = A->values                 ? A->values[z]
                                 : is_weighted             ? random
                                 : row_factor(p, i) == 512 ? 0.5f * place + random
                                                           : 2 * random;
        }
}

static void fill_random(const problem *p, attention_problem *own, const uint8_t *row_used,
                        const uint8_t *column_used)
{
    const csr_matrix *A = p->A;
    const int H = own->heads, wide = H * own->d;
    if (own->values.own) fill_values(p, own);
    if (own->Q.own) {
        numbers_fill_rows(&own->Q, A->rows, wide, row_used, 0, random_substream(p->seed, OF_Q));
        scale_rows(&own->Q, A->rows, wide, p);
    }
    if (own->K.own)
        numbers_fill_rows(&own->K, A->cols, wide, column_used, 0, random_substream(p->seed, OF_K));
    if (own->el.own) { /* of both signs before leaky, and beyond what exp takes */
        numbers_fill_rows(&own->el, A->rows, H, row_used, 0, random_substream(p->seed, OF_EL));
        scale_rows(&own->el, A->rows, H, p);
        numbers_fill_rows(&own->er, A->cols, H, column_used, 0, random_substream(p->seed, OF_ER));
        for (size_t at = 0; at < own->er.count; at++) /* every second head: nearly one-hot */
            own->er.own[at] *= (at % H + p->seed) % 2 ? 4 : 120;
    }
    for (size_t at = 0; at < own->a.count; at++)
        own->a.own[at] = random_symmetric(random_substream(p->seed, OF_A), at);
    numbers_fill_rows(&own->V, A->cols, wide, column_used, 0, random_substream(p->seed, OF_V));
}

/*
 * Whole numbers whose exponentials are 0 and 1. A few of the columns are at the top: their scores are a row's largest, and
 * all the same. Scores of the others lie so far below that their exponentials are 0; in a row without a column at the top
 * they, too, are all the same. So O is an average of whole numbers, and the few roundings of n equal shares are all that
 * the bound has to forgive.
 */
enum { FAR_BELOW = 200, MOST_WHOLE = 8 };

static void fill_whole(const problem *p, attention_problem *own, const uint8_t *row_used,
                       const uint8_t *column_used)
{
    const csr_matrix *A = p->A;
    const int H = own->heads, d = own->d, wide = H * d;
    const bool is_weighted = own->mode == ATTENTION_WEIGHTED;
    const uint64_t of_values = random_substream(p->seed, OF_VALUES);
    const uint64_t of_column = random_substream(p->seed, OF_COLUMN);
    const uint64_t sign = random_substream(p->seed, OF_Q);
    const int most = rounding_whole_limit(p->precision, p->stats.max + 1., 2);
    const double top_share = fmin(0.5, 64. / (double)(p->stats.max + 1));
    const float far = ceilf(FAR_BELOW / sqrtf((float)d));
    numbers_fill_rows(&own->V, A->cols, wide, column_used, is_weighted ? most : MOST_WHOLE,
                      random_substream(p->seed, OF_V));
    for (size_t z = 0; z < own->values.count; z++)
        own->values.own[z] = is_weighted ? input_number(most, of_values, z)
                                         : (random_unit(of_values, z) < 0.75 ? 0 : -1000);
    if (own->Q.own) numbers_fill_rows(&own->Q, A->rows, wide, row_used, MOST_WHOLE, sign);
    if (own->el.own) numbers_fill_rows(&own->el, A->rows, H, row_used, MOST_WHOLE, sign);
    if (own->er.own) numbers_fill_rows(&own->er, A->cols, H, column_used, MOST_WHOLE, sign);
    if (own->K.own) numbers_fill_rows(&own->K, A->cols, wide, column_used, MOST_WHOLE, sign);
    for (int64_t i = 0; i < A->rows; i++)
        for (int at = 0; row_used[i] && at < wide; at++) {
            const float direction = random_unit(sign, at) < 0.5 ? -1 : 1;
            if (own->mode == ATTENTION_DOT) own->Q.own[i * wide + at] = far * direction;
            if (own->mode == ATTENTION_GATV2 && at % d == 0)
                own->Q.own[i * wide + at] = fabsf(own->Q.own[i * wide + at]);
            if (own->mode == ATTENTION_GAT && at % d == 0)
                own->el.own[i * H + at / d] = fabsf(own->el.own[i * H + at / d]);
        }
    for (int64_t j = 0; j < A->cols; j++) {
        const bool top = random_unit(of_column, j) < top_share;
        for (int at = 0; column_used[j] && at < wide; at++) {
            const float direction = random_unit(sign, at) < 0.5 ? -1 : 1;
            if (own->mode == ATTENTION_DOT) own->K.own[j * wide + at] = top ? 0 : -direction;
            if (own->mode == ATTENTION_GATV2 && at % d == 0)
                own->V.own[j * wide + at] = top ? 0 : -2000;
            if (own->mode == ATTENTION_GAT && at % d == 0)
                own->er.own[j * H + at / d] = top ? 0 : -2000;
        }
    }
    for (size_t at = 0; at < own->a.count; at++)
        own->a.own[at] = at % d == 0;
}

enum status attention_problem_create(const problem *p, enum attention_mode mode, int heads,
                                     bool bias, attention_problem *own, error_text *error)
{
    *own = (attention_problem){
        .mode = mode, .heads = heads, .d = p->width, .scale = 1 / sqrt((double)p->width)};
    const bool values = bias || mode == ATTENTION_WEIGHTED;
    if (p->whole && !rounding_whole_limit(p->precision, p->stats.max + 1., 2))
        return fail(error, STATUS_SKIPPED, "rows of %lld nonzeros have no exact sum",
                    (long long)p->stats.max);
    if (p->A->nnz * heads > MAX_NNZ)
        return fail(error, STATUS_MEMORY, "%lld scores need 64-bit offsets; try fewer HEADS",
                    (long long)p->A->nnz * heads);
    enum status status = values && !p->whole ? require_finite(p, own, error) : STATUS_OK;
    if (status == STATUS_OK) status = allocate(p, own, values, error);
    if (status != STATUS_OK) return status;
    uint8_t *row_used = dataset_mark_rows(p), *column_used = calloc(p->A->cols + 1, 1);
    if (row_used && column_used) {
        for (int64_t z = 0; z < p->A->nnz; z++)
            column_used[p->A->col_idx[z]] = 1;
        (p->whole ? fill_whole : fill_random)(p, own, row_used, column_used);
        numbers_round(&own->values);
        numbers_round(&own->Q);
        numbers_round(&own->K);
        numbers_round(&own->V);
    } else {
        status = fail(error, STATUS_MEMORY, "no memory to mark the rows and columns of A");
        attention_problem_free(own);
    }
    free(row_used);
    free(column_used);
    return status;
}

/* ---- the exact result ------------------------------------------------------------------------ */

WIDE_INLINE double leaky(double x)
{
    return x < 0 ? (double)ATTENTION_SLOPE * x : x;
}

/* Computes one score: its exact value without the bias, and how far fp32 may be off it.
 *
 * DOT: a dot product of d terms is off by (d + 1) u sum |q k| at most, in whatever order; the factor 1 / sqrt(d), that
 * times log2(e), and its rounding and the product's take 5 more. GAT: the sum, the slope and the product with it, and
 * with log2(e), round 5 times. GATV2: each term rounds 4 times before d of them are added. */
WIDE_INLINE void score_of(const attention_problem *own, int64_t row, int64_t column, int head,
                          double *score, double *error)
{
    const int d = own->d;
    const size_t left = (size_t)row * own->heads + head, right = (size_t)column * own->heads + head;
    double sum = 0, size = 0;
    switch (own->mode) {
    case ATTENTION_DOT: {
        const float *q = own->Q.floats + left * d, *k = own->K.floats + right * d;
#pragma omp simd reduction(+ : sum, size)
        for (int c = 0; c < d; c++) {
            const double term = (double)q[c] * k[c];
            sum += term;
            size += fabs(term);
        }
        *score = own->scale * sum;
        *error = ROUNDOFF * (d + 6) * own->scale * size;
        return;
    }
    case ATTENTION_GAT:
        *score = leaky((double)own->el.floats[left] + own->er.floats[right]);
        *error = ROUNDOFF * 6 * fabs(*score);
        return;
    case ATTENTION_GATV2: {
        const float *q = own->Q.floats + left * d, *v = own->V.floats + right * d;
        const float *a = own->a.floats + (size_t)head * d;
#pragma omp simd reduction(+ : sum, size)
        for (int c = 0; c < d; c++) {
            const double term = a[c] * leaky((double)q[c] + v[c]);
            sum += term;
            size += fabs(term);
        }
        *score = sum;
        *error = ROUNDOFF * (d + 8) * size;
        return;
    }
    default:
        *score = *error = 0;
    }
}

/* In 16 bits a kernel may have stored the score, without the bias and the factor 1 / sqrt(d), once on its way. */
WIDE_VECTORS
void attention_scores(const problem *p, const attention_problem *own, int64_t row, int head,
                      double *score, double *error)
{
    const csr_matrix *A = p->A;
    const number_format *format = precision_format(p->precision);
    const float *bias = own->values.floats;
    for (int64_t z = A->row_ptr[row], j = 0; z < A->row_ptr[row + 1]; z++, j++) {
        score_of(own, row, A->col_idx[z], head, &score[j], &error[j]);
        if (p->precision != PRECISION_FP32)
            error[j] += format->unit_roundoff * fabs(score[j]) + format->least / 2;
        if (!bias) continue;
        score[j] += bias[z];
        error[j] += ROUNDOFF * (3 * fabs((double)bias[z]) + 2 * fabs(score[j]));
    }
}

enum { CHUNK = 64 }; /* elements of O that are computed together */

/* Sums behind each of them, of shares p: of p V, p |V|, p |V| error, and of what 16 bits take from each p. */
typedef struct chunk {
    double result[CHUNK], size[CHUNK], off[CHUNK], narrow[CHUNK];
} chunk;

/* Stores elements of O and their bounds. With exact shares p and errors e of their exponentials (softmax.c), a kernel's
 * shares are p (1 + e) over the sum of all such: O is off by sum p e (V - O) at most, and spread is sum p e. Adding up n
 * products and dividing by the sum is off by (n + 16) u of sum p |V| and of |O| more. In 16 bits each p may have been
 * rounded once. */
static void finish(const problem *p, bool is_weighted, int64_t n, double spread, double off,
                   const chunk *s, int count, double *O, double *bound)
{
    for (int c = 0; c < count; c++) {
        const double result = s->result[c], size = fabs(result);
        const double wrong =
            is_weighted ? ROUNDOFF * (double)(n + 4) * s->size[c] + 0x1p-149 * (double)n
                        : s->off[c] + spread * size + s->narrow[c] + off * (s->size[c] + size);
        O[c] = result;
        bound[c] = n ? rounding_stored(p->precision, result, wrong) : 0;
        if (p->whole && is_weighted) {
            O[c] = precision_round(p->precision, (float)result);
            bound[c] = 0;
        }
    }
}

WIDE_INLINE void weigh(const problem *p, const attention_problem *own, int64_t row, int head,
                       const double *share, const double *error, const row_sum *all, double *O,
                       double *bound)
{
    const csr_matrix *A = p->A;
    const int64_t first = A->row_ptr[row], n = A->row_ptr[row + 1] - first;
    const bool is_weighted = own->mode == ATTENTION_WEIGHTED;
    const number_format *format = precision_format(p->precision);
    const bool narrows = p->precision != PRECISION_FP32;
    const double unit = narrows ? format->unit_roundoff : 0;
    const double least = narrows ? format->least / 2 : 0x1p-126; /* the hardware flushes */
    const int d = own->d;
    for (int from = 0; from < d; from += CHUNK) {
        const int count = d - from < CHUNK ? d - from : CHUNK;
        chunk s = {0};
        for (int64_t j = 0; j < n; j++) {
            const size_t at = (size_t)A->col_idx[first + j] * own->heads + head;
            const float *V = own->V.floats + at * d + from;
#pragma omp simd
            for (int c = 0; c < count; c++) {
                const double part = share[j] * V[c], size = fabs(part);
                s.result[c] += part;
                s.size[c] += size;
                s.off[c] += size * error[j];
                s.narrow[c] += unit * size + least * fabs((double)V[c]);
            }
        }
        finish(p, is_weighted, n, all->spread, all->off + 4 * ROUNDOFF, &s, count, O + from,
               bound + from);
    }
}

WIDE_VECTORS
bool attention_row(const problem *p, const attention_problem *own, int64_t row, int head, double *O,
                   double *O_bound, double *lse, double *lse_bound)
{
    const int64_t first = p->A->row_ptr[row], n = p->A->row_ptr[row + 1] - first;
    double *score = malloc(3 * (n + 1) * sizeof *score), *error = score + n + 1;
    double *share = error + n + 1;
    row_sum all = {0};
    if (!score) return false;
    if (own->mode == ATTENTION_WEIGHTED) {
        for (int64_t j = 0; j < n; j++) {
            share[j] = own->values.floats[first + j];
            error[j] = 0;
        }
    } else {
        attention_scores(p, own, row, head, score, error);
        all = softmax_row(n, score, error, share);
    }
    *lse = all.lse;
    *lse_bound = all.lse_bound;
    if (O) weigh(p, own, row, head, share, error, &all, O, O_bound);
    free(score);
    return true;
}
