#include "check.h"

#include "baselines/sums_rounded.h"
#include "ops/rounding.h"
#include "training/try.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const NAMES[NUM_CHECKED] = {"logits", "gates", "hidden", "y", "out"};

/* Products that are formed again at most, and the fewest slots. */
static const double MOST_PRODUCTS = 2e9;
enum { FEWEST_SLOTS = 24, MOST_SLOTS = 4096 };

const char *checked_name(enum checked c)
{
    return NAMES[c];
}

double verdict_worst(const layer_verdict *v)
{
    double worst = 0;
    for (int i = 0; i < NUM_CHECKED; i++)
        if (v->worst[i] > worst) worst = v->worst[i];
    return worst;
}

/* ---- copies ------------------------------------------------------------------------------------ */

/* Results of a run, on the host. */
typedef struct observed {
    const layer *l;
    int *expert, *order, *row_of, *slot_of;
    float *gate, *logits;
    row_tile *tile;
    int tiles;
    float *of_rows, *y, *out; /* fp16, widened */
} observed;

static void observed_free(observed *o)
{
    free(o->expert);
    free(o->order);
    free(o->row_of);
    free(o->slot_of);
    free(o->gate);
    free(o->logits);
    free(o->tile);
    free(o->of_rows);
    free(o->y);
    free(o->out);
}

static enum status fetch(void *to, const void *from, size_t bytes, error_text *error)
{
    void **const at = to;
    *at = malloc(bytes + 1);
    if (!*at) return fail(error, STATUS_MEMORY, "no memory to check the layer");
    TRY_CUDA(cudaMemcpy(*at, from, bytes, cudaMemcpyDeviceToHost));
    return STATUS_OK;
}

static enum status fetch_halves(float **to, const void *from, size_t count, error_text *error)
{
    void *raw = NULL;
    *to = malloc((count + 1) * sizeof **to);
    enum status status = *to ? fetch(&raw, from, count * 2, error)
                             : fail(error, STATUS_MEMORY, "no memory to check the layer");
    if (status == STATUS_OK) precision_widen(PRECISION_FP16, raw, *to, count);
    free(raw);
    return status;
}

/* Rows that exist: the arrays behind have room for more. */
static size_t rows_there(const layer *l)
{
    return (size_t)l->first[l->shape.experts];
}

static enum status observe(layer *l, observed *o, error_text *error)
{
    const moe_shape *s = &l->shape;
    const size_t slots = (size_t)shape_slots(s), tokens = (size_t)s->tokens;
    TRY(layer_run(l, ALL_PARTS, error));
    TRY_CUDA(cudaMemcpyAsync(l->start, l->a.start, 2 * ((size_t)s->experts + 1) * sizeof(int),
                             cudaMemcpyDeviceToHost, l->stream));
    TRY_CUDA(
        cudaMemcpyAsync(&o->tiles, l->a.tiles, sizeof o->tiles, cudaMemcpyDeviceToHost, l->stream));
    TRY_CUDA(cudaStreamSynchronize(l->stream));
    o->l = l;
    if (o->tiles < 0 || o->tiles > shape_most_tiles(s) || l->first[s->experts] < 0 ||
        l->first[s->experts] > l->rows)
        return fail(error, STATUS_WRONG, "wrong layout: %d tiles, %d rows", o->tiles,
                    l->first[s->experts]);
    TRY(fetch(&o->expert, l->a.expert, slots * sizeof(int), error));
    TRY(fetch(&o->order, l->a.order, slots * sizeof(int), error));
    TRY(fetch(&o->row_of, l->a.row_of, slots * sizeof(int), error));
    TRY(fetch(&o->slot_of, l->a.slot_of, (size_t)l->rows * sizeof(int), error));
    TRY(fetch(&o->gate, l->a.gate, slots * sizeof(float), error));
    TRY(fetch(&o->logits, l->logits, tokens * s->experts * sizeof(float), error));
    TRY(fetch(&o->tile, l->a.tile, (size_t)o->tiles * sizeof(row_tile), error));
    TRY(fetch_halves(&o->of_rows, l->of_rows, rows_there(l) * s->features, error));
    TRY(fetch_halves(&o->y, l->y, rows_there(l) * s->features, error));
    return fetch_halves(&o->out, l->out, tokens * s->features, error);
}

/* ---- the arrangement --------------------------------------------------------------------------- */

/* The choices of a token, from its logits: greatest first, of equal ones the lower expert. */
static void choose(const moe_shape *s, const float *biased, int *chosen)
{
    for (int j = 0; j < s->chosen; j++) {
        int best = -1;
        for (int e = 0; e < s->experts; e++) {
            bool taken = false;
            for (int i = 0; i < j; i++)
                taken = taken || chosen[i] == e;
            if (!taken && (best < 0 || biased[e] > biased[best])) best = e;
        }
        chosen[j] = best;
    }
}

/* Each token's experts, and its gates: returns the largest error of a gate over its bound, or infinity for another
 * expert. */
static double check_gates(const observed *o)
{
    const moe_shape *s = &o->l->shape;
    double worst = 0;
#pragma omp parallel for reduction(max : worst)
    for (int t = 0; t < s->tokens; t++) {
        float biased[MOST_EXPERTS];
        int chosen[MOST_CHOSEN];
        double sum = 0, sum_of_gates = 0, largest = -INFINITY, least = INFINITY;
        for (int e = 0; e < s->experts; e++) {
            biased[e] = o->logits[(size_t)t * s->experts + e] + (float)(-s->skew * log(e + 1));
            largest = fmax(largest, biased[e]);
            least = fmin(least, biased[e]);
        }
        for (int e = 0; e < s->experts; e++)
            sum += exp(biased[e] - largest);
        choose(s, biased, chosen);
        const double share = ROUNDOFF * (s->experts + 24 + 4 * (largest - least));
        for (int j = 0; j < s->chosen; j++) {
            const size_t slot = (size_t)t * s->chosen + j;
            const double gate = exp(biased[chosen[j]] - largest) / sum;
            const double off = fabs(o->gate[slot] - gate) / (share * gate + 0x1p-126);
            worst = fmax(worst, o->expert[slot] == chosen[j] && off >= 0 ? off : INFINITY);
            sum_of_gates += o->gate[slot];
        }
        /* Gates are shares of one. Of all experts together they are all of it. */
        const double slack = share * s->chosen;
        if (!(sum_of_gates > 0 && sum_of_gates <= 1 + slack) ||
            (s->chosen == s->experts && sum_of_gates < 1 - slack))
            worst = INFINITY;
    }
    return worst;
}

/* Slots stand by expert, and in their order among those of one: so each stands once. */
static enum status check_order(const observed *o, error_text *error)
{
    const layer *l = o->l;
    const int slots = shape_slots(&l->shape);
    int at = 0;
    for (int e = 0; e < l->shape.experts; e++) {
        if (l->start[e] != at)
            return fail(error, STATUS_WRONG, "wrong layout: expert %d starts at %d, not at %d", e,
                        l->start[e], at);
        for (int slot = 0; slot < slots; slot++) {
            if (o->expert[slot] != e) continue;
            if (o->order[at] != slot)
                return fail(error, STATUS_WRONG, "wrong order: at %d stands slot %d, and %d should",
                            at, o->order[at], slot);
            at++;
        }
    }
    if (l->start[l->shape.experts] == slots) return STATUS_OK;
    return fail(error, STATUS_WRONG, "wrong layout: the last expert ends at %d of %d slots",
                l->start[l->shape.experts], slots);
}

static int filled_up(const moe_shape *s, int count)
{
    return (count + s->block - 1) / s->block * s->block;
}

/* The rows of an expert: its slots in their order, then rows that fill up. */
static enum status check_rows_of(const observed *o, int e, error_text *error)
{
    const layer *l = o->l;
    const int count = l->start[e + 1] - l->start[e], filled = filled_up(&l->shape, count);
    for (int i = 0; i < filled; i++) {
        const int row = l->first[e] + i, slot = i < count ? o->order[l->start[e] + i] : -1;
        if (o->slot_of[row] != slot || (slot >= 0 && o->row_of[slot] != row))
            return fail(error, STATUS_WRONG, "wrong layout: row %d is of slot %d, and not of %d",
                        row, o->slot_of[row], slot);
    }
    return STATUS_OK;
}

static enum status check_first_rows(const observed *o, error_text *error)
{
    const layer *l = o->l;
    int next = 0;
    for (int e = 0; e <= l->shape.experts; e++) {
        if (l->capacity && e < l->shape.experts) next = e * l->capacity;
        if (l->first[e] != next)
            return fail(error, STATUS_WRONG, "wrong layout: rows of expert %d begin at %d, not %d",
                        e, l->first[e], next);
        if (e == l->shape.experts) break;
        TRY(check_rows_of(o, e, error));
        next += filled_up(&l->shape, l->start[e + 1] - l->start[e]);
    }
    return STATUS_OK;
}

/* Tiles cut the rows of each expert in order; of a band all have the same, which is no longer than BAND_TILES. */
static enum status check_tiles(const observed *o, error_text *error)
{
    const layer *l = o->l;
    int at = 0;
    for (int e = 0; e < l->shape.experts; e++) {
        const int rows = filled_up(&l->shape, l->start[e + 1] - l->start[e]);
        const int first = at, last = at + (rows + TILE_ROWS - 1) / TILE_ROWS;
        for (; at < last; at++) {
            const int done = (at - first) * TILE_ROWS;
            const int band = first + (at - first) / BAND_TILES * BAND_TILES;
            const row_tile want = {e, l->first[e] + done,
                                   rows - done < TILE_ROWS ? rows - done : TILE_ROWS, band,
                                   last - band < BAND_TILES ? last - band : BAND_TILES};
            if (at >= o->tiles || memcmp(&want, &o->tile[at], sizeof want))
                return fail(error, STATUS_WRONG, "wrong layout: tile %d, of expert %d", at, e);
        }
    }
    if (at == o->tiles) return STATUS_OK;
    return fail(error, STATUS_WRONG, "wrong layout: %d tiles, and %d should be", o->tiles, at);
}

/* Rows are those of x, or zeros. */
static enum status check_gathered(const observed *o, error_text *error)
{
    const layer *l = o->l;
    const moe_shape *s = &l->shape;
    int64_t wrong = -1;
#pragma omp parallel for reduction(max : wrong)
    for (int i = 0; i < o->tiles; i++)
        for (int r = 0; r < o->tile[i].rows; r++) {
            const int64_t row = o->tile[i].row + r;
            const int slot = o->slot_of[row];
            for (int f = 0; f < s->features; f++) {
                const float x = slot < 0 ? 0 : number_of_x(&l->numbers, slot / s->chosen, f);
                if (o->of_rows[row * s->features + f] != x) wrong = row > wrong ? row : wrong;
            }
        }
    if (wrong < 0) return STATUS_OK;
    return fail(error, STATUS_WRONG, "wrong rows: row %lld is not that of its token",
                (long long)wrong);
}

static enum status check_arrangement(const observed *o, double *worst_gate, error_text *error)
{
    *worst_gate = check_gates(o);
    if (!(*worst_gate <= 1))
        return fail(error, STATUS_WRONG,
                    "wrong gates: off by %.3g times the bound, or another expert", *worst_gate);
    TRY(check_order(o, error));
    TRY(check_first_rows(o, error));
    TRY(check_tiles(o, error));
    return check_gathered(o, error);
}

/* ---- exact numbers ----------------------------------------------------------------------------- */

static float exact_hidden(const number_source *n, int token, int expert, int h)
{
    const float x = exact_sign(expert, h) * number_of_x(n, token, exact_feature(n, expert, h));
    return x < 0 ? 0 : x;
}

/* Every number of every slot's row of y. */
static enum status check_exact(const observed *o, error_text *error)
{
    const layer *l = o->l;
    const moe_shape *s = &l->shape;
    const number_source *n = &l->numbers;
    int wrong = -1;
#pragma omp parallel for reduction(max : wrong)
    for (int slot = 0; slot < shape_slots(s); slot++) {
        const int token = slot / s->chosen, e = o->expert[slot];
        const float *y = o->y + (size_t)o->row_of[slot] * s->features;
        for (int c = 0; c < s->features; c++) {
            const float right = exact_hidden(n, token, e, exact_once(n, e, c)) +
                                2 * exact_hidden(n, token, e, exact_twice(n, e, c));
            if (y[c] != right) wrong = slot > wrong ? slot : wrong;
        }
    }
    if (wrong < 0) return STATUS_OK;
    return fail(error, STATUS_WRONG,
                "wrong y: choice %d of token %d, expert %d, has not the sums of whole numbers",
                wrong % s->chosen, wrong / s->chosen, o->expert[wrong]);
}

/* ---- fp64 -------------------------------------------------------------------------------------- */

/* An error over its bound; infinity where it is no number. */
static double share_of(double got, double exact, double bound)
{
    const double share = fabs(got - exact) / (bound + 1e-300);
    return share >= 0 ? share : INFINITY;
}

/* The bound of a sum of n products, stored in fp16. */
static double stored_bound(const layer *l, int n, double exact, double size)
{
    const bool is_vendor = l->way == WAY_LOOP || l->way == WAY_GROUPED || l->way == WAY_BATCHED;
    const double sums = ROUNDOFF * (n + 4) * size * (is_vendor ? FP16_SUMS_ROUNDED : 1);
    return rounding_stored(PRECISION_FP16, exact, sums);
}

/* Sums and sizes of one row times a matrix, element by element of the matrix. */
typedef struct sums {
    double *of, *size;
} sums;

static void add_row(sums *to, int column, double x, double w)
{
    to->of[column] += x * w;
    to->size[column] += fabs(x * w);
}

static double worst_logits(const observed *o, int token, sums *to)
{
    const layer *l = o->l;
    const moe_shape *s = &l->shape;
    double worst = 0;
    memset(to->of, 0, s->experts * sizeof *to->of);
    memset(to->size, 0, s->experts * sizeof *to->size);
    for (int f = 0; f < s->features; f++) {
        const double x = number_of_x(&l->numbers, token, f);
        for (int e = 0; e < s->experts; e++)
            add_row(to, e, x, number_of_router(&l->numbers, f, e));
    }
    for (int e = 0; e < s->experts; e++)
        worst = fmax(worst, share_of(o->logits[(size_t)token * s->experts + e], to->of[e],
                                     ROUNDOFF * (s->features + 4) * to->size[e]));
    return worst;
}

static double worst_hidden(const observed *o, int slot, const float *hidden, sums *to)
{
    const layer *l = o->l;
    const moe_shape *s = &l->shape;
    const float *x = o->of_rows + (size_t)o->row_of[slot] * s->features;
    double worst = 0;
    memset(to->of, 0, s->hidden * sizeof *to->of);
    memset(to->size, 0, s->hidden * sizeof *to->size);
    for (int f = 0; f < s->features; f++)
        for (int h = 0; h < s->hidden; h++)
            add_row(to, h, x[f], number_of_up(&l->numbers, o->expert[slot], f, h));
    for (int h = 0; h < s->hidden; h++) {
        const double bound = stored_bound(l, s->features, to->of[h], to->size[h]);
        worst = fmax(worst, share_of(hidden[h], fmax(to->of[h], 0), bound));
    }
    return worst;
}

static double worst_y(const observed *o, int slot, const float *hidden, sums *to)
{
    const layer *l = o->l;
    const moe_shape *s = &l->shape;
    const float *y = o->y + (size_t)o->row_of[slot] * s->features;
    double worst = 0;
    memset(to->of, 0, s->features * sizeof *to->of);
    memset(to->size, 0, s->features * sizeof *to->size);
    for (int h = 0; h < s->hidden; h++)
        for (int f = 0; f < s->features; f++)
            add_row(to, f, hidden[h], number_of_down(&l->numbers, o->expert[slot], h, f));
    for (int f = 0; f < s->features; f++)
        worst = fmax(worst,
                     share_of(y[f], to->of[f], stored_bound(l, s->hidden, to->of[f], to->size[f])));
    return worst;
}

/* All tokens. */
static double worst_out(const observed *o)
{
    const moe_shape *s = &o->l->shape;
    double worst = 0;
#pragma omp parallel for reduction(max : worst)
    for (int t = 0; t < s->tokens; t++)
        for (int f = 0; f < s->features; f++) {
            double sum = 0, size = 0;
            for (int j = 0; j < s->chosen; j++) {
                const int slot = t * s->chosen + j;
                const double term =
                    (double)o->gate[slot] * o->y[(size_t)o->row_of[slot] * s->features + f];
                sum += term;
                size += fabs(term);
            }
            const double bound =
                rounding_stored(PRECISION_FP16, sum, ROUNDOFF * (s->chosen + 2) * size);
            worst = fmax(worst, share_of(o->out[(size_t)t * s->features + f], sum, bound));
        }
    return worst;
}

/* Slots that are checked: first and last of each expert, where errors of a layout would be, then others evenly spaced. The
 * caller frees them; NULL: no memory. */
static int *choose_slots(const observed *o, int *count)
{
    const layer *l = o->l;
    const moe_shape *s = &l->shape;
    const int slots = shape_slots(s);
    const double wanted = MOST_PRODUCTS / (2. * s->features * s->hidden);
    int most = wanted < FEWEST_SLOTS ? FEWEST_SLOTS
               : wanted > MOST_SLOTS ? MOST_SLOTS
                                     : (int)wanted;
    if (most > slots) most = slots;
    int *list = malloc((size_t)(most + 2) * sizeof *list), n = 0;
    if (!list) return NULL;
    for (int e = 0; e < s->experts && n < most / 2; e++) {
        if (l->start[e] == l->start[e + 1]) continue;
        list[n++] = o->order[l->start[e]];
        list[n++] = o->order[l->start[e + 1] - 1];
    }
    for (int i = 0, rest = most - n; i < rest; i++)
        list[n++] = (int)((int64_t)i * slots / rest);
    *count = n;
    return list;
}

/* Hidden numbers of the slots, one row after the other; the caller frees them. One thread asks the device for all. */
static enum status fetch_hidden(const observed *o, const int *list, int count, float **to,
                                error_text *error)
{
    const layer *l = o->l;
    const size_t hidden = (size_t)l->shape.hidden;
    *to = malloc(((size_t)count * hidden + 1) * sizeof **to);
    if (!*to) return fail(error, STATUS_MEMORY, "no memory to check tokens");
    for (int i = 0; i < count; i++) {
        const char *const row = (const char *)l->hidden + (size_t)o->row_of[list[i]] * hidden * 2;
        float *numbers = NULL;
        const enum status status = fetch_halves(&numbers, row, hidden, error);
        if (status == STATUS_OK) memcpy(*to + i * hidden, numbers, hidden * sizeof **to);
        free(numbers);
        TRY(status);
    }
    return STATUS_OK;
}

/* Checks one slot: `worst` grows. False: no memory. */
static bool check_slot(const observed *o, int slot, const float *hidden, double *worst)
{
    const moe_shape *s = &o->l->shape;
    const int widest = s->hidden > s->features ? s->hidden : s->features;
    const size_t room = (size_t)(widest > s->experts ? widest : s->experts);
    double *both = malloc(2 * room * sizeof *both);
    if (!both) return false;
    sums to = {both, both + room};
    worst[CHECKED_LOGITS] = worst_logits(o, slot / s->chosen, &to);
    worst[CHECKED_HIDDEN] = worst_hidden(o, slot, hidden, &to);
    worst[CHECKED_Y] = worst_y(o, slot, hidden, &to);
    free(both);
    return true;
}

static enum status check_slots(const observed *o, const int *list, const float *hidden,
                               layer_verdict *v, error_text *error)
{
    double logits = 0, of_hidden = 0, y = 0;
    bool ok = true;
#pragma omp parallel for schedule(dynamic) reduction(max : logits, of_hidden, y) reduction(&& : ok)
    for (int i = 0; i < v->slots; i++) {
        double worst[NUM_CHECKED] = {0};
        ok = ok && check_slot(o, list[i], hidden + (size_t)i * o->l->shape.hidden, worst);
        logits = fmax(logits, worst[CHECKED_LOGITS]);
        of_hidden = fmax(of_hidden, worst[CHECKED_HIDDEN]);
        y = fmax(y, worst[CHECKED_Y]);
    }
    v->worst[CHECKED_LOGITS] = logits;
    v->worst[CHECKED_HIDDEN] = of_hidden;
    v->worst[CHECKED_Y] = y;
    return ok ? STATUS_OK : fail(error, STATUS_MEMORY, "no memory to check tokens");
}

static enum status check_sample(const observed *o, layer_verdict *v, error_text *error)
{
    int *list = choose_slots(o, &v->slots);
    float *hidden = NULL;
    enum status status = list ? fetch_hidden(o, list, v->slots, &hidden, error)
                              : fail(error, STATUS_MEMORY, "no memory to check tokens");
    if (status == STATUS_OK) status = check_slots(o, list, hidden, v, error);
    free(hidden);
    free(list);
    return status;
}

static enum status check_random(const observed *o, layer_verdict *v, error_text *error)
{
    TRY(check_sample(o, v, error));
    v->worst[CHECKED_OUT] = worst_out(o);
    for (int i = 0; i < NUM_CHECKED; i++)
        if (!(v->worst[i] <= 1))
            return fail(error, STATUS_WRONG, "wrong %s: off by %.3g times the bound", NAMES[i],
                        v->worst[i]);
    return STATUS_OK;
}

/* ---- the whole --------------------------------------------------------------------------------- */

static enum status run_and_check(layer *l, enum numbers kind, layer_verdict *v, error_text *error)
{
    observed o = {0};
    TRY(layer_fill(l, kind, error));
    TRY(layer_poison(l, error));
    enum status status = observe(l, &o, error);
    if (status == STATUS_OK) status = check_arrangement(&o, &v->worst[CHECKED_GATES], error);
    if (status == STATUS_OK)
        status = kind == NUMBERS_EXACT ? check_exact(&o, error) : check_random(&o, v, error);
    observed_free(&o);
    return status;
}

enum status layer_check(layer *l, layer_verdict *v, error_text *error)
{
    *v = (layer_verdict){0};
    for (int i = 0; i < NUM_CHECKED; i++)
        v->worst[i] = NAN;
    TRY(run_and_check(l, NUMBERS_EXACT, v, error));
    TRY(run_and_check(l, NUMBERS_RANDOM, v, error));
    v->largest = layer_largest(l);
    v->without = layer_without_tokens(l);
    for (int e = 0; e < l->shape.experts; e++)
        v->padded_rows += filled_up(&l->shape, l->start[e + 1] - l->start[e]);
    return STATUS_OK;
}

double dropped_share(const layer *l, double factor)
{
    const moe_shape *s = &l->shape;
    const double slots = shape_slots(s), room = ceil(factor * slots / s->experts);
    double dropped = 0;
    for (int e = 0; e < s->experts; e++)
        dropped += fmax(l->start[e + 1] - l->start[e] - room, 0);
    return dropped / slots;
}
