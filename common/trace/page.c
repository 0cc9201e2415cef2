#include "trace/page.h"

#include "harness/inspect.h"
#include "harness/source_text.h"
#include "matrix/files.h"
#include "results/json.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Steps of a page, so that it stays below 5 MB: a step takes some 400 bytes at most. */
enum { MOST_STEPS = 12000, MOST_KERNELS = 64, MOST_FILES = 64 };

/* How the page begins, by which it is known again. */
static const char MARK[] = "<!doctype html>\n<!-- spmm-lab trace, schema 1 -->\n";

/* assets.S */
extern const char trace_css[], trace_html[], trace_js[];

/* A recording, and the row it belongs to. */
typedef struct subject {
    const row *row;
    const recording *recording;
    const kernel_profile *profile; /* NULL: the launch was abandoned */
} subject;

/* ---- which kernels --------------------------------------------------------------------------- */

static const kernel_profile *profile_of(const inspection *i, const recording *r)
{
    for (size_t k = 0; k < i->num_kernels; k++)
        if (i->kernels[k].in_prepare == r->in_prepare && !strcmp(i->kernels[k].name, r->kernel))
            return &i->kernels[k];
    return NULL;
}

static int64_t weight(const subject *s)
{
    if (s->recording->num_findings) return INT64_MAX;
    return s->profile ? global_sectors(&s->profile->total) : 0;
}

/* Sorts those of one row by weight, the heaviest first: it is shown at first. */
static int compare_subjects(const void *a, const void *b)
{
    const subject *const x = a, *const y = b;
    const int64_t p = weight(x), q = weight(y);
    if (x->row != y->row) return x->row < y->row ? -1 : 1;
    return p == q ? 0 : p > q ? -1 : 1;
}

static size_t find_subjects(const row *rows, size_t count, subject *subjects)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        const inspection *from = rows[i].inspection;
        for (size_t r = 0; from && r < from->num_recordings && found < MOST_KERNELS; r++)
            subjects[found++] =
                (subject){&rows[i], &from->recordings[r], profile_of(from, &from->recordings[r])};
    }
    qsort(subjects, found, sizeof *subjects, compare_subjects);
    return found;
}

/* ---- which steps ----------------------------------------------------------------------------- */

/* Ordinal, in its warp, of the first step of the warp that is shown; those before are left out if a finding
 * lies behind what there is room for. */
static size_t first_shown(const recording *r, unsigned warp, const size_t *ordinals, size_t room)
{
    for (size_t f = 0; f < r->num_findings; f++) {
        const long at = r->findings[f].step;
        if (at >= 0 && r->steps[at].warp == warp && ordinals[at] >= room)
            return ordinals[at] - room / 2;
    }
    return 0;
}

/* Numbers the steps that are shown: numbers[i] is -1 for one that is not. Half of the room is for the warp
 * that is looked at first. False: no memory. */
static bool number_steps(const recording *r, size_t room, long *numbers)
{
    size_t *ordinals = malloc((r->num_steps + 1) * sizeof *ordinals);
    size_t *used = calloc(r->warps + 1, sizeof *used), *first = calloc(r->warps + 1, sizeof *first);
    const bool fits = r->num_steps <= room;
    const size_t other = r->warps > 1 ? room / 2 / (r->warps - 1) : 0;
    long shown = 0;
    if (ordinals && used && first) {
        for (size_t i = 0; i < r->num_steps; i++)
            ordinals[i] = used[r->steps[i].warp]++;
        for (unsigned w = 0; w < r->warps && !fits; w++)
            first[w] = first_shown(r, w, ordinals, w == r->warp ? room / 2 : other);
        for (size_t i = 0; i < r->num_steps; i++) {
            const unsigned w = r->steps[i].warp;
            const size_t room_here = fits ? room : w == r->warp ? room / 2 : other;
            const bool is_shown = ordinals[i] >= first[w] && ordinals[i] - first[w] < room_here;
            numbers[i] = is_shown ? shown++ : -1;
        }
    }
    const bool done = ordinals && used && first;
    free(ordinals);
    free(used);
    free(first);
    return done;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void member(FILE *out, const char *name, const char *value)
{
    fprintf(out, ",\n\"%s\":", name);
    json_text(out, value);
}

static void triple(FILE *out, const char *name, const unsigned v[3])
{
    fprintf(out, ",\"%s\":[%u,%u,%u]", name, v[0], v[1], v[2]);
}

/* The addresses of a step: the first, then the distance of each to the one before; if these are all
 * alike, one of them. */
static void write_addresses(FILE *out, const recorded_step *s)
{
    const int count = __builtin_popcount(s->lanes);
    bool even = true;
    for (int i = 2; i < count; i++)
        even &= s->at[i] - s->at[i - 1] == s->at[1] - s->at[0];
    fprintf(out, ",%" PRId64, s->at[0]);
    for (int i = 1; i < (even && count > 1 ? 2 : count); i++)
        fprintf(out, ",%" PRId64, s->at[i] - s->at[i - 1]);
}

/* [line, warp, kind, bytes a lane, lanes, barrier] or, of an access, [line, warp, kind, bytes a lane,
 * lanes, bytes, cost, ideal, serial, addresses ...] */
static void write_step(FILE *out, const recorded_step *s)
{
    fprintf(out, "[%d,%u,%d,%d,%" PRIu32, s->line, s->warp, s->kind, s->size, s->lanes);
    if (s->kind < ACCESS_KINDS) {
        fprintf(out, ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64, s->n.bytes, s->n.cost,
                s->n.ideal, s->n.serial);
        write_addresses(out, s);
    } else {
        fprintf(out, ",%" PRId64, s->barrier);
    }
    putc(']', out);
}

/* A line a step; returns how many are left out. */
static int64_t write_steps(FILE *out, const recording *r, const long *numbers)
{
    int64_t left_out = r->left_out;
    fputs(",\n\"steps\":[", out);
    for (size_t i = 0; i < r->num_steps; i++) {
        left_out += numbers[i] < 0;
        if (numbers[i] < 0) continue;
        fputs(numbers[i] ? ",\n" : "\n", out);
        write_step(out, &r->steps[i]);
    }
    fputs("]", out);
    return left_out;
}

static void write_arrays(FILE *out, const recording *r)
{
    fputs(",\n\"arrays\":[", out);
    for (size_t i = 0; i < r->num_arrays; i++) {
        const recorded_array *a = &r->arrays[i];
        fprintf(out, "%s{\"name\":", i ? ",\n" : "");
        json_text(out, a->name);
        fprintf(out,
                ",\"shared\":%s,\"start\":%" PRId64 ",\"bytes\":%" PRId64 ",\"element\":%" PRId64
                "}",
                a->shared ? "true" : "false", a->start, a->bytes, a->element);
    }
    fputs("]", out);
}

static void write_counters(FILE *out, const access_counters *n)
{
    fprintf(out, "%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 "]",
            n->requests, n->lanes, n->bytes, n->cost, n->ideal, n->serial);
}

/* Costs of the whole kernel: [where, kind, bytes a lane, requests, lanes, bytes, cost, ideal, serial] for
 * each line and kind. */
static void write_costs(FILE *out, const kernel_profile *k)
{
    fputs(",\n\"costs\":[", out);
    for (size_t i = 0; k && i < k->num_lines; i++) {
        fputs(i ? ",\n[" : "\n[", out);
        json_text(out, k->lines[i].where);
        fprintf(out, ",%d,%d,", k->lines[i].kind, k->lines[i].size);
        write_counters(out, &k->lines[i].n);
    }
    fprintf(out, "],\n\"sampled\":%.6g", k ? k->sampled : 1);
}

static void write_finding(FILE *out, const finding *f, const recorded_finding *at,
                          const long *numbers)
{
    const long step = at && at->step >= 0 ? numbers[at->step] : -1;
    const long other = at && at->other_step >= 0 ? numbers[at->other_step] : -1;
    fprintf(out, "{\"count\":%" PRId64 ",\"step\":%ld,\"other_step\":%ld", f->count, step, other);
    fprintf(out, ",\"lane\":%d,\"other_lane\":%d", at ? at->lane : -1, at ? at->other_lane : -1);
    triple(out, "block", f->block);
    triple(out, "thread", f->thread);
    member(out, "kind", f->kind);
    member(out, "text", f->text);
    member(out, "advice", f->advice);
    member(out, "where", f->where);
    member(out, "other", f->other);
    fputs("}", out);
}

static void write_findings(FILE *out, const subject *s, const long *numbers)
{
    const inspection *from = s->row->inspection;
    size_t written = 0;
    fputs(",\n\"findings\":[", out);
    for (size_t f = 0; f < from->num_findings; f++) {
        const recorded_finding *at = NULL;
        if (strcmp(from->findings[f].kernel, s->recording->kernel) != 0) continue;
        for (size_t i = 0; i < s->recording->num_findings; i++)
            if (s->recording->findings[i].finding == f) at = &s->recording->findings[i];
        if (written++) fputs(",\n", out);
        write_finding(out, &from->findings[f], at, numbers);
    }
    fputs("]", out);
}

static bool write_kernel(FILE *out, const subject *s, size_t room)
{
    const recording *r = s->recording;
    long *numbers = malloc((r->num_steps + 1) * sizeof *numbers);
    if (!numbers || !number_steps(r, room, numbers)) {
        free(numbers);
        return false;
    }
    fprintf(out, "{\"lab\":%d", s->row->lab);
    member(out, "contender", s->row->contender);
    member(out, "precision", s->row->precision);
    member(out, "tuning", s->row->tuning);
    member(out, "status", s->row->status);
    member(out, "message", s->row->message);
    member(out, "kernel", r->kernel);
    triple(out, "grid", r->grid);
    triple(out, "block", r->block);
    triple(out, "at", r->at);
    fprintf(out, ",\"number\":%" PRIu64 ",\"warps\":%u,\"warp\":%u", r->number, r->warps, r->warp);
    member(out, "why", r->why);
    fputs(",\n\"lines\":[", out);
    for (size_t i = 0; i < r->num_lines; i++) {
        if (i) putc(',', out);
        json_text(out, r->lines[i]);
    }
    fputs("]", out);
    write_arrays(out, r);
    write_costs(out, s->profile);
    write_findings(out, s, numbers);
    fprintf(out, ",\n\"left_out\":%" PRId64 "}", write_steps(out, r, numbers));
    free(numbers);
    return true;
}

/* ---- sources --------------------------------------------------------------------------------- */

typedef struct file_list {
    const char *names[MOST_FILES]; /* "labs/.../lab.cu:33": the part before the colon */
    size_t count;
} file_list;

static int file_length(const char *where)
{
    const char *colon = strrchr(where, ':');
    return colon ? (int)(colon - where) : 0;
}

static void add_file(file_list *files, const char *where)
{
    const int length = file_length(where);
    for (size_t i = 0; i < files->count; i++)
        if (file_length(files->names[i]) == length && !strncmp(files->names[i], where, length))
            return;
    if (length && files->count < MOST_FILES) files->names[files->count++] = where;
}

/* The files that the recorded steps and the counters name, with their text; null where it has been edited. */
static void write_files(FILE *out, const subject *subjects, size_t count)
{
    static file_list files;
    files.count = 0;
    for (size_t i = 0; i < count; i++) {
        for (size_t l = 0; l < subjects[i].recording->num_lines; l++)
            add_file(&files, subjects[i].recording->lines[l]);
        for (size_t l = 0; subjects[i].profile && l < subjects[i].profile->num_lines; l++)
            add_file(&files, subjects[i].profile->lines[l].where);
    }
    fputs(",\n\"files\":{", out);
    for (size_t i = 0; i < files.count; i++) {
        char name[160];
        snprintf(name, sizeof name, "%.*s", file_length(files.names[i]), files.names[i]);
        fputs(i ? ",\n" : "\n", out);
        json_text(out, name);
        char *text = source_whole(name, (int)strlen(name));
        fputs(":", out);
        text ? json_text(out, text) : (void)fputs("null", out);
        free(text);
    }
    fputs("}", out);
}

/* ---- the page -------------------------------------------------------------------------------- */

/* The recording as JSON. NULL: no memory. The caller frees it. */
static char *trace_json(const trace_subject *about, const subject *subjects, size_t count)
{
    char *text = NULL;
    size_t bytes;
    const row *r = subjects[0].row;
    FILE *out = open_memstream(&text, &bytes);
    if (!out) return NULL;
    bool done = true;
    fprintf(out, "{\"schema\":1,\"side_by_side\":%s", about->side_by_side ? "true" : "false");
    member(out, "dataset", r->dataset);
    member(out, "operation", r->operation);
    member(out, "width_name", about->width_name);
    member(out, "program", about->program);
    member(out, "commit", r->commit);
    fprintf(out, ",\"width\":%d,\"rows\":%" PRId64 ",\"cols\":%" PRId64 ",\"nnz\":%" PRId64,
            about->width, r->rows, r->cols, r->nnz);
    fputs(",\n\"kernels\":[", out);
    for (size_t i = 0; i < count; i++) {
        fputs(i ? ",\n" : "\n", out);
        done = done && write_kernel(out, &subjects[i], MOST_STEPS / count);
    }
    fputs("]", out);
    write_files(out, subjects, count);
    fputs("}", out);
    done = fclose(out) == 0 && done;
    if (done) return text;
    free(text);
    return NULL;
}

/* JSON inside a script element: no "<" may stand there, which only strings hold. */
static void write_script(FILE *out, const char *json)
{
    for (; *json; json++)
        *json == '<' ? (void)fputs("\\u003c", out) : (void)putc(*json, out);
}

static void write_escaped(FILE *out, const char *text)
{
    for (; *text; text++)
        *text == '<'   ? (void)fputs("&lt;", out)
        : *text == '&' ? (void)fputs("&amp;", out)
                       : (void)putc(*text, out);
}

static void write_page(FILE *out, const trace_subject *about, const row *r, const char *json)
{
    fputs(MARK, out);
    fputs("<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
          "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
          "style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n<title>",
          out);
    fprintf(out, "%s, step by step: ", about->program);
    write_escaped(out, r->dataset);
    fprintf(out, ", %s = %d</title>\n<style>\n%s</style>\n</head>\n<body>\n%s", about->width_name,
            about->width, trace_css, trace_html);
    fputs("<script type=\"application/json\" id=\"trace\">", out);
    write_script(out, json);
    fprintf(out, "</script>\n<script>\n%s</script>\n</body>\n</html>\n", trace_js);
}

enum status trace_check(const char *path, error_text *error)
{
    char head[sizeof MARK] = "";
    enum status status = output_check(path, error);
    FILE *old = status != STATUS_OK || output_is_stream(path) ? NULL : fopen(path, "r");
    if (!old) return status;
    const size_t bytes = fread(head, 1, sizeof head - 1, old);
    fclose(old);
    if (bytes == 0 || !strcmp(head, MARK)) return STATUS_OK;
    return fail(error, STATUS_USAGE,
                "%s is there and is no page of --trace: remove it, or choose another name", path);
}

enum status trace_write(const char *path, const trace_subject *about, const row *rows, size_t count,
                        error_text *error)
{
    static subject subjects[MOST_KERNELS];
    output_file f;
    const size_t found = find_subjects(rows, count, subjects);
    if (!found)
        return fail(
            error, STATUS_SKIPPED,
            "--trace: no page, for nothing was recorded: the grid has no such block, or the "
            "matrix is empty");
    char *json = trace_json(about, subjects, found);
    if (!json) return fail(error, STATUS_MEMORY, "%s: no memory for the page", path);
    enum status status = output_open(&f, path, error);
    if (status == STATUS_OK) {
        write_page(f.stream, about, subjects[0].row, json);
        status = output_close(&f, error);
    }
    free(json);
    return status;
}
