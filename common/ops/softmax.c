/*
 * softmax.c - P = softmax over the nonzeros of each row, of scores of one precision.
 */
#include "ops/softmax.h"

#include "device/facts.h"
#include "matrix/memory.h"
#include "matrix/random.h"
#include "ops/inputs.h"
#include "ops/rounding.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Inputs come in this order; without values the last one moves up. */
enum { ROW_PTR, COL_IDX, VALUES, SCORES, NUM_INPUTS };
enum { SHARES, LSE, NUM_OUTPUTS };

/* Arrays of a problem beside the dataset's own. With several heads P lies on a pattern of a row for each row
 * and head. */
typedef struct softmax_inputs {
    int32_t *row_ptr;
    numbers values; /* the bias; no floats where there is none */
    numbers S;
    int64_t *head_row_ptr;
    int32_t *head_col_idx;
} softmax_inputs;

static void destroy(problem *p)
{
    softmax_inputs *own = p->own;
    if (!own) return;
    free(own->row_ptr);
    numbers_free(&own->values);
    numbers_free(&own->S);
    free(own->head_row_ptr);
    free(own->head_col_idx);
    free(own);
    p->own = NULL;
}

/* ---- the softmax and its bound --------------------------------------------------------------- */

/*
 * Write x for a score, M for the largest one, w = exp(x - M), and p = w / sum w.
 *
 * Of one share. A kernel rounds x - M, multiplies by log2(e), itself rounded, and takes a power of 2. The exponent is off
 * by 3 u |x - M| at most, beside the error e of the score. The power is off by 2 units in the last place, 4 u. So w is off
 * by a factor of up to exp(e + 3 u |x - M|), and 4 u. M need not be exact: what it is off is in all w alike, and cancels.
 *
 * Of all shares. The sum of n of them is off by (n - 1) u of itself at most, in whatever order; a running maximum
 * multiplies what is there by powers whose errors telescope to a few u; the reciprocal and the product round twice. 12
 * covers the 4, those, and a merge of parts. Beside that the sum has the errors of its terms, weighed by p, which the
 * caller adds.
 *
 * Terms below 2^-60 of the largest do not count in n: each is lost in the sum as a whole, or adds up with others as
 * small, whose roundings vanish likewise. A share below 2^-126 may become 0: the hardware's exponential flushes.
 *
 * The logarithm makes a difference of what was a share of the sum; it, the maximum and their sum round, also where they
 * are powers of 2.
 */
row_sum softmax_row(int64_t n, const double *score, double *error, double *share)
{
    const double LOST = -42, WILD = 30; /* ln 2^-60; an error beyond which nothing is certain */
    double max = -INFINITY, sum = 0;
    int64_t terms = 0;
    for (int64_t j = 0; j < n; j++)
        max = score[j] > max ? score[j] : max;
    for (int64_t j = 0; j < n; j++) {
        const double below = score[j] - max;
        share[j] = exp(below);
        sum += share[j];
        terms += below > LOST;
        error[j] = expm1(fmin(error[j] + 3 * ROUNDOFF * fabs(below), WILD));
    }
    row_sum all = {.lse = n ? max + log(sum) : -INFINITY, .off = ROUNDOFF * (double)(terms + 12)};
    for (int64_t j = 0; j < n; j++) {
        share[j] /= sum;
        all.spread += share[j] * error[j];
    }
    if (n) all.lse_bound = all.spread + all.off + 4 * ROUNDOFF * (fabs(max) + fabs(all.lse));
    return all;
}

/* Writes for row i and head h: scores as x, and how far a kernel is off when it has added the bias. */
static void scores_of(const problem *p, int64_t row, int head, double *x, double *error)
{
    const softmax_inputs *own = p->own;
    const int64_t first = p->A->row_ptr[row], n = p->A->row_ptr[row + 1] - first;
    const float *S = own->S.floats + first * p->width + head * n;
    for (int64_t j = 0; j < n; j++) {
        x[j] = own->values.floats ? (double)S[j] + own->values.floats[first + j] : S[j];
        error[j] = own->values.floats ? ROUNDOFF * fabs(x[j]) : 0;
    }
}

static void oracle(const problem *p, int output, int64_t head_row, double *reference, double *bound)
{
    const int64_t row = head_row / p->width, n = dataset_row_length(p, row);
    double *x = malloc(3 * (n + 1) * sizeof *x), *error = x + n + 1, *share = error + n + 1;
    const int64_t elements = output == LSE ? 1 : n;
    for (int64_t j = 0; !x && j < elements; j++)
        reference[j] = bound[j] = NAN; /* nothing passes that could not be checked */
    if (!x) return;
    scores_of(p, row, (int)(head_row % p->width), x, error);
    const row_sum all = softmax_row(n, x, error, share);
    for (int64_t j = 0; j < elements; j++) {
        reference[j] = output == LSE ? all.lse : share[j];
        bound[j] = output == LSE
                       ? all.lse_bound
                       : rounding_stored(p->precision, share[j],
                                         share[j] * (error[j] + all.spread + all.off) + 0x1p-126);
    }
    free(x);
}

/* ---- the problem ----------------------------------------------------------------------------- */

static enum status allocate(problem *p, error_text *error)
{
    const csr_matrix *A = p->A;
    const size_t scores = (size_t)A->nnz * p->width;
    const bool narrowed = A->values && (p->precision != PRECISION_FP32 || p->whole);
    const size_t pattern =
        p->width > 1 ? A->rows * p->width * sizeof(int64_t) + scores * sizeof(int32_t) : 0;
    const size_t bytes = (A->rows + 1) * sizeof(int32_t) + numbers_bytes(p->precision, scores) +
                         (narrowed ? numbers_bytes(p->precision, A->nnz) : 0) + pattern;
    error_text reason;
    enum status status = memory_check(bytes, "the problem", &reason);
    if (status != STATUS_OK) return fail(error, status, "%s; try fewer heads", reason.text);
    softmax_inputs *own = calloc(1, sizeof *own);
    p->own = own;
    if (own) {
        own->row_ptr = dataset_offsets(A);
        if (A->values && !narrowed) numbers_borrow(&own->values, A->values, A->nnz);
        bool made = own->row_ptr && numbers_alloc(&own->S, p->precision, scores) &&
                    (!narrowed || numbers_alloc(&own->values, p->precision, A->nnz));
        if (made && p->width > 1) {
            own->head_row_ptr = malloc((A->rows * p->width + 1) * sizeof *own->head_row_ptr);
            own->head_col_idx = malloc((scores + 1) * sizeof *own->head_col_idx);
            made = own->head_row_ptr && own->head_col_idx;
        }
        if (made) return STATUS_OK;
    }
    destroy(p);
    return fail(error, STATUS_MEMORY, "no memory for the scores and the copies of A");
}

/* Kinds of scores of a row: each makes another mistake show. */
enum kind { SMALL, HIGH, LOW, ASCENDING, WIDE, NUM_KINDS };

static float score_of(enum kind kind, int64_t place, float random)
{
    switch (kind) {
    case HIGH: /* exp overflows without the maximum ... */
        return 1000 + 8 * random;
    case LOW: /* ... or is 0 in the whole row */
        return -1000 + 8 * random;
    case ASCENDING: /* the running maximum changes all the time */
        return 0.5f * (place < 10000 ? (float)place : 10000) + random;
    case WIDE:
        return 10000 * random;
    default:
        return 8 * random;
    }
}

/* Shares that are 0 or the same: a few of the scores are the row's largest, and the others lie 1000 below. */
static float whole_score(float base, double top_share, uint64_t stream, uint64_t at)
{
    return random_unit(stream, at) < top_share ? base : base - 1000;
}

static void fill(problem *p)
{
    const csr_matrix *A = p->A;
    softmax_inputs *own = p->own;
    const int H = p->width;
    const uint64_t stream = random_substream(p->seed, SCORES);
    const uint64_t of_row = random_substream(p->seed, ROW_PTR);
    const uint64_t of_values = random_substream(p->seed, VALUES);
    const double top_share = fmin(0.5, 64. / (double)(p->stats.max + 1));
#pragma omp parallel for schedule(dynamic, 64)
    for (int64_t i = 0; i < A->rows; i++) {
        const int64_t first = A->row_ptr[i], n = A->row_ptr[i + 1] - first;
        for (int h = 0; h < H; h++) {
            const uint64_t row = (uint64_t)i * H + h;
            const enum kind kind = (enum kind)random_below(of_row, row, NUM_KINDS);
            const float base = 100 * input_number(8, of_row, row);
            for (int64_t j = 0; j < n; j++) {
                const uint64_t at = (uint64_t)(first * H + h * n + j);
                own->S.own[at] = p->whole ? whole_score(base, top_share, stream, at)
                                          : score_of(kind, j, random_symmetric(stream, at));
            }
        }
        for (int64_t z = first; own->values.own && z < first + n; z++)
            own->values.own[z] = p->whole ? whole_score(0, 0.75, of_values, z) : A->values[z];
    }
    numbers_round(&own->values);
    numbers_round(&own->S);
}

/* The pattern of P, where it is not that of A. */
static void fill_pattern(problem *p)
{
    const csr_matrix *A = p->A;
    softmax_inputs *own = p->own;
    const int H = p->width;
    if (!own->head_row_ptr) return;
    for (int64_t i = 0; i < A->rows; i++) {
        const int64_t first = A->row_ptr[i], n = A->row_ptr[i + 1] - first;
        for (int h = 0; h < H; h++) {
            own->head_row_ptr[i * H + h] = first * H + h * n;
            memcpy(own->head_col_idx + first * H + h * n, A->col_idx + first,
                   n * sizeof *A->col_idx);
        }
    }
    own->head_row_ptr[A->rows * H] = A->nnz * H;
}

static void describe(problem *p)
{
    const csr_matrix *A = p->A;
    const softmax_inputs *own = p->own;
    const bool is_A = !own->head_row_ptr;
    int n = 0;
    p->inputs[n++] = dataset_offsets_operand(A, own->row_ptr, "A.row_ptr");
    p->inputs[n++] = dataset_columns_operand(A, "A.col_idx");
    if (own->values.floats) p->inputs[n++] = numbers_operand(&own->values, "A.values");
    p->inputs[n++] = numbers_operand(&own->S, "S");
    p->num_inputs = n;
    p->outputs[SHARES] = (output){.name = "P",
                                  .precision = p->precision,
                                  .rows = A->rows * p->width,
                                  .cols = A->cols,
                                  .row_ptr = is_A ? A->row_ptr : own->head_row_ptr,
                                  .col_idx = is_A ? A->col_idx : own->head_col_idx};
    p->outputs[LSE] = (output){.name = "lse", .rows = A->rows * p->width, .cols = 1};
    p->num_outputs = NUM_OUTPUTS;
}

static enum status create(problem *p, error_text *error)
{
    const csr_matrix *A = p->A;
    enum status status = dataset_check(p, "softmax", error);
    if (status != STATUS_OK) return status;
    const int64_t most = A->nnz > A->rows ? A->nnz : A->rows;
    if (most * p->width > MAX_NNZ)
        return fail(error, STATUS_MEMORY,
                    "%lld %s of all heads need 64-bit offsets; try fewer heads",
                    (long long)most * p->width, A->nnz > A->rows ? "scores" : "rows");
    for (int64_t z = 0; A->values && z < A->nnz; z++)
        if (fabsf(A->values[z]) > FLT_MAX / 4)
            return fail(error, STATUS_DATASET, "the value %.3g, added to a score, overflows fp32",
                        (double)A->values[z]);
    status = allocate(p, error);
    if (status != STATUS_OK) return status;
    uint8_t *used = dataset_mark_columns(p);
    if (!used) {
        destroy(p);
        return fail(error, STATUS_MEMORY, "no memory to mark the columns of A");
    }
    free(used);
    fill(p);
    fill_pattern(p);
    describe(p);
    return STATUS_OK;
}

static int64_t row_length(const problem *p, int64_t head_row)
{
    return dataset_row_length(p, head_row / p->width);
}

/* ---- explanations ---------------------------------------------------------------------------- */

/* Which mistake a wrong share is looked at for. */
enum mistake { POWERS_OF_TWO, NO_BIAS, ALL_HEADS, NOT_DIVIDED, NUM_MISTAKES };

/* The share that a kernel with that mistake computes; NAN where there is no such mistake to make. */
static double mistaken(const problem *p, enum mistake mistake, int64_t row, int head, int64_t place)
{
    const softmax_inputs *own = p->own;
    const int64_t first = p->A->row_ptr[row], n = p->A->row_ptr[row + 1] - first;
    const float *bias = own->values.floats, *S = own->S.floats + first * p->width;
    const double factor = mistake == POWERS_OF_TWO ? log(2) : 1;
    const bool all = mistake == ALL_HEADS;
    double max = -INFINITY, sum = 0, mine = 0;
    if ((mistake == NO_BIAS && !bias) || (all && p->width == 1)) return NAN;
    for (int pass = 0; pass < 2; pass++)
        for (int h = all ? 0 : head; h <= (all ? p->width - 1 : head); h++)
            for (int64_t j = 0; j < n; j++) {
                const double added = bias && mistake != NO_BIAS ? bias[first + j] : 0;
                const double x = (S[h * n + j] + added) * factor;
                if (pass == 0)
                    max = fmax(max, x);
                else
                    sum += exp(x - max);
                if (pass == 1 && h == head && j == place) mine = exp(x - max);
            }
    return mistake == NOT_DIVIDED ? mine : mine / sum;
}

/* A share that is 0 for several reasons names none of them. */
static void explain(const problem *p, int output, int64_t head_row, int64_t place, double got,
                    char *text, size_t bytes)
{
    static const char *const SAYS[NUM_MISTAKES] = {
        "its exponentials are powers of 2 in place of e", "the bias was not added",
        "the softmax ran over the scores of all heads", "it was not divided by the sum of its row"};
    const double near = 2 * precision_format(p->precision)->unit_roundoff + 0x1p-14;
    text[0] = 0;
    for (int i = 0; output == SHARES && i < NUM_MISTAKES && !text[0]; i++) {
        const double would =
            mistaken(p, (enum mistake)i, head_row / p->width, (int)(head_row % p->width), place);
        if (fabs(got - would) <= near * would) snprintf(text, bytes, "%s", SAYS[i]);
    }
}

/* ---- costs ----------------------------------------------------------------------------------- */

/* Bytes of the offsets, and of the bias if there is one. */
static double pattern_bytes(const problem *p)
{
    const double e = precision_format(p->precision)->bytes;
    return 4 * (p->A->rows + 1.) + (p->A->values ? e * p->A->nnz : 0);
}

static double lse_bytes(const problem *p)
{
    return 4. * p->A->rows * p->width;
}

/* Four operations a score: a difference, an exponential, an addition, a product. Each score is read once and each
 * share written once; what a second pass reads is another kernel's affair. Nothing is gathered. */
static void cost(const problem *p, cost_model *model)
{
    const double scores = (double)p->A->nnz * p->width;
    const double e = precision_format(p->precision)->bytes;
    *model = (cost_model){.flops = 4 * scores,
                          .compulsory_bytes = pattern_bytes(p) + 2 * e * scores + lse_bytes(p)};
}

/* ---- contenders ------------------------------------------------------------------------------ */

static const softmax_contender *of(const contender *c)
{
    return (const softmax_contender *)c;
}

const softmax_contender *softmax_find(const char *name, enum precision precision)
{
    return of(contender_find(&softmax_operation, name, precision));
}

static void choose_for(const softmax_contender *c, const row_stats *stats, int H, int *tuning)
{
    contender_initial_tuning(&c->base, tuning);
    if (c->choose) c->choose(stats, H, tuning);
}

static void choose(const contender *c, const problem *p, int *tuning)
{
    choose_for(of(c), &p->stats, p->width, tuning);
}

cudaError_t softmax_prepare(softmax_plan *plan, const softmax_contender *c)
{
    if (c->base.min_compute_capability > device_facts_get()->compute_capability)
        return cudaErrorNotSupported;
    plan->contender = c;
    plan->state = NULL;
    choose_for(c, plan->A.stats, plan->H, plan->tuning);
    const cudaError_t error = c->prepare ? c->prepare(plan) : cudaSuccess;
    if (error != cudaSuccess) plan->contender = NULL;
    return error;
}

cudaError_t softmax_run(const softmax_plan *plan, const void *S, void *P, float *lse,
                        cudaStream_t stream)
{
    const softmax_contender *c = plan->contender;
    return c->base.precision == PRECISION_FP32 ? c->run(plan, S, P, lse, stream)
                                               : c->run16(plan, S, P, lse, stream);
}

void softmax_release(softmax_plan *plan)
{
    if (plan->contender && plan->contender->release) plan->contender->release(plan);
    plan->contender = NULL;
}

/* ---- instances ------------------------------------------------------------------------------- */

/* A plan, and the scores it takes. */
typedef struct softmax_instance {
    int dense; /* which input S is */
    const void *d_S;
    softmax_plan plan;
} softmax_instance;

static void least(const problem *p, const void *instance, least_work *l)
{
    const softmax_plan *plan = &((const softmax_instance *)instance)->plan;
    const softmax_contender *c = plan->contender;
    const double scores = (double)p->A->nnz * p->width;
    const double bytes = precision_format(p->precision)->bytes * scores;
    *l = (least_work){
        .read_bytes = bytes + (c->format_bytes ? (double)c->format_bytes(plan) : pattern_bytes(p)),
        .write_bytes = bytes,
        .flops = 2 * scores,
        .unit = c->base.unit};
}

/* Scores and the bias. Of the pattern nothing is certain, and the columns are not even needed. */
static int64_t needs(const problem *p, int input, bool handed)
{
    (void)handed;
    return input == ROW_PTR || input == COL_IDX ? 0 : (int64_t)p->inputs[input].bytes;
}

static void rebind(void *instance, void *const *d_inputs)
{
    softmax_instance *self = instance;
    self->d_S = d_inputs[self->dense];
}

static cudaError_t prepare(const contender *c, const problem *p, void *const *d_inputs, int *tuning,
                           void **instance)
{
    const bool has_values = p->num_inputs == NUM_INPUTS;
    softmax_instance *self = calloc(1, sizeof *self);
    if (!self) return cudaErrorMemoryAllocation;
    self->dense = p->num_inputs - 1;
    self->plan = (softmax_plan){
        .A = dataset_on_device(p, d_inputs[ROW_PTR], d_inputs[COL_IDX],
                               has_values ? d_inputs[VALUES] : NULL),
        .H = p->width,
        .contender = of(c),
        .scale = 1,
    };
    rebind(self, d_inputs);
    const size_t tuning_bytes = contender_num_tunables(c) * sizeof *tuning;
    memcpy(self->plan.tuning, tuning, tuning_bytes);
    const cudaError_t error = of(c)->prepare ? of(c)->prepare(&self->plan) : cudaSuccess;
    if (error != cudaSuccess) {
        free(self);
        return error;
    }
    memcpy(tuning, self->plan.tuning, tuning_bytes);
    *instance = self;
    return cudaSuccess;
}

static cudaError_t run(void *instance, void *const *d_outputs, cudaStream_t stream)
{
    const softmax_instance *self = instance;
    return softmax_run(&self->plan, self->d_S, d_outputs[SHARES], d_outputs[LSE], stream);
}

static void release(void *instance)
{
    softmax_release(&((softmax_instance *)instance)->plan);
    free(instance);
}

/* A contender that prepares, and cannot update values, may have kept them. */
static cudaError_t update_values(void *instance)
{
    softmax_plan *plan = &((softmax_instance *)instance)->plan;
    const softmax_contender *c = plan->contender;
    if (c->update_values) return c->update_values(plan);
    return c->prepare ? cudaErrorNotSupported : cudaSuccess;
}

const operation softmax_operation = {
    .name = "softmax",
    .width = "H",
    .width_meaning = "heads: vectors of scores on one pattern",
    .usual_width = 1,
    .most_width = 8,
    .exact_in_whole_numbers = true,
    .create = create,
    .destroy = destroy,
    .oracle = oracle,
    .row_length = row_length,
    .explain = explain,
    .cost = cost,
    .least = least,
    .needs = needs,
    .choose = choose,
    .prepare = prepare,
    .rebind = rebind,
    .update_values = update_values,
    .run = run,
    .release = release,
};
OPERATION_REGISTER(softmax_operation)
