#include "grader/bench.h"

#include "grader/test_inputs.h"
#include "matrix/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Array numbers: the shared inputs, then those of each slot, its outputs last. */
enum { PER_SLOT = MAX_OPERANDS + MAX_OUTPUTS };
_Static_assert(MAX_OPERANDS + MAX_SIDES * PER_SLOT <= MAX_ARRAYS, "array numbers");

static int input_array(const bench *b, int slot, int input)
{
    return b->varies[input] ? MAX_OPERANDS + slot * PER_SLOT + input : input;
}

static int output_array(int slot, int output)
{
    return MAX_OPERANDS + slot * PER_SLOT + MAX_OPERANDS + output;
}

/* ---- making ---------------------------------------------------------------------------------- */

static size_t largest_array(const problem *p)
{
    size_t most = 0;
    for (int i = 0; i < p->num_inputs; i++)
        if (p->inputs[i].bytes > most) most = p->inputs[i].bytes;
    for (int i = 0; i < p->num_outputs; i++)
        if (output_bytes(&p->outputs[i]) > most) most = output_bytes(&p->outputs[i]);
    return most;
}

void bench_close(bench *b)
{
    for (int i = 0; i < b->num_sides; i++) {
        reference_destroy(&b->references[i]);
        if (b->sides[i].own) b->sides[i].operation->destroy(&b->sides[i]);
    }
    csr_free(&b->A);
    free(b->image);
    for (int i = 0; i < MAX_OUTPUTS; i++)
        free(b->results[i]);
    *b = (bench){0};
}

enum status bench_widen(bench *b, size_t num_sides, error_text *error)
{
    enum status status = STATUS_OK;
    while (b->num_sides < MAX_SIDES && (size_t)b->num_sides < num_sides && status == STATUS_OK) {
        problem *p = &b->sides[b->num_sides];
        *p = (problem){.operation = b->operation,
                       .A = &b->A,
                       .stats = b->stats,
                       .width = b->width,
                       .seed = random_substream(b->secret, b->num_sides),
                       .whole = b->whole,
                       .precision = b->precision};
        if (b->turned)
            problem_turn_knobs(p, random_bits(b->secret, MAX_SIDES)); /* all sides alike */
        status = b->operation->create(p, error);
        if (status == STATUS_OK) b->num_sides++;
    }
    return status;
}

/* Takes A over for a bench of this kind, and makes its sides. */
static enum status open_as(bench *b, const bench *kind, csr_matrix *A, int num_sides,
                           error_text *error)
{
    *b = *kind;
    b->A = *A;
    *A = (csr_matrix){0};
    enum status status = row_stats_compute(&b->A, &b->stats, error);
    if (status == STATUS_OK) status = bench_widen(b, num_sides, error);
    if (status == STATUS_OK) {
        const problem *p = b->sides;
        for (int i = 0; i < p->num_inputs && num_sides > 1; i++)
            b->varies[i] = memcmp(p[0].inputs[i].data, p[1].inputs[i].data, p[0].inputs[i].bytes);
        b->image = malloc(largest_array(p) + 2 * ARRAY_GUARD);
        bool has_room = b->image;
        for (int i = 0; i < p->num_outputs; i++) {
            b->results[i] = malloc((output_elements(&p->outputs[i]) + 1) * sizeof *b->results[i]);
            has_room = has_room && b->results[i];
        }
        if (!has_room) status = fail(error, STATUS_MEMORY, "no memory for the arrays");
    }
    if (status != STATUS_OK) bench_close(b);
    return status;
}

enum status bench_open(bench *b, const operation *op, csr_matrix *A, int width,
                       enum precision precision, int num_sides, uint64_t secret, error_text *error)
{
    const bench kind = {.operation = op, .width = width, .precision = precision, .secret = secret};
    return open_as(b, &kind, A, num_sides, error);
}

enum status bench_open_turned(bench *b, const operation *op, csr_matrix *A, int width,
                              enum precision precision, int num_sides, uint64_t secret,
                              error_text *error)
{
    const bench kind = {
        .operation = op, .width = width, .precision = precision, .secret = secret, .turned = true};
    return open_as(b, &kind, A, num_sides, error);
}

enum status bench_open_whole(bench *b, const operation *op, csr_matrix *A, int width,
                             enum precision precision, uint64_t secret, error_text *error)
{
    const bench kind = {.operation = op,
                        .width = width,
                        .precision = precision,
                        .secret = secret,
                        .whole = true,
                        .turned = true};
    if (op->exact_in_whole_numbers) return open_as(b, &kind, A, 1, error);
    csr_free(A);
    return fail(error, STATUS_SKIPPED, "%s is not exact in whole numbers", op->name);
}

size_t bench_slot_bytes(const bench *b)
{
    const problem *p = b->sides;
    size_t bytes = 1;
    for (int i = 0; i < p->num_inputs; i++)
        if (b->varies[i]) bytes += p->inputs[i].bytes;
    for (int i = 0; i < p->num_outputs; i++)
        bytes += output_bytes(&p->outputs[i]);
    return bytes;
}

/* ---- sending --------------------------------------------------------------------------------- */

/* Bytes that a result's guards hold: another secret for each array. A write of NaN shows, too. */
static unsigned char guard_byte(const bench *b, int array, size_t at)
{
    return (unsigned char)random_bits(b->secret ^ (uint64_t)array << 32, at);
}

static bool put_input(bench *b, remote *r, int slot, int input, const problem *p)
{
    const operand *in = &p->inputs[input];
    memset(b->image, 0xFF, in->bytes + 2 * ARRAY_GUARD); /* NaN, for those who read beyond */
    memcpy(b->image + ARRAY_GUARD, in->data, in->bytes);
    return remote_put(r, input_array(b, slot, input), b->image, in->bytes + 2 * ARRAY_GUARD,
                      in->name, in->element, true);
}

static bool put_output(bench *b, remote *r, int slot, int output)
{
    const struct output *o = &b->sides[0].outputs[output];
    const size_t bytes = output_bytes(o);
    const int array = output_array(slot, output);
    memset(b->image + ARRAY_GUARD, 0xFF, bytes);
    for (size_t i = 0; i < ARRAY_GUARD; i++) {
        b->image[i] = guard_byte(b, array, i);
        b->image[ARRAY_GUARD + bytes + i] = guard_byte(b, array, ARRAY_GUARD + i);
    }
    return remote_put(r, array, b->image, bytes + 2 * ARRAY_GUARD, o->name,
                      precision_format(o->precision)->bytes, false);
}

bool bench_load(bench *b, remote *r, int slot, int side)
{
    const problem *p = &b->sides[side];
    b->held[slot] = side;
    b->keys[slot] = 0;
    for (int i = 0; i < p->num_inputs; i++)
        if (b->varies[i] && !put_input(b, r, slot, i, p)) return false;
    for (int i = 0; i < p->num_outputs; i++)
        if (!put_output(b, r, slot, i)) return false;
    return true;
}

bool bench_prepare(bench *b, remote *r, int lab, const char *settings)
{
    const problem *p = &b->sides[0];
    prepare_request q = {.lab = lab,
                         .precision = p->precision,
                         .width = p->width,
                         .num_inputs = p->num_inputs,
                         .rows = b->A.rows,
                         .cols = b->A.cols,
                         .nnz = b->A.nnz,
                         .has_values = b->A.values != NULL};
    snprintf(q.operation, sizeof q.operation, "%s", p->operation->name);
    memcpy(q.knobs, p->knobs, sizeof q.knobs);
    for (int i = 0; i < p->num_inputs; i++) {
        q.inputs[i] = input_array(b, 0, i);
        if (!b->varies[i] && !put_input(b, r, 0, i, p)) return false;
    }
    return bench_load(b, r, 0, 0) && remote_prepare(r, &q, &b->A, settings);
}

static void name_arrays(const bench *b, const int *slots, int count, run_step *steps)
{
    for (int s = 0; s < count; s++) {
        for (int i = 0; i < MAX_OPERANDS; i++)
            steps[s].inputs[i] = i < b->sides[0].num_inputs ? input_array(b, slots[s], i) : -1;
        for (int i = 0; i < MAX_OUTPUTS; i++)
            steps[s].outputs[i] = i < b->sides[0].num_outputs ? output_array(slots[s], i) : -1;
    }
}

bool bench_run(bench *b, remote *r, const int *slots, int count, double *ms, trace_report *report)
{
    run_step steps[MAX_SIDES];
    const uint64_t key = test_input_secret() | 1;
    look seen;
    name_arrays(b, slots, count, steps);
    if (!remote_run(r, steps, count, key, ms, &seen, report)) return false;
    for (int s = 0; s < count && !report; s++) {
        b->keys[slots[s]] = key;
        memcpy(b->said[slots[s]], seen.outputs[s], sizeof seen.outputs[s]);
    }
    return true;
}

bool bench_look(bench *b, remote *r, const int *slots, int count, double *ms)
{
    run_step steps[MAX_SIDES];
    look seen;
    name_arrays(b, slots, count, steps);
    return remote_look(r, steps, count, test_input_secret(), ms, &seen);
}

/* ---- checking -------------------------------------------------------------------------------- */

static bool blame(remote *r, const char *text)
{
    if (!*r->why) snprintf(r->why, sizeof r->why, "%s", text);
    return false;
}

static bool guards_are_whole(const bench *b, remote *r, int array, const output *o)
{
    const size_t bytes = output_bytes(o);
    char text[120];
    snprintf(text, sizeof text, "wrote outside of %.40s: before its start or past its end",
             o->name);
    for (size_t i = 0; i < ARRAY_GUARD; i++)
        if (b->image[i] != guard_byte(b, array, i) ||
            b->image[ARRAY_GUARD + bytes + i] != guard_byte(b, array, ARRAY_GUARD + i))
            return blame(r, text);
    return true;
}

/* The row that holds an element: the last one that begins at it or before, and is not empty. */
static int64_t row_of(const output *o, int64_t element)
{
    int64_t low = 0, high = o->rows - 1;
    while (low < high) {
        const int64_t middle = high - (high - low) / 2;
        if (output_first(o, middle) <= element)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* Rows of elements that are drawn: on a pattern a row is as likely as it is long. */
static bool sample_is_right(const bench *b, remote *r, const problem *p, int which, int sample)
{
    const uint64_t stream = random_substream(test_input_secret(), which);
    const output *o = &p->outputs[which];
    const int64_t longest = output_longest(o), elements = output_elements(o);
    double *want = malloc(2 * (longest + 1) * sizeof *want), *bound = want + longest + 1;
    bool right = want != NULL;
    for (int s = 0; s < sample && right && elements; s++) {
        const int64_t row = row_of(o, (int64_t)random_below(stream, s, elements));
        const float *got = b->results[which] + output_first(o, row);
        p->operation->oracle(p, which, row, want, bound);
        for (int64_t j = 0; j < output_length(o, row); j++)
            right = right && fabs(got[j] - want[j]) <= bound[j];
    }
    free(want);
    return right || blame(r, "wrong elements among many runs: not every run did its work");
}

static bool samples_are_right(const bench *b, remote *r, const problem *p, int sample)
{
    for (int i = 0; i < p->num_outputs; i++)
        if (!sample_is_right(b, r, p, i, sample)) return false;
    return true;
}

static bool all_is_right(bench *b, remote *r, int side)
{
    reference *ref = &b->references[side];
    comparison c;
    error_text error;
    char text[200];
    if (!ref->problem) reference_create(&b->sides[side], ref);
    if (verify(ref, (const float *const *)b->results, &c, &error) != STATUS_OK)
        return blame(r, "no memory to verify");
    if (c.bad == 0) return true;
    diagnose(&b->sides[side], &c, text, sizeof text);
    return blame(r, text);
}

/* The image is what the runner's "done" was said of. */
static bool is_as_said(const bench *b, remote *r, int slot, int which, size_t bytes)
{
    fingerprint here;
    if (!b->keys[slot]) return true;
    if (!fingerprint_of(b->image, bytes, b->keys[slot], &here))
        return blame(r, "no memory to verify");
    return !memcmp(&here, &b->said[slot][which], sizeof here) ||
           blame(r, "other results than there were when it said that it was done");
}

/* An output as it is on the runner's device now: its guards are looked at, its elements kept. */
static bool fetch(bench *b, remote *r, int slot, int which)
{
    const output *o = &b->sides[b->held[slot]].outputs[which];
    const size_t bytes = output_bytes(o);
    const int array = output_array(slot, which);
    if (!remote_get(r, array, b->image, bytes + 2 * ARRAY_GUARD) ||
        !guards_are_whole(b, r, array, o) ||
        !is_as_said(b, r, slot, which, bytes + 2 * ARRAY_GUARD))
        return false;
    if (o->precision == PRECISION_FP32)
        memcpy(b->results[which], b->image + ARRAY_GUARD, bytes);
    else
        precision_widen(o->precision, b->image + ARRAY_GUARD, b->results[which],
                        output_elements(o));
    return true;
}

bool bench_check(bench *b, remote *r, int slot, int sample)
{
    const problem *p = &b->sides[b->held[slot]];
    for (int i = 0; i < p->num_outputs; i++)
        if (!fetch(b, r, slot, i)) return false;
    return sample ? samples_are_right(b, r, p, sample) : all_is_right(b, r, b->held[slot]);
}

bool bench_check_inputs(bench *b, remote *r, int slot)
{
    const problem *p = &b->sides[b->held[slot]];
    for (int i = 0; i < p->num_inputs; i++) {
        const operand *in = &p->inputs[i];
        char text[100];
        if (!remote_get(r, input_array(b, slot, i), b->image, in->bytes + 2 * ARRAY_GUARD))
            return false;
        snprintf(text, sizeof text, "modified its input %s", in->name);
        if (memcmp(b->image + ARRAY_GUARD, b->varies[i] ? in->data : b->sides[0].inputs[i].data,
                   in->bytes) != 0)
            return blame(r, text);
        for (size_t k = 0; k < ARRAY_GUARD; k++)
            if (b->image[k] != 0xFF || b->image[ARRAY_GUARD + in->bytes + k] != 0xFF)
                return blame(r, "wrote outside of an input");
    }
    return true;
}
