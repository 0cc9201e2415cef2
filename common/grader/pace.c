/*
 * pace.c - speed, by this process's clock alone.
 *
 * The clock starts when the runner is told to work on a batch and stops when it says that it is done:
 * what it might do to events or clocks of its own changes nothing. It says so too early at its peril: a
 * batch goes once over slots that all hold other right-hand sides, put there while the submission was
 * not running, and rows of every result, drawn afterwards, are checked. The reference is the staff's
 * own lab, in the same runner, on the same slots.
 */
#include "grader/pace.h"

#include "grader/matter.h"
#include "harness/device.h"
#include "matrix/random.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 7, SAMPLE = 200 };
/* What the slots of a batch take together: each crosses the channel in every round, at a gigabyte or so a
 * second. But there are LEAST_SIDES at least. */
enum { BATCH_BYTES = 1 << 30, LEAST_SIDES = 4 };

double pace_share(double speed, target wanted)
{
    if (!(speed > wanted.zero)) return 0;
    return speed >= wanted.full ? 1 : (speed - wanted.zero) / (wanted.full - wanted.zero);
}

target pace_target(const char *lab_folder, const char *device, const test *t)
{
    target found = {strtod(t->word[2], NULL), strtod(t->word[3], NULL)};
    char path[600], line[600], name[300], dataset[96], N[96];
    snprintf(path, sizeof path, "%s/targets.tsv", lab_folder);
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof line, f)) {
        target here;
        if (sscanf(line, "%299[^\t]\t%95[^\t]\t%95[^\t]\t%lf\t%lf", name, dataset, N, &here.zero,
                   &here.full) == 5 &&
            !strcmp(name, device) && !strcmp(dataset, t->word[0]) && !strcmp(N, t->word[1]))
            found = here;
    }
    if (f) fclose(f);
    return found;
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median over rounds of the time of a batch; the first round, which loads kernels, counts for
 * nothing. NAN with r->why. */
static double median_ms(bench *b, remote *r, int lab)
{
    double ms[ROUNDS + 1];
    int slots[MAX_SIDES];
    if (!bench_prepare(b, r, lab, "")) return NAN;
    for (int round = 0; round <= ROUNDS; round++) {
        for (int s = 0; s < b->num_sides; s++) {
            slots[s] = s;
            if (!bench_load(b, r, s, (s + round) % b->num_sides)) return NAN;
        }
        if (!bench_run(b, r, slots, b->num_sides, &ms[round], NULL)) return NAN;
        for (int s = 0; s < b->num_sides; s++)
            if (!bench_check(b, r, s, SAMPLE)) return NAN;
    }
    if (!bench_check(b, r, (int)(matter_secret() % b->num_sides), 0)) return NAN;
    qsort(ms + 1, ROUNDS, sizeof *ms, by_size);
    return ms[1 + ROUNDS / 2];
}

/* Of a slot B and C count; A is everybody's. */
static int num_sides(const csr_matrix *A, int N, enum precision precision)
{
    const size_t slot = (size_t)(A->rows + A->cols + 1) * N * precision_format(precision)->bytes;
    const size_t most = device_keeps_time() ? BATCH_BYTES / slot : 0;
    return most > MAX_SIDES ? MAX_SIDES : most < LEAST_SIDES ? LEAST_SIDES : (int)most;
}

enum status pace_open(const attempt *a, const test *t, bench *b, error_text *error)
{
    csr_matrix A;
    int N, precision = 0;
    if (attempt_widths(t->word[1], &N, 1) != 1)
        return fail(error, STATUS_USAGE, "%s: no width", t->word[1]);
    while (!(a->plan->precisions & 1u << precision))
        precision++;
    enum status status = matter_make(t->word[0], a->secret, &A, error);
    if (status == STATUS_OK)
        status = bench_open(b, a->operation, &A, N, (enum precision)precision,
                            num_sides(&A, N, (enum precision)precision), a->secret, error);
    return status;
}

double pace_measure(const attempt *a, bench *b, const char *program, int lab, char *why,
                    size_t bytes)
{
    remote r;
    char log[4096];
    attempt_path(a, "log", log, sizeof log);
    const double ms =
        remote_open(&r, program, 0, log, 3 * a->patience) ? median_ms(b, &r, lab) : NAN;
    snprintf(why, bytes, "%s", r.why);
    remote_close(&r);
    return ms / b->num_sides;
}

static found judge(const attempt *a, const test *t, double mine, double theirs, double *speed)
{
    device_info device;
    error_text error;
    if (!device_keeps_time())
        return found_of(NAN, "a rehearsal: every result was right, and times mean nothing here");
    if (device_open(0, &device, &error) != STATUS_OK) return found_of(NAN, "%.400s", error.text);
    const target wanted = pace_target(a->lab_folder, device.name, t);
    *speed = theirs / mine;
    return found_of(
        pace_share(*speed, wanted),
        "%.2f times as fast as the reference (%.4g ms a run, it takes %.4g); points from "
        "%g, all of them at %g",
        *speed, mine, theirs, wanted.zero, wanted.full);
}

found attempt_time(const attempt *a, const test *t, double *speed)
{
    char own[4096], other[4096], why[400];
    bench b;
    error_text error;
    if (!device_keeps_time() && !a->rehearsal) return found_of(NAN, "needs a GPU");
    if (pace_open(a, t, &b, &error) != STATUS_OK) return found_of(NAN, "%.500s", error.text);
    attempt_program(a, "runner", false, own, sizeof own);
    attempt_program(a, "reference", false, other, sizeof other);
    const double theirs = pace_measure(a, &b, other, a->lab, why, sizeof why);
    found f = found_of(NAN, "the reference: %s", why);
    if (!isnan(theirs)) {
        const double mine = pace_measure(a, &b, own, a->lab, why, sizeof why);
        f = isnan(mine) ? found_of(0, "%s", why) : judge(a, t, mine, theirs, speed);
    }
    bench_close(&b);
    return f;
}
