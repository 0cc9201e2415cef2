/*
 * study.c - see study.h.
 */
#include "rows/study.h"

#include "rows/networks.h"

#include <math.h>
#include <regex.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static const char *opt(const study *s, const char *name)
{
    return option(s->request, name, "");
}

void nothing(const study *s, const char *format, ...)
{
    va_list arguments;
    char *what;
    va_start(arguments, format);
    if (vasprintf(&what, format, arguments) < 0) what = "";
    va_end(arguments);
    refuse(STATUS_DATASET, "no rows of %s; %s measures them", what, s->measured_by);
}

/* ---- origin ----------------------------------------------------------------------------------- */

char *provenance(row_of r)
{
    const char *driver = get(r, "driver");
    const char *machine = strcmp(driver, "-") ? machine_of(r) : get(r, "device");
    return text("%s" KEY "%s" KEY "%s" KEY "%s" KEY "%s", machine, get(r, "commit"),
                get_or(r, "origin", ""), get_or(r, "dataset", ""), r.table->name);
}

void use(study *s, const char *from)
{
    names_add(&s->used, from);
}

void use_row(study *s, row_of r)
{
    names_add(&s->used, provenance(r));
}

char *origin_of(const names *used)
{
    enum { FEW_MATRICES = 3, FEW_FILES = 8 };
    names machines = {0}, commits = {0}, files = {0}, origins = {0}, pairs = {0};
    for (long i = 0; i < used->count; i++) {
        const char *from = used->name[i], *origin = key_part(from, 2), *dataset = key_part(from, 3);
        names_add(&machines, key_part(from, 0));
        names_add(&commits, key_part(from, 1));
        names_add(&files, key_part(from, 4));
        if (!*dataset) continue;
        names_add(&origins, origin);
        names_add(&pairs, text("%s" KEY "%s", origin, dataset));
    }
    if (!machines.count) return "";
    const char *data = "";
    char **origin = names_in_order(&origins);
    for (long o = 0; o < origins.count; o++) {
        names of = {0};
        for (long i = 0; i < pairs.count; i++)
            if (!strcmp(key_part(pairs.name[i], 0), origin[o]))
                names_add(&of, key_part(pairs.name[i], 1));
        const bool few = of.count <= FEW_MATRICES;
        data = text("%s%s%s: %s", data, o ? "; " : "", origin[o],
                    few ? names_sorted(&of, "") : text("%ld matrices", of.count));
    }
    return text("%s; commits %s%s%s; rows of %s", names_sorted(&machines, ""),
                names_sorted(&commits, "`"), *data ? "; data " : "", data,
                files.count <= FEW_FILES ? names_sorted(&files, "")
                                         : text("%ld files", files.count));
}

void print_origin(const study *s)
{
    const char *origin = origin_of(&s->used);
    if (*origin) fprintf(out, "\n<small>%s</small>\n", origin);
}

/* ---- problems --------------------------------------------------------------------------------- */

char *problem_key(row_of r)
{
    return text("%s" KEY "%s" KEY "%s" KEY "%s", get(r, "dataset"), get(r, "N"), get(r, "origin"),
                operation_of(r));
}

static const char *kind_of(const char *dataset)
{
    if (starts_with(dataset, "rnn.")) return "RNN";
    if (starts_with(dataset, "llm.")) return "language models";
    const size_t length = strlen(dataset);
    if (starts_with(dataset, "transformer.") || starts_with(dataset, "rn50.") ||
        (length >= 5 && !strcmp(dataset + length - 5, ".smtx")))
        return "pruned layers";
    if (starts_with(dataset, "sweep-")) return "8192 x 2048";
    if (starts_with(dataset, "weights:")) return "generated weights";
    if (starts_with(dataset, "mask:")) return "masks of attention";
    if (starts_with(dataset, "blocks:")) return "layouts of blocks";
    return "graphs";
}

char *may_break(const char *name)
{
    char *broken = "";
    if (strlen(name) <= 40) return text("%s", name);
    for (const char *at = name; *at; at++)
        broken = text("%s%c%s", broken, *at, *at == '_' ? "&#8203;" : "");
    return broken;
}

static bool is_wanted(const study *s, row_of r, const regex_t *only)
{
    const char *N = opt(s, "N");
    return !strcmp(get(r, "flags"), opt(s, "flags")) &&
           !strcmp(get(r, "precision"), option(s->request, "precision", "fp32")) &&
           !strcmp(get(r, "l2"), option(s->request, "l2", "warm")) &&
           (!*N || !strcmp(get(r, "N"), N)) &&
           (!only || !regexec(only, get(r, "dataset"), 0, NULL, 0));
}

static problem *problem_add(study *s, row_of r)
{
    const char *key = problem_key(r);
    const long before = s->keys.count, place = names_add(&s->keys, key);
    if (place >= s->problem_room) {
        s->problem_room = 2 * s->problem_room + 64;
        s->problem = realloc(s->problem, (size_t)s->problem_room * sizeof *s->problem);
        if (!s->problem) refuse(STATUS_MEMORY, "out of memory");
    }
    problem *p = &s->problem[place];
    if (place < before) return p;
    *p = (problem){
        .key = s->keys.name[place],
        .dataset = get(r, "dataset"),
        .N = get(r, "N"),
        .origin = get(r, "origin"),
        .operation = operation_of(r),
        .file = r.table->path,
        .label = text("%s (%s)", may_break(get(r, "dataset")), get(r, "origin")),
        .kind = kind_of(get(r, "dataset")),
        .nnz = number(r, "nnz"),
        .density = number(r, "nnz") / (number(r, "rows") * number(r, "cols")),
        .B_rows = number(r, "cols"),
    };
    s->problems = s->keys.count;
    names_add(&s->widths, p->N);
    return p;
}

/* `who` takes this row's time; of several contenders (fastest) the shortest. */
static void take_time(study *s, problem *p, const char *who, row_of r, double ms, bool fastest)
{
    const long place = names_add(&s->who, who);
    if (place >= p->room) {
        const long room = s->who.room;
        p->by_who = realloc(p->by_who, (size_t)room * sizeof *p->by_who);
        if (!p->by_who) refuse(STATUS_MEMORY, "out of memory");
        memset(p->by_who + p->room, 0, (size_t)(room - p->room) * sizeof *p->by_who);
        p->room = room;
    }
    timing *t = &p->by_who[place];
    if (fastest && t->from && t->ms <= ms) return;
    *t = (timing){
        .ms = ms,
        .prepare_ms = strtod(get(r, "prepare_ms"), NULL),
        .gflops = strtod(get(r, "gflops"), NULL),
        .gather_share = get_or(r, "gather_share", ""), /* rows of schema 1 have none */
        .bound_share = get_or(r, "bound_share", ""),
        .tuning = get(r, "tuning"),
        .contender = get(r, "contender"),
        .from = provenance(r),
    };
}

static void take_row(study *s, row_of r)
{
    problem *p = problem_add(s, r);
    if (strcmp(p->file, r.table->path)) {
        p->later = realloc(p->later, ((size_t)p->laters + 1) * sizeof *p->later);
        if (!p->later) refuse(STATUS_MEMORY, "out of memory");
        p->later[p->laters++] = r;
        return;
    }
    /* Logical ranks of one device are right and have no time: they print none. */
    if (!is_ok(r) || !*get(r, "median_ms")) return;
    const char *contender = get(r, "contender");
    const double ms = number(r, "median_ms");
    const int lab = lab_of(r);
    const size_t length = strlen(contender);
    const bool is_dense = length >= 7 && !strcmp(contender + length - 7, "(dense)");
    take_time(s, p, contender, r, ms, false);
    if (lab)
        take_time(s, p, text("lab%d", lab), r, ms, true);
    else if (strstr(contender, "TF32"))
        take_time(s, p, "tf32", r, ms, true);
    else if (is_dense)
        take_time(s, p, "dense", r, ms, true);
    if (lab > s->last_lab) s->last_lab = lab;
    if (!strcmp(contender, get(r, "vendor_default"))) take_time(s, p, "default", r, ms, false);
    if (!strcmp(contender, get(r, "vendor_best"))) take_time(s, p, "best", r, ms, false);
}

bool is_known(const study *s, const char *who)
{
    return names_find(&s->who, who) != NONE;
}

const timing *timing_of(const study *s, const problem *p, const char *who)
{
    const long place = names_find(&s->who, who);
    return p && place != NONE && place < p->room && p->by_who[place].from ? &p->by_who[place]
                                                                          : NULL;
}

double time_of(study *s, const problem *p, const char *who)
{
    const timing *t = timing_of(s, p, who);
    if (t) use(s, t->from);
    return t ? t->ms : 0;
}

problem *problem_find(const study *s, const char *key)
{
    const long place = names_find(&s->keys, key);
    return place == NONE ? NULL : &s->problem[place];
}

problem *twin_of(const study *s, const problem *p, const char *operation)
{
    return problem_find(
        s, text("%s" KEY "%s" KEY "%s" KEY "%s", p->dataset, p->N, p->origin, operation));
}

char *problem_name(const problem *p)
{
    return text("%s, %s = %s", may_break(p->dataset), width_name(p->operation), p->N);
}

comparison compare_on(study *s, const char *of, const char *over, const char *kind, const char *N)
{
    comparison c = {.ratio = {0}};
    for (long i = 0; i < s->problems; i++) {
        const problem *p = &s->problem[i];
        if ((*kind && strcmp(p->kind, kind)) || (*N && strcmp(p->N, N))) continue;
        if (!timing_of(s, p, of) || !timing_of(s, p, over)) continue;
        const double ratio = time_of(s, p, over) / time_of(s, p, of);
        if (!c.ratio.count || ratio < c.ratio.least) c.least_at = p;
        if (!c.ratio.count || ratio > c.ratio.most) c.most_at = p;
        mean_add(&c.ratio, ratio);
    }
    return c;
}

/* ---- sweeps ----------------------------------------------------------------------------------- */

const char *tuned_to(row_of r, const char *name)
{
    size_t count;
    char **word = parts_of(get(r, "tuning"), ' ', &count);
    const char *prefix = text("%s=", name);
    for (size_t i = 0; i < count; i++)
        if (starts_with(word[i], prefix)) return word[i] + strlen(prefix);
    return "";
}

bool is_swept_row(row_of r)
{
    size_t count;
    char **flag = parts_of(get(r, "flags"), ';', &count);
    bool swept = false;
    for (size_t i = 0; i < count; i++)
        swept = swept || starts_with(flag[i], "sweep");
    return swept && is_ok(r) && lab_of(r);
}

static void take_setting(study *s, row_of r)
{
    const char *key = problem_key(r), *setting = setting_of(get(r, "contender"), get(r, "tuning"));
    const long before = s->swept.count, room = s->swept.room, place = names_add(&s->swept, key);
    if (s->swept.room != room) {
        s->sweep = realloc(s->sweep, (size_t)s->swept.room * sizeof *s->sweep);
        if (!s->sweep) refuse(STATUS_MEMORY, "out of memory");
    }
    sweep *w = &s->sweep[place];
    if (place == before) *w = (sweep){.key = s->swept.name[place], .ms = INFINITY};
    const double ms = number(r, "median_ms");
    w->settings++;
    *numbers_at(&w->ms_of, setting, ms) = ms;
    if (ms < w->ms) {
        w->ms = ms;
        w->setting = setting;
        w->from = provenance(r);
    }
}

static const char *rule_lab(const study *s)
{
    return text("lab%s", opt(s, "lab"));
}

char *rule_setting(const study *s, const sweep *w)
{
    const timing *t = timing_of(s, problem_find(s, w->key), rule_lab(s));
    return t ? setting_of(t->contender, t->tuning) : "KERNEL=";
}

double rule_ms(study *s, const sweep *w)
{
    const double ms = time_of(s, problem_find(s, w->key), rule_lab(s));
    const double *swept = numbers_find(&w->ms_of, rule_setting(s, w));
    return swept ? *swept : ms;
}

double rule_share(study *s, const sweep *w)
{
    const double ms = rule_ms(s, w);
    use(s, w->from);
    return !ms ? 0 : w->ms < ms ? w->ms / ms : 1;
}

mean judge_rule(study *s, const char **least_at)
{
    mean shares = {0};
    for (long i = 0; i < s->swept.count; i++) {
        const double share = rule_share(s, &s->sweep[i]);
        if (!share) continue;
        if (!shares.count || share < shares.least) *least_at = s->sweep[i].key;
        mean_add(&shares, share);
    }
    return shares;
}

/* ---- reading ---------------------------------------------------------------------------------- */

static bool ends_with(const char *name, const char *ending)
{
    const size_t length = strlen(name), end = strlen(ending);
    return length >= end && !strcmp(name + length - end, ending);
}

/* Reads limits.tsv, published.tsv or split.tsv: lines of cells between tabs, comments begin with #. */
static void read_tsv(study *s, const char *path, bool is_limits)
{
    const bool is_split = ends_with(path, "split.tsv");
    FILE *in = fopen(path, "r");
    char *line = NULL;
    size_t bytes = 0, count;
    if (!in) refuse(STATUS_DATASET, "%s: cannot be read", path);
    while (getline(&line, &bytes, in) >= 0) {
        line[strcspn(line, "\n")] = 0;
        char *machine = strstr(line, "# limits of ");
        if (is_limits && machine == line) {
            machine += strlen("# limits of ");
            const char *end = strstr(machine, ", measured");
            s->limits_device = text("%.*s", end ? (int)(end - machine) : 999, machine);
        }
        if (*line == '#' || !*line) continue;
        char **cell = parts_of(line, '\t', &count);
        if (is_limits && count == 4)
            *numbers_at(&s->gather, text("%s" KEY "%s", cell[1], cell[2]), 0) =
                strtod(cell[3], NULL);
        else if (is_limits && count >= 2)
            *numbers_at(&s->limit, cell[0], 0) = strtod(cell[1], NULL);
        else if (is_split && count == 3)
            *texts_at(&s->half, cell[0]) = text("%s" KEY "%s", cell[1], cell[2]);
        else if (!is_limits && count == 7)
            *texts_at(&s->published, text("%s" KEY "%s" KEY "%s" KEY "%s" KEY "%s", cell[0],
                                          cell[2], cell[3], cell[4], cell[5])) = cell[6];
    }
    fclose(in);
}

study *study_read(const request *q, bool by_problem)
{
    study *s = calloc(1, sizeof *s);
    regex_t compiled, *only = NULL;
    if (!s) refuse(STATUS_MEMORY, "out of memory");
    s->request = q;
    s->measured_by = text("make bench PLAN=%s", option(q, "PLAN", "full"));
    s->limits_device = "";
    if (*opt(s, "only")) {
        if (regcomp(&compiled, opt(s, "only"), REG_EXTENDED | REG_NOSUB))
            refuse(STATUS_USAGE, "only=%s: no expression", opt(s, "only"));
        only = &compiled;
    }
    for (int i = 0; i < q->count; i++) {
        const char *path = q->files[i];
        const bool is_limits = ends_with(path, "limits.tsv");
        if (is_limits || ends_with(path, "published.tsv") || ends_with(path, "split.tsv")) {
            read_tsv(s, path, is_limits);
            continue;
        }
        if (s->files == (int)(sizeof s->file / sizeof *s->file))
            refuse(STATUS_USAGE, "more than %d files", s->files);
        table *t = s->file[s->files++] = table_read(path);
        if (app_of(t)) s->measured_by = text("make measure-app APP=%s", app_of(t));
        const bool has_flags =
            names_find(&t->columns, "flags") != NONE; /* else it holds no times */
        for (long row = 0; row < t->count; row++) {
            const row_of r = {t, row};
            names_add(&s->operations, operation_of(r));
            if (!by_problem || !has_flags) continue;
            if (is_wanted(s, r, only)) take_row(s, r);
            if (is_swept_row(r)) take_setting(s, r);
        }
    }
    return s;
}

const char *common_width(const study *s)
{
    return s->operations.count == 1 ? width_name(s->operations.name[0]) : "width";
}

/* ---- texts ------------------------------------------------------------------------------------ */

char *show_ratio(double ratio)
{
    return text(ratio < 0.1 ? "%.4f%s" : "%.2f%s", ratio, ratio < 1 ? " (behind)" : "");
}

char *heading(const char *who)
{
    return starts_with(who, "lab") ? text("lab %s", who + 3) : text("%s", who);
}

char *us(double ms)
{
    return !ms ? "-" : text(ms < 0.1 ? "%.1f" : "%.0f", 1000 * ms);
}

/* ---- commands --------------------------------------------------------------------------------- */

enum status run_origin(const request *q)
{
    study *s = study_read(q, false);
    for (int f = 0; f < s->files; f++)
        for (long row = 0; row < s->file[f]->count; row++)
            use_row(s, (row_of){s->file[f], row});
    print_origin(s);
    return STATUS_OK;
}

/* The calculation that the first word of the command names; the other words are options and files. */
static enum status calculate(const request *q, const calculation *list, const char *what,
                             bool origin)
{
    for (; list->name; list++)
        if (!strcmp(list->name, option(q, "", ""))) break;
    if (!list->name) refuse(STATUS_USAGE, "unknown %s '%s'", what, option(q, "", ""));
    for (long i = 1; i < q->options.key.count; i++) { /* the first is the name */
        const char *name = q->options.key.name[i];
        if (!is_among(name, text("PLAN N precision l2 flags only %s", list->options), ' '))
            refuse(STATUS_USAGE, "%s %s takes no option %s", what, list->name, name);
    }
    study *s = study_read(q, list->by_problem);
    list->run(s);
    if (origin) print_origin(s);
    return STATUS_OK;
}

enum status run_table(const request *q)
{
    return calculate(q, TABLES, "table", true);
}

enum status run_value(const request *q)
{
    return calculate(q, VALUES, "value", false);
}
