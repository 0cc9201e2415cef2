#include "harness/session.h"

#include "harness/chosen.h"
#include "harness/progress.h"
#include "harness/provenance.h"
#include "harness/room.h"
#include "harness/tuning.h"
#include "harness/workbench.h"
#include "matrix/dataset.h"
#include "matrix/files.h"
#include "models/rates.h"
#include "results/limits.h"
#include "results/results.h"
#include "results/row.h"
#include "results/table.h"
#include "trace/page.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_ENTRIES = 512 };

/* A contender to run, and with --sweep the tuning to run it with. */
typedef struct entry {
    const contender *contender;
    bool tuned;
    int tuning[MAX_TUNABLES];
} entry;

/* State that is the same from the first dataset to the last. */
typedef struct session {
    const char *program;
    const options *options;
    device_info device;
    machine_limits limits;
    bool have_limits;
    entry entries[MAX_ENTRIES]; /* who is run, in ladder order, vendors last */
    size_t num_entries;
    outcome outcomes[MAX_ENTRIES]; /* of one matrix at one width, as is the ... */
    row group[MAX_ENTRIES];        /* in every precision, one after the other */
    size_t num_group;              /* no more than entries */
    row_list rows;
    char *
        older_csv; /* rows that were in the CSV file before; NULL: only a complete run may replace them */
    bool json_is_new;
    dataset_whole whole; /* of the ranges that are run */
    size_t step, steps;  /* for the progress bar */
    bool stdout_lost;    /* its reader has left, or its disk is full */
    double traced_ms;    /* spent under the instruments, on this machine */
    enum status worst;   /* the exit code so far; STATUS_SKIPPED counts where ... */
    bool any_ran;        /* ... no precision, width or matrix was run */
} session;

/* ---- who is run ------------------------------------------------------------------------------ */

/* Another contender that claims the same number and precision; NULL if there is none. */
static const contender *same_place(const contender *c)
{
    for (const contender *d = c->next; c->lab && d && d->lab == c->lab; d = d->next)
        if (d->precision == c->precision && d->operation == c->operation) return d;
    return NULL;
}

static enum status add_entry(session *s, entry e, error_text *error)
{
    if (s->num_entries == MAX_ENTRIES)
        return fail(error, STATUS_USAGE, "more than %d settings; fix some with --set", MAX_ENTRIES);
    s->entries[s->num_entries++] = e;
    return STATUS_OK;
}

static enum status choose_entries(session *s, error_text *error)
{
    const contender *own = last_lab_of(s->options->operation);
    enum status status = STATUS_OK;
    for (const contender *c = contenders(); c && status == STATUS_OK; c = c->next) {
        entry e = {.contender = c, .tuned = c->lab == own->lab && s->options->sweep};
        const contender *twin = same_place(c);
        if (twin)
            return fail(error, STATUS_USAGE, "labs '%s' and '%s' both say that they are lab %d",
                        c->name, twin->name, c->lab);
        if (!contender_is_chosen(c, s->options)) continue;
        if (e.tuned) tuning_first(c, s->options, e.tuning);
        do
            status = add_entry(s, e, error);
        while (status == STATUS_OK && e.tuned && tuning_next(c, s->options, e.tuning));
    }
    return status;
}

/* ---- output ---------------------------------------------------------------------------------- */

static void complain(session *s, enum status status, const error_text *error)
{
    progress_clear();
    fprintf(stderr, "%s: %s\n", s->program, error->text);
    s->worst = graver_status(s->worst, status);
}

static bool is_standard_output(const char *path)
{
    return path && !strcmp(path, "-");
}

/* Rows on standard output leave no room for tables there. */
static bool rows_go_to_stdout(const options *o)
{
    return is_standard_output(o->csv_path) || is_standard_output(o->json_path);
}

/* That the files can be written, and nothing but older rows is lost, is found out before hours of
 * measuring, not after. */
static enum status check_outputs(const options *o, error_text *error)
{
    const char *csv = o->csv_path, *json = o->json_path, *page = o->trace_path;
    if (csv && json && output_is_same(csv, json))
        return fail(error, STATUS_USAGE, "--csv and --json cannot both go to %s", csv);
    if (page && ((csv && output_is_same(csv, page)) || (json && output_is_same(json, page))))
        return fail(error, STATUS_USAGE, "rows and the page of --trace cannot both go to %s", page);
    enum status status = rows_check(csv, error);
    if (status == STATUS_OK) status = rows_check(json, error);
    return status == STATUS_OK && page ? trace_check(page, error) : status;
}

static void find_older_rows(session *s)
{
    const char *csv = s->options->csv_path, *json = s->options->json_path;
    s->json_is_new = !json || access(json, F_OK) != 0;
    if (csv && !is_standard_output(csv) && !rows_older(csv, &s->older_csv)) {
        free(s->older_csv);
        s->older_csv = NULL;
    }
}

/* Files are rewritten after every width, so that an interrupted run leaves what it has, and what was there
 * before; only a complete run takes that away. What goes to a stream can only be written once, at the end. A
 * run without a single row leaves an old file alone. */
static void save_rows(session *s, bool at_end)
{
    const struct {
        const char *path;
        void (*write)(FILE *, const row *, size_t);
        const char *older; /* NULL: the file waits for the end */
    } outputs[] = {{s->options->csv_path, rows_write_csv, s->older_csv},
                   {s->options->json_path, rows_write_json, s->json_is_new ? "" : NULL}};
    for (int i = 0; i < 2; i++) {
        const char *path = outputs[i].path;
        error_text error;
        if (!path || !s->rows.count) continue;
        if (!at_end && (is_standard_output(path) || output_is_stream(path) || !outputs[i].older))
            continue;
        enum status status = rows_save(path, outputs[i].write, s->rows.rows, s->rows.count,
                                       at_end ? "" : outputs[i].older, &error);
        if (status != STATUS_OK) complain(s, status, &error);
    }
}

/* ---- one matrix at one width ----------------------------------------------------------------- */

/* Whether the row after the group is of a sweep's setting that the group has already: prepare may
 * have narrowed two to the same. */
static bool is_repeated(const session *s)
{
    const row *r = &s->group[s->num_group];
    for (size_t i = 0; i < s->num_group; i++)
        if (!strcmp(s->group[i].contender, r->contender) && !strcmp(s->group[i].tuning, r->tuning))
            return true;
    return false;
}

/* Forgives a wrong result of an earlier lab that still has its TODO. The own lab's counts: it is being written. */
static void forgive_unwritten(const session *s, const contender *c, outcome *out)
{
    if (out->status != STATUS_WRONG || !c->lab || !provenance_unwritten(c->lab) ||
        c->lab == last_lab_of(s->options->operation)->lab)
        return;
    inspection_free(out->inspection);
    *out = (outcome){.status = STATUS_SKIPPED,
                     .message = "not written yet",
                     .prepare_ms = NAN,
                     .timing = NOT_TIMED,
                     .unwritten = true};
}

/* Runs one contender, by the instruments or by the clock. Returns whether others can follow: a lost
 * context spoils whatever does. */
static bool evaluate(session *s, workbench *w, const contender *c, const int *tuning, outcome *out)
{
    if (!s->options->instruments) {
        workbench_evaluate(w, c, tuning, out);
        return out->status != STATUS_RUNTIME;
    }
    const double start = wall_ms();
    const bool usable = workbench_inspect(w, c, tuning, out);
    s->traced_ms += wall_ms() - start;
    return usable;
}

/* Runs the contenders of the problem's precision. Those after one that lost the device are reported
 * as not run. */
static void evaluate_all(session *s, const dataset *d, workbench *w)
{
    const outcome not_run = {.status = STATUS_RUNTIME,
                             .message = "not run: the device failed before",
                             .prepare_ms = NAN,
                             .timing = NOT_TIMED};
    bool lost = false;
    for (size_t i = 0; i < s->num_entries; i++) {
        entry e = s->entries[i];
        if (e.contender->precision != w->problem->precision) continue;
        outcome *out = &s->outcomes[s->num_group];
        char what[200];
        snprintf(what, sizeof what, "%s %s=%d %s", d->name, w->problem->operation->width,
                 w->problem->width, e.contender->name);
        progress_show(s->step++, s->steps, what);
        *out = not_run;
        const int *tuning = e.tuned ? e.tuning : NULL;
        if (!lost) {
            if (!e.tuned) tuning_choose(w, e.contender, e.tuning);
            lost = !evaluate(s, w, e.contender, e.tuning, out);
            forgive_unwritten(s, e.contender, out);
            tuning = out->tuning;
        }
        s->group[s->num_group] = result_row(d, w->problem, e.contender, tuning, out, s->options,
                                            &s->device, s->have_limits ? &s->limits : NULL);
        if (!e.tuned || !is_repeated(s))
            s->num_group++;
        else
            inspection_free(out->inspection);
    }
    progress_clear();
}

/* Rows that say why a problem could not be laid out: values that are not finite, or no room. */
static void rows_not_run(session *s, const dataset *d, const problem *p, enum status status,
                         const error_text *error)
{
    outcome out = {.status = status, .prepare_ms = NAN, .timing = NOT_TIMED};
    snprintf(out.message, sizeof out.message, "%.255s", error->text);
    for (size_t i = 0; i < s->num_entries; i++) {
        const entry *e = &s->entries[i];
        if (e->contender->precision != p->precision) continue;
        s->outcomes[s->num_group] = out;
        s->group[s->num_group++] = result_row(d, p, e->contender, e->tuned ? e->tuning : NULL, &out,
                                              s->options, &s->device, NULL);
    }
}

/* The rows of the group from `first` on. At once, so that an interruption takes nothing back; not on
 * what has stopped taking text. */
static void print_table(session *s, const problem *p, size_t first)
{
    error_text error;
    if (s->stdout_lost || rows_go_to_stdout(s->options)) return;
    table_print(stdout, p, s->group + first, s->outcomes + first, s->num_group - first);
    enum status status = output_flush(&error);
    s->stdout_lost = status != STATUS_OK;
    if (s->stdout_lost) complain(s, status, &error);
}

/* Shows which part of the work on a dataset begins: each may take half a minute. */
static void show_part(const session *s, const char *name, const char *part)
{
    char text[200];
    snprintf(text, sizeof text, "%.120s: %s", name, part);
    progress_show(s->step, s->steps, text);
}

static void run_precision(session *s, const dataset *d, const row_stats *stats, int width,
                          enum precision precision)
{
    workbench w;
    error_text error;
    const size_t first = s->num_group;
    problem p = {.operation = s->options->operation,
                 .A = &d->matrix,
                 .stats = *stats,
                 .width = width,
                 .seed = s->options->seed,
                 .precision = precision};
    tuning_knobs(&p, s->options);
    show_part(s, d->name, "making the operands");
    enum status status = p.operation->create(&p, &error);
    show_part(s, d->name, "preparing the checks");
    if (status == STATUS_OK) status = workbench_create(&w, s->options, &s->device, &p, &error);
    if (status == STATUS_OK) {
        evaluate_all(s, d, &w);
        results_compare(s->group, s->num_group);
        const enum status verdict =
            results_verdict(s->group + first, s->outcomes + first, s->num_group - first);
        s->worst = graver_status(s->worst, verdict);
        s->any_ran = s->any_ran || verdict == STATUS_OK;
        print_table(s, &p, first);
        workbench_destroy(&w);
    } else {
        error_text located;
        char left_out[32] = "";
        if (status == STATUS_SKIPPED)
            snprintf(left_out, sizeof left_out, "%s is left out: ", precision_name(precision));
        fail(&located, status, "%s, %s = %d: %s%.900s", d->name, p.operation->width, width,
             left_out, error.text);
        complain(s, status, &located);
        rows_not_run(s, d, &p, status, &error);
    }
    p.operation->destroy(&p);
}

static bool has_precision(const session *s, enum precision precision)
{
    for (size_t i = 0; i < s->num_entries; i++)
        if (s->entries[i].contender->precision == precision) return true;
    return false;
}

/* Writes the page of what this group has recorded, and says where it is. */
static void write_trace(session *s, int width)
{
    error_text error;
    const options *const o = s->options;
    const trace_subject about = {o->operation->width, width, s->program, o->rivals == RIVALS_LAB};
    enum status status = trace_write(o->trace_path, &about, s->group, s->num_group, &error);
    /* The reason why no kernel was launched has been said. */
    if (status == STATUS_SKIPPED && s->worst != STATUS_OK) return;
    if (status != STATUS_OK)
        complain(s, status == STATUS_SKIPPED ? STATUS_RUNTIME : status, &error);
    else if (!s->stdout_lost && !rows_go_to_stdout(o))
        printf("the recorded block, step by step: %s (open it in a browser)\n", o->trace_path);
}

/* A problem for each precision among the contenders, for inputs, oracle and bound depend on it: fp32
 * first, so that what follows can be compared with it. */
static void run_width(session *s, const dataset *d, const row_stats *stats, int width)
{
    error_text error;
    s->num_group = 0;
    for (int i = 0; i < NUM_PRECISIONS; i++)
        if (has_precision(s, (enum precision)i))
            run_precision(s, d, stats, width, (enum precision)i);
    if (s->options->trace_path) write_trace(s, width);
    enum status status = row_list_add(&s->rows, s->group, s->num_group, &error);
    if (status != STATUS_OK) complain(s, status, &error);
}

/* ---- all of them ----------------------------------------------------------------------------- */

/* Whether the dataset may fit in some precision that is asked for; the reason why not is that of the last one. */
static enum status fits_ahead(const session *s, const dataset *d, const options *here,
                              error_text *error)
{
    enum status status = STATUS_OK;
    for (int i = 0; i < NUM_PRECISIONS; i++) {
        if (!has_precision(s, (enum precision)i)) continue;
        status = room_ahead(d, here, (enum precision)i, error);
        if (status == STATUS_OK) return STATUS_OK;
    }
    return status;
}

/* Shows where the matrix of that name will come from, and refuses one that is known to be too large. */
static enum status announce(const session *s, const char *name, error_text *error)
{
    static const char *const PARTS[] = {
        [ORIGIN_REAL] = "reading its file",        [ORIGIN_FILE] = "reading the file",
        [ORIGIN_STAND_IN] = "making its stand-in", [ORIGIN_GENERATED] = "generating the matrix",
        [ORIGIN_SAMPLE] = "reading the sample",
    };
    dataset d;
    enum status status = dataset_identify(name, s->options->data_dir, &d, error);
    if (status != STATUS_OK) return status;
    show_part(s, d.name, PARTS[d.origin]);
    const options here = options_settle(s->options, d.decoded);
    error_text reason;
    status = fits_ahead(s, &d, &here, &reason);
    return status == STATUS_OK ? status : fail(error, status, "%s: %.900s", d.name, reason.text);
}

static void run_dataset(session *s, const char *name)
{
    dataset d;
    row_stats stats;
    error_text error;
    const options *const asked = s->options;
    size_t step_after = s->step + asked->num_widths * s->num_entries;
    enum status status = announce(s, name, &error);
    if (status == STATUS_OK)
        status = dataset_open_next(name, asked->data_dir, &s->whole, &d, &error);
    if (status == STATUS_OK) {
        const options here = options_settle(asked, d.decoded);
        const size_t more = (here.num_widths - asked->num_widths) * s->num_entries;
        s->options = &here;
        s->steps += more;
        step_after += more;
        status = row_stats_compute(&d.matrix, &stats, &error);
        for (int i = 0; status == STATUS_OK && i < here.num_widths; i++) {
            run_width(s, &d, &stats, here.widths[i]);
            save_rows(s, false);
        }
        s->options = asked;
        dataset_close(&d);
    }
    if (status != STATUS_OK) complain(s, status, &error);
    s->step = step_after;
}

/* The model's name is refused before hours of work, too. */
static enum status instruments_start(const options *o, error_text *error)
{
    const instruments *all = instruments_here();
    const instrument_settings settings = {o->instruments, o->model,       o->sample,
                                          o->pick,        o->trace_block, o->trace_warp};
    if (!all) return fail(error, STATUS_RUNTIME, "this program was built without instruments");
    return all->open(&settings, error);
}

static enum status run_datasets(session *s, error_text *error)
{
    char **names;
    size_t count;
    enum status status = check_outputs(s->options, error);
    if (status == STATUS_OK) status = device_open(s->options->device, &s->device, error);
    if (status != STATUS_OK) return status;
    if (s->options->tune && !device_keeps_time())
        return fail(error, STATUS_SKIPPED,
                    "--tune measures, and the CPU backend keeps no time: it needs a GPU");
    if (s->options->instruments) status = instruments_start(s->options, error);
    if (status != STATUS_OK) return status;
    s->have_limits = limits_load(s->device.name, &s->limits);
    device_rates_get(); /* asked now, that no preparation is timed with it */
    find_older_rows(s);
    status = choose_entries(s, error);
    if (status == STATUS_OK)
        status = dataset_expand(s->options->dataset, s->options->data_dir, &names, &count, error);
    if (status != STATUS_OK) return status;
    if (s->options->trace_path && count > 1) {
        dataset_names_free(names, count);
        return fail(error, STATUS_USAGE, "--trace shows one matrix: %s has %zu",
                    s->options->dataset, count);
    }
    s->steps = count * s->options->num_widths * s->num_entries;
    for (size_t i = 0; i < count; i++)
        run_dataset(s, names[i]);
    save_rows(s, true);
    dataset_names_free(names, count);
    return STATUS_OK;
}

enum status session_run(const options *o, const char *program)
{
    static session s; /* large: rows of every contender */
    error_text error;
    s = (session){.program = program, .options = o};
    /* A reader of the table that leaves early (| head) must not cost the rows. */
    if (o->csv_path || o->json_path) signal(SIGPIPE, SIG_IGN);
    enum status status = run_datasets(&s, &error);
    if (status != STATUS_OK) complain(&s, status, &error);
    if (s.traced_ms > 0) {
        progress_clear();
        fprintf(stderr,
                "%s: traced in %.1f s on this machine (the cost of looking, not a time of any "
                "kernel)\n",
                program, s.traced_ms / 1000);
    }
    dataset_whole_close(&s.whole);
    row_list_free(&s.rows);
    free(s.older_csv);
    return s.worst == STATUS_SKIPPED && s.any_ran ? STATUS_OK : s.worst;
}
