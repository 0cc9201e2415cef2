/*
 * speed.c - speed, by this process's clock alone.
 *
 * The clock starts when the runner is told to work on a batch and stops when it says that it is done:
 * what it might do to events or clocks of its own changes nothing. It says so too early at its peril: "done"
 * comes with fingerprints of all results, which must be those that are fetched and checked afterwards. A
 * batch goes once over slots that all hold other right-hand sides, put there while the submission was not
 * running. Rows of every result, drawn afterwards, are checked. The reference is the staff's own lab, linked
 * to the same runner, with the same inputs. The two take turns, so that what drifts on a machine meets both,
 * and how far the reference differs from itself is known.
 */
#include "grader/speed.h"

#include "grader/test_inputs.h"
#include "harness/device.h"
#include "matrix/random.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLE = 200 };
/* Bytes that the slots of a batch take together: each crosses the channel in every round, at a gigabyte or so a
 * second. But there are LEAST_SIDES at least. */
enum { BATCH_BYTES = 1 << 30, LEAST_SIDES = 4 };

/* A tie is a tie: a speed is raised by as much as the reference differs from itself. But not by more than
 * this, or noise would pay: 0.95 times as fast is asked for, and code that takes 1.2 times as long comes
 * to 1.06 / 1.2 = 0.88. */
static const double MOST_CREDIT = 0.06;

double speed_share(double speed, target wanted)
{
    if (!(speed > wanted.zero)) return 0;
    return speed >= wanted.full ? 1 : (speed - wanted.zero) / (wanted.full - wanted.zero);
}

target speed_target(const char *lab_folder, const char *device, const test *t)
{
    target found = {strtod(t->word[2], NULL), strtod(t->word[3], NULL)};
    char path[600], line[600], name[300], dataset[96], width[96];
    snprintf(path, sizeof path, "%s/targets.tsv", lab_folder);
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof line, f)) {
        target here;
        if (sscanf(line, "%299[^\t]\t%95[^\t]\t%95[^\t]\t%lf\t%lf", name, dataset, width,
                   &here.zero, &here.full) == 5 &&
            !strcmp(name, device) && !strcmp(dataset, t->word[0]) && !strcmp(width, t->word[1]))
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

/* Sorts the values. */
static double median(double *values, int count)
{
    qsort(values, count, sizeof *values, by_size);
    return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

double speed_ms(const racer *r)
{
    double all[SPEED_TURNS * SPEED_BATCHES];
    memcpy(all, r->ms, sizeof all);
    return median(all, SPEED_TURNS * SPEED_BATCHES);
}

double speed_spread(const racer *r)
{
    double least = INFINITY, most = 0;
    for (int t = 0; t < SPEED_TURNS; t++) {
        double turn[SPEED_BATCHES];
        memcpy(turn, r->ms[t], sizeof turn);
        const double ms = median(turn, SPEED_BATCHES);
        least = fmin(least, ms);
        most = fmax(most, ms);
    }
    return most / least - 1;
}

race_verdict speed_judge(const racer *reference, const racer *submission, target wanted)
{
    race_verdict v = {.speed = speed_ms(reference) / speed_ms(submission),
                      .spread = speed_spread(reference)};
    v.credit = fmin(v.spread, MOST_CREDIT);
    v.share = speed_share(v.speed * (1 + v.credit), wanted);
    return v;
}

/* A batch before those that count loads the kernels. False with r->why. */
static bool take_batches(bench *b, remote *r, int lab, double *ms, double *look_ms)
{
    int slots[MAX_SIDES];
    if (!bench_prepare(b, r, lab, "")) return false;
    for (int round = 0; round <= SPEED_BATCHES; round++) {
        double batch, look;
        for (int s = 0; s < b->num_sides; s++) {
            slots[s] = s;
            if (!bench_load(b, r, s, (s + round) % b->num_sides)) return false;
        }
        if (!bench_run(b, r, slots, b->num_sides, &batch, NULL) ||
            !bench_look(b, r, slots, b->num_sides, &look))
            return false;
        if (round > 0) {
            ms[round - 1] = batch / b->num_sides;
            look_ms[round - 1] = look / b->num_sides;
        }
        for (int s = 0; s < b->num_sides; s++)
            if (!bench_check(b, r, s, SAMPLE)) return false;
    }
    return bench_check(b, r, (int)(test_input_secret() % b->num_sides), 0);
}

static bool take_turn(const attempt *a, bench *b, racer *who, int turn)
{
    remote r;
    char log[4096];
    attempt_path(a, "log", log, sizeof log);
    const bool done = remote_open(&r, who->program, 0, log, 3 * a->patience) &&
                      take_batches(b, &r, who->lab, who->ms[turn], who->look_ms[turn]);
    snprintf(who->why, sizeof who->why, "%s", r.why);
    remote_close(&r);
    who->out_of_time = r.process.out_of_time;
    return done;
}

/* No time is less than a hundredth of what was measured. */
static void subtract(racer *r, double look_ms)
{
    for (int i = 0; i < SPEED_TURNS * SPEED_BATCHES; i++) {
        double *const ms = &r->ms[i / SPEED_BATCHES][i % SPEED_BATCHES];
        *ms = fmax(*ms - look_ms, *ms / 100);
    }
}

bool speed_race(const attempt *a, bench *b, racer *one, racer *other)
{
    double looks[SPEED_TURNS * SPEED_BATCHES];
    for (int t = 0; t < SPEED_TURNS; t++)
        if (!take_turn(a, b, t % 2 ? other : one, t) || !take_turn(a, b, t % 2 ? one : other, t))
            return false;
    memcpy(looks, one->look_ms, sizeof looks);
    const double look_ms = median(looks, SPEED_TURNS * SPEED_BATCHES);
    subtract(one, look_ms);
    subtract(other, look_ms);
    return true;
}

enum status speed_open(const attempt *a, const test *t, bench *b, error_text *error)
{
    csr_matrix A;
    int width, precision = 0;
    if (attempt_widths(t->word[1], &width, 1) != 1)
        return fail(error, STATUS_USAGE, "%s: no width", t->word[1]);
    while (!(a->rubric->precisions & 1u << precision))
        precision++;
    enum status status = test_input_make(t->word[0], a->secret, &A, error);
    if (status == STATUS_OK)
        status = bench_open(b, t->operation, &A, width, (enum precision)precision, LEAST_SIDES,
                            a->secret, error);
    if (status == STATUS_OK && device_keeps_time())
        status = bench_widen(b, BATCH_BYTES / bench_slot_bytes(b), error);
    if (status != STATUS_OK) bench_close(b);
    return status;
}

static found judge(const attempt *a, const test *t, const racer *reference, const racer *submission,
                   double *speed)
{
    device_info device;
    error_text error;
    if (!device_keeps_time())
        return found_of(NAN, "a rehearsal: every result was right, and times mean nothing here");
    if (device_open(0, &device, &error) != STATUS_OK) return found_of(NAN, "%.400s", error.text);
    const target wanted = speed_target(a->lab_folder, device.name, t);
    const race_verdict v = speed_judge(reference, submission, wanted);
    *speed = v.speed;
    return found_of(v.share,
                    "%.2f times as fast as the reference (%.4g ms a run, it takes %.4g); the turns "
                    "of the reference differ by %.1f %%, so that this counts as %.2f; points from "
                    "%g, all of them at %g",
                    v.speed, speed_ms(submission), speed_ms(reference), 100 * v.spread,
                    v.speed * (1 + v.credit), wanted.zero, wanted.full);
}

found attempt_time(const attempt *a, const test *t, bool right, double *speed)
{
    char own[4096], other[4096];
    racer reference = {.program = other, .lab = a->lab},
          submission = {.program = own, .lab = a->lab};
    bench b;
    error_text error;
    if (!device_keeps_time() && !a->rehearsal) return found_of(NAN, "needs a GPU");
    if (!right) return found_of(0, "results were wrong above: no time counts");
    if (speed_open(a, t, &b, &error) != STATUS_OK) return found_of(NAN, "%.500s", error.text);
    attempt_program(a, "runner", false, own, sizeof own);
    attempt_program(a, "reference", false, other, sizeof other);
    const bool raced = speed_race(a, &b, &reference, &submission);
    bench_close(&b);
    if (raced) return judge(a, t, &reference, &submission, speed);
    if (*reference.why) return found_of(NAN, "the reference: %s", reference.why);
    found f = found_of(0, "%s", submission.why);
    f.out_of_time = submission.out_of_time;
    return f;
}
