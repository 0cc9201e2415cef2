#include "grader/bench.h"

#include "grader/test_inputs.h"
#include "matrix/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Array numbers: the shared inputs, then those of each slot, its result last. */
enum { PER_SLOT = MAX_OPERANDS + 1 };
_Static_assert(MAX_OPERANDS + MAX_SIDES * PER_SLOT <= MAX_ARRAYS, "array numbers");

static int input_array(const bench *b, int slot, int input)
{
    return b->varies[input] ? MAX_OPERANDS + slot * PER_SLOT + input : input;
}

static int output_array(int slot)
{
    return MAX_OPERANDS + slot * PER_SLOT + MAX_OPERANDS;
}

static size_t result_elements(const bench *b)
{
    return (size_t)output_elements(&b->sides[0].outputs[0]);
}

static size_t result_bytes(const bench *b)
{
    return result_elements(b) * precision_format(b->sides[0].precision)->bytes;
}

/* ---- making ---------------------------------------------------------------------------------- */

static size_t largest_array(const bench *b)
{
    size_t most = result_bytes(b);
    for (int i = 0; i < b->sides[0].num_inputs; i++)
        if (b->sides[0].inputs[i].bytes > most) most = b->sides[0].inputs[i].bytes;
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
    free(b->result);
    *b = (bench){0};
}

enum status bench_open(bench *b, const operation *op, csr_matrix *A, int N,
                       enum precision precision, int num_sides, uint64_t secret, error_text *error)
{
    row_stats stats;
    *b = (bench){.A = *A, .num_sides = num_sides, .secret = secret};
    *A = (csr_matrix){0};
    enum status status = row_stats_compute(&b->A, &stats, error);
    for (int i = 0; i < num_sides && status == STATUS_OK; i++) {
        b->sides[i] = (problem){.operation = op,
                                .A = &b->A,
                                .stats = stats,
                                .width = N,
                                .seed = random_substream(secret, i),
                                .precision = precision};
        status = op->create(&b->sides[i], error);
    }
    if (status == STATUS_OK) {
        const problem *p = b->sides;
        for (int i = 0; i < p->num_inputs && num_sides > 1; i++)
            b->varies[i] = memcmp(p[0].inputs[i].data, p[1].inputs[i].data, p[0].inputs[i].bytes);
        b->image = malloc(largest_array(b) + 2 * ARRAY_GUARD);
        b->result = malloc((result_elements(b) + 1) * sizeof *b->result);
        if (!b->image || !b->result)
            status = fail(error, STATUS_MEMORY, "no memory for the arrays");
    }
    if (status != STATUS_OK) bench_close(b);
    return status;
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

static bool put_output(bench *b, remote *r, int slot)
{
    const size_t bytes = result_bytes(b);
    const int array = output_array(slot);
    memset(b->image + ARRAY_GUARD, 0xFF, bytes);
    for (size_t i = 0; i < ARRAY_GUARD; i++) {
        b->image[i] = guard_byte(b, array, i);
        b->image[ARRAY_GUARD + bytes + i] = guard_byte(b, array, ARRAY_GUARD + i);
    }
    return remote_put(r, array, b->image, bytes + 2 * ARRAY_GUARD, "C",
                      precision_format(b->sides[0].precision)->bytes, false);
}

bool bench_load(bench *b, remote *r, int slot, int side)
{
    const problem *p = &b->sides[side];
    b->held[slot] = side;
    for (int i = 0; i < p->num_inputs; i++)
        if (b->varies[i] && !put_input(b, r, slot, i, p)) return false;
    return put_output(b, r, slot);
}

bool bench_prepare(bench *b, remote *r, int lab, const char *settings)
{
    const problem *p = &b->sides[0];
    prepare_request q = {.lab = lab,
                         .precision = p->precision,
                         .N = p->width,
                         .num_inputs = p->num_inputs,
                         .rows = b->A.rows,
                         .cols = b->A.cols,
                         .nnz = b->A.nnz};
    for (int i = 0; i < p->num_inputs; i++) {
        q.inputs[i] = input_array(b, 0, i);
        if (!b->varies[i] && !put_input(b, r, 0, i, p)) return false;
    }
    return bench_load(b, r, 0, 0) && remote_prepare(r, &q, &b->A, settings);
}

bool bench_run(bench *b, remote *r, const int *slots, int count, double *ms, trace_report *report)
{
    run_step steps[MAX_SIDES];
    for (int s = 0; s < count; s++) {
        for (int i = 0; i < MAX_OPERANDS; i++)
            steps[s].inputs[i] = i < b->sides[0].num_inputs ? input_array(b, slots[s], i) : -1;
        steps[s].output = output_array(slots[s]);
    }
    return remote_run(r, steps, count, ms, report);
}

/* ---- checking -------------------------------------------------------------------------------- */

static bool blame(remote *r, const char *text)
{
    if (!*r->why) snprintf(r->why, sizeof r->why, "%s", text);
    return false;
}

static bool guards_are_whole(const bench *b, remote *r, int array, size_t bytes)
{
    for (size_t i = 0; i < ARRAY_GUARD; i++)
        if (b->image[i] != guard_byte(b, array, i) ||
            b->image[ARRAY_GUARD + bytes + i] != guard_byte(b, array, ARRAY_GUARD + i))
            return blame(r, "wrote outside of C: before its start or past its end");
    return true;
}

static bool sample_is_right(const bench *b, remote *r, const problem *p, int sample)
{
    const uint64_t stream = test_input_secret();
    const output *o = &p->outputs[0];
    const int64_t longest = output_longest(o);
    double *want = malloc(2 * (longest + 1) * sizeof *want), *bound = want + longest + 1;
    bool right = want != NULL;
    for (int s = 0; s < sample && right && o->rows; s++) {
        const int64_t row = (int64_t)random_below(stream, s, o->rows);
        const float *got = b->result + output_first(o, row);
        p->operation->oracle(p, 0, row, want, bound);
        for (int64_t j = 0; j < output_length(o, row); j++)
            right = right && fabs(got[j] - want[j]) <= bound[j];
    }
    free(want);
    return right || blame(r, "wrong elements among many runs: not every run did its work");
}

static bool all_is_right(bench *b, remote *r, int side)
{
    reference *ref = &b->references[side];
    comparison c;
    error_text error;
    char text[200];
    if (!ref->problem) reference_create(&b->sides[side], ref);
    if (verify(ref, (const float *const[]){b->result}, &c, &error) != STATUS_OK)
        return blame(r, "no memory to verify");
    if (c.bad == 0) return true;
    diagnose(&b->sides[side], &c, text, sizeof text);
    return blame(r, text);
}

bool bench_check(bench *b, remote *r, int slot, int sample)
{
    const problem *p = &b->sides[b->held[slot]];
    const size_t bytes = result_bytes(b);
    const int array = output_array(slot);
    if (!remote_get(r, array, b->image, bytes + 2 * ARRAY_GUARD) ||
        !guards_are_whole(b, r, array, bytes))
        return false;
    if (p->precision == PRECISION_FP32)
        memcpy(b->result, b->image + ARRAY_GUARD, bytes);
    else
        precision_widen(p->precision, b->image + ARRAY_GUARD, b->result, result_elements(b));
    return sample ? sample_is_right(b, r, p, sample) : all_is_right(b, r, b->held[slot]);
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
