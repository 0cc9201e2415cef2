/*
 * calibrate.c - what speed to ask for on this GPU: measures a lab's solution and its parent, the step
 * before it, as a submission would be, in a race, and writes LAB/targets.tsv.
 *
 *     calibrate LAB PARENT REFERENCE PARENT_PROGRAM
 *
 * LAB and PARENT are numbers, the programs their runners. The parent's speed gets no points, since nothing
 * was gained by it; the solution's, less a twentieth, gets all. Noise is allowed for when it is seen.
 */
#include "grader/confine.h"
#include "grader/speed.h"
#include "grader/test_inputs.h"
#include "harness/device.h"
#include "matrix/files.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_LINES = 256 };

/* Lines of the file that are about other GPUs stay; `mine` follow. */
static enum status save(const char *path, const char *device, char mine[][400], int count,
                        error_text *error)
{
    static char kept[MAX_LINES][600];
    int num_kept = 0;
    FILE *old = fopen(path, "r");
    while (old && num_kept < MAX_LINES && fgets(kept[num_kept], sizeof kept[0], old))
        num_kept += strncmp(kept[num_kept], device, strlen(device)) != 0;
    if (old) fclose(old);
    output_file f;
    enum status status = output_open(&f, path, error);
    if (status != STATUS_OK) return status;
    for (int i = 0; i < num_kept; i++)
        fputs(kept[i], f.stream);
    for (int i = 0; i < count; i++)
        fputs(mine[i], f.stream);
    return output_close(&f, error);
}

/* One test: a line of targets.tsv. */
static enum status calibrate(const attempt *a, const test *t, const char *const *programs,
                             int parent, const char *device, char *line, size_t bytes,
                             error_text *error)
{
    bench b;
    racer solution = {.program = programs[0], .lab = a->lab},
          earlier = {.program = programs[1], .lab = parent};
    enum status status = speed_open(a, t, &b, error);
    if (status != STATUS_OK) return status;
    const bool raced = speed_race(a, &b, &solution, &earlier);
    bench_close(&b);
    if (!raced)
        return fail(error, STATUS_WRONG, "%s, %s = %s: %s%s", t->word[0], t->operation->width,
                    t->word[1], solution.why, earlier.why);
    const double full = 0.95, zero = fmin(speed_ms(&solution) / speed_ms(&earlier), full / 2);
    snprintf(line, bytes, "%s\t%s\t%s\t%.3g\t%.3g\n", device, t->word[0], t->word[1], zero, full);
    printf("%s %s = %s: lab %d takes %.4g ms, lab %d %.4g ms, whose turns differ by %.1f %%: "
           "points from %.3g, all at %.3g\n",
           t->word[0], t->operation->width, t->word[1], parent, speed_ms(&earlier), a->lab,
           speed_ms(&solution), 100 * speed_spread(&solution), zero, full);
    return STATUS_OK;
}

/* The runners where tasks can start them: WORK/0/runner and WORK/1/runner. */
static enum status copy_programs(char **programs, const char *work, char copies[2][PATH_MAX],
                                 error_text *error)
{
    for (int i = 0; i < 2; i++) {
        char *command;
        snprintf(copies[i], PATH_MAX, "%.4000s/%d/runner", work, i);
        if (asprintf(&command, "mkdir '%s/%d' && cp '%s' '%s'", work, i, programs[i], copies[i]) <
            0)
            return fail(error, STATUS_MEMORY, "no memory for a line of text");
        const int how = system(command); /* paths of the Makefile's and our own making */
        free(command);
        if (how != 0) return fail(error, STATUS_USAGE, "%s: cannot be copied", programs[i]);
    }
    return STATUS_OK;
}

int main(int argc, char **argv)
{
    static rubric p;
    static char lines[MAX_TESTS][400], copies[2][PATH_MAX];
    char folder[512], path[600], work[PATH_MAX];
    device_info device;
    error_text error;
    int count = 0;
    if (argc < 5) {
        fprintf(stderr, "usage: make calibrate LAB=3\n");
        return STATUS_USAGE;
    }
    attempt a = {.lab = atoi(argv[1]),
                 .secret = test_input_secret(),
                 .patience = 120,
                 .rubric = &p,
                 .lab_folder = folder,
                 .work = work};
    enum status status = device_open(0, &device, &error);
    if (status == STATUS_OK && !device_keeps_time())
        status = fail(&error, STATUS_SKIPPED,
                      "speed needs a GPU: make calibrate BACKEND=cuda LAB=%s", argv[1]);
    if (status == STATUS_OK) status = attempt_find_lab(a.lab, folder, sizeof folder, &error);
    snprintf(path, sizeof path, "%s/grade.tsv", folder);
    if (status == STATUS_OK) status = rubric_read(path, &p, &error);
    if (status == STATUS_OK) status = attempt_make_work(NULL, work, sizeof work, &error);
    if (status == STATUS_OK) {
        const char *const programs[] = {copies[0], copies[1]};
        confine_open(WALL_BUBBLEWRAP);
        status = copy_programs(argv + 3, work, copies, &error);
        for (int i = 0; i < p.num_tests && status == STATUS_OK; i++)
            if (p.tests[i].kind == TEST_TIME)
                status = calibrate(&a, &p.tests[i], programs, atoi(argv[2]), device.name,
                                   lines[count++], sizeof lines[0], &error);
        attempt_remove_work(work);
    }
    snprintf(path, sizeof path, "%s/targets.tsv", folder);
    if (status == STATUS_OK) status = save(path, device.name, lines, count, &error);
    if (status != STATUS_OK) fprintf(stderr, "calibrate: %s\n", error.text);
    return status;
}
