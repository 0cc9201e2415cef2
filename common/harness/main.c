/*
 * main.c - the program of every lab: labN holds labs 1..N of one operation and runs them on
 * dataset -> problem -> prepare -> check -> time -> row -> report (session.c).
 */
#include "device/facts.h"
#include "harness/cells.h"
#include "harness/chosen.h"
#include "harness/device.h"
#include "harness/provenance.h"
#include "harness/ranks.h"
#include "harness/session.h"
#include "harness/twin.h"
#include "matrix/dataset.h"
#include "matrix/files.h"

#include <string.h>

/* A line: its name, its values, what it means. */
static void list_tunable(const tunable *t)
{
    printf("        %s =", t->name);
    for (int k = 0; k < t->num_values; k++) {
        char value[24];
        tunable_write(t, t->values[k], value, sizeof value);
        printf(" %s", value);
    }
    printf("  %s\n", t->meaning);
}

static void list_labs(void)
{
    printf("labs of this program:\n");
    for (const contender *c = contenders(); c; c = c->next) {
        if (!c->lab) continue;
        printf("  lab%-2d %-16s %s%s%s", c->lab, c->name, c->summary,
               c->precision == PRECISION_FP32 ? "" : "; ",
               c->precision == PRECISION_FP32 ? "" : precision_name(c->precision));
        if (c->after) printf(" (after lab%d)", c->after);
        putchar('\n');
        for (int i = 0; i < contender_num_tunables(c); i++)
            list_tunable(&c->tunables[i]);
    }
    const operation *const op = own_operation();
    if (op->knobs[0].name) printf("\nchoices of the problem, %s:\n", op->name);
    for (int i = 0; i < MAX_KNOBS && op->knobs[i].name; i++)
        list_tunable(&op->knobs[i]);
}

/* The build and, of one for GPUs, the device, with its folder below report/results. */
static void show_version(const char *program, const options *o)
{
    device_info device;
    error_text error;
    char slug[sizeof device.name];
    printf("%s, commit %s, backend %s\n", program, provenance_commit(), device_backend());
    if (!device_keeps_time()) return;
    if (device_open(o->device, &device, &error) != STATUS_OK) {
        printf("no device: %s\n", error.text);
        return;
    }
    device_slug(device.name, slug, sizeof slug);
    printf("device: %s\ndriver: %s\ntoolkit: %s\nfolder: %s\n", device.name, device.driver,
           device.toolkit, slug);
}

/* The exit code, once standard output has taken everything. */
static int finish(const char *program, enum status status)
{
    error_text error;
    enum status flushed = output_flush(&error);
    if (flushed != STATUS_OK) fprintf(stderr, "%s: %s\n", program, error.text);
    return status == STATUS_OK ? flushed : status;
}

int main(int argc, char **argv)
{
    options o;
    error_text error;
    char program[16];
    snprintf(program, sizeof program, "lab%d", own_lab()->lab);
    enum status status = options_parse(argc, argv, &o, &error);
    if (status == STATUS_OK && twin_wanted(&o)) status = twin_become(program, &o, argv, &error);
    if (status != STATUS_OK) {
        fprintf(stderr, "%s: %s\n", program, error.text);
        return status;
    }
    switch (o.mode) {
    case MODE_HELP:
        options_help(stdout, argv[0]);
        break;
    case MODE_VERSION:
        show_version(program, &o);
        break;
    case MODE_CELLS:
        status = cells_write(stdout, &o, &error);
        if (status != STATUS_OK) fprintf(stderr, "%s: %s\n", program, error.text);
        break;
    case MODE_LIST:
        list_labs();
        putchar('\n');
        status = dataset_list(stdout, o.data_dir, &error);
        if (status != STATUS_OK) fprintf(stderr, "%s: %s\n", program, error.text);
        break;
    case MODE_RUN:
        status = ranks_begin(&o, &error);
        if (status == STATUS_OK)
            status = ranks_end(session_run(&o, program), program);
        else
            fprintf(stderr, "%s: %s\n", program, error.text);
        break;
    }
    return finish(program, status);
}
