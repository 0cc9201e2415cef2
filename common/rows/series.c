/*
 * series.c - the numbers that figures of the report are drawn from: rows series FIGURE FOLDER [PUBLISHED.tsv]
 *
 * FOLDER holds the rows of one device. Prints lines of cells between tabs, of which the first says the kind:
 *
 *     graph   PANEL DATASET LABEL          a dataset of a panel, in the order of the rows
 *     point   PANEL SERIES NAME VALUE      one number of a line
 *     mean    PANEL SERIES VALUE AHEAD COUNT   its geometric mean, how many are above 1, of how many
 *     word    NAME TEXT                    what a legend or a title says
 *     bar     PLACE VALUE LABEL TEXT IS_VENDOR   a bar from the top, and the words beside it
 *     origin  TEXT                         machine, commits, data, files; lines of the figure's small print
 *
 * report/plots/NAME.py draws them and computes nothing.
 */
#include "rows/choices.h"
#include "rows/study.h"

#include <glob.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct figure {
    const char *folder, *published_path;
    names machines, commits, pairs, files; /* of the rows that were taken */
    names notes;
} figure;

/* Conditions on rows of a file; NULL: any. */
typedef struct wanted {
    const char *N;
    const char *labs; /* as in "0,5,99"; "+": all labs, and no vendor */
    bool plain;       /* as a lab runs by itself: fp32, warm, no options */
    const char *l2, *flags, *status, *precision;
    const names *datasets;
} wanted;

typedef struct rows_taken {
    row_of *row;
    long count;
} rows_taken;

/* ---- origin ----------------------------------------------------------------------------------- */

static void use_in(figure *g, row_of r)
{
    const char *model = get_or(r, "model", ""), *driver = get_or(r, "driver", "-");
    const char *machine = get_or(r, "device", "");
    if (*model) machine = text("%s%smodel of %s", machine, *machine ? ", " : "", model);
    if (strcmp(driver, "-"))
        machine = text("%s, driver %s, CUDA %s", machine, driver, get(r, "toolkit"));
    names_add(&g->machines, machine);
    if (has(r, "commit")) names_add(&g->commits, get(r, "commit"));
    if (*get_or(r, "origin", ""))
        names_add(&g->pairs, text("%s" KEY "%s", get(r, "origin"), get(r, "dataset")));
    names_add(&g->files, r.table->name);
}

static void print_small_print(const figure *g)
{
    names origins = {0};
    const char *data = "";
    for (long i = 0; i < g->pairs.count; i++)
        names_add(&origins, key_part(g->pairs.name[i], 0));
    char **origin = names_in_order(&origins);
    for (long o = 0; o < origins.count; o++) {
        names of = {0};
        for (long i = 0; i < g->pairs.count; i++)
            if (!strcmp(key_part(g->pairs.name[i], 0), origin[o]))
                names_add(&of, key_part(g->pairs.name[i], 1));
        data = text("%s%s%s: %s", data, o ? "; " : "", origin[o],
                    of.count <= 3 ? names_sorted(&of, "") : text("%ld matrices", of.count));
    }
    char **machine = names_in_order(&g->machines);
    const char *machines = "";
    for (long i = 0; i < g->machines.count; i++)
        machines = text("%s%s%s", machines, i ? "; " : "", machine[i]);
    fprintf(out, "origin\t%s; commits %s\n", machines, names_sorted(&g->commits, ""));
    fprintf(out, "origin\tdata %s; rows of %s\n", data,
            g->files.count <= 8 ? names_sorted(&g->files, "") : text("%ld files", g->files.count));
    for (long i = 0; i < g->notes.count; i++)
        fprintf(out, "origin\t%s\n", g->notes.name[i]);
}

/* ---- rows ------------------------------------------------------------------------------------- */

static bool is_taken(row_of r, const wanted *w)
{
    if (w->N && strcmp(get(r, "N"), w->N)) return false;
    if (w->labs && !strcmp(w->labs, "+") && !lab_of(r)) return false;
    if (w->labs && strcmp(w->labs, "+") && !is_among(text("%d", lab_of(r)), w->labs, ','))
        return false;
    if (w->plain &&
        (strcmp(get(r, "l2"), "warm") || *get(r, "flags") || strcmp(get(r, "precision"), "fp32")))
        return false;
    if (w->l2 && strcmp(get(r, "l2"), w->l2)) return false;
    if (w->flags && strcmp(get(r, "flags"), w->flags)) return false;
    if (w->status && strcmp(get(r, "status"), w->status)) return false;
    if (w->precision && strcmp(get(r, "precision"), w->precision)) return false;
    return !w->datasets || names_find(w->datasets, get(r, "dataset")) != NONE;
}

static char *said(const wanted *w)
{
    const char *list = "";
    if (w->N) list = text("N %s", w->N);
    if (w->labs) list = text("%s%slab %s", list, *list ? ", " : "", w->labs);
    if (w->plain) list = text("%s%sl2 warm, flags none, precision fp32", list, *list ? ", " : "");
    return text("%s", *list ? list : "any kind");
}

/* The rows of a file; *there is whether there are any. Those that are taken are the figure's origin. */
static rows_taken find_rows(figure *g, const char *file, const wanted *w)
{
    rows_taken taken = {0};
    const char *path = text("%s/%s", g->folder, file);
    if (!is_readable(path)) return taken;
    table *t = table_read(path);
    taken.row = calloc((size_t)t->count + 1, sizeof *taken.row);
    if (!taken.row) refuse(STATUS_MEMORY, "out of memory");
    for (long row = 0; row < t->count; row++) {
        const row_of r = {t, row};
        if (!is_taken(r, w)) continue;
        taken.row[taken.count++] = r;
        use_in(g, r);
    }
    return taken;
}

/* The same of rows that must be there. */
static rows_taken take_rows(figure *g, const char *file, wanted w)
{
    const rows_taken taken = find_rows(g, file, &w);
    const char *path = text("%s/%s", g->folder, file);
    if (!is_readable(path)) refuse(STATUS_DATASET, "no %s", path);
    if (!taken.count) refuse(STATUS_DATASET, "no rows of %s in %s", said(&w), path);
    return taken;
}

/* The rows of all files of a pattern, which must be there. */
static rows_taken take_all(figure *g, const char *pattern, wanted w)
{
    const char *path = text("%s/%s", g->folder, pattern);
    rows_taken all = {0};
    glob_t found;
    if (glob(path, 0, NULL, &found)) refuse(STATUS_DATASET, "no %s", path);
    for (size_t f = 0; f < found.gl_pathc; f++) {
        const rows_taken own = find_rows(g, strrchr(found.gl_pathv[f], '/') + 1, &w);
        if (!own.count) continue;
        all.row = realloc(all.row, (size_t)(all.count + own.count) * sizeof *all.row);
        if (!all.row) refuse(STATUS_MEMORY, "out of memory");
        memcpy(all.row + all.count, own.row, (size_t)own.count * sizeof *own.row);
        all.count += own.count;
    }
    globfree(&found);
    if (!all.count) refuse(STATUS_DATASET, "no rows of %s in %s", said(&w), path);
    return all;
}

/* The widths of rows, by size. */
static char **widths_of(const rows_taken *rows, long *count)
{
    names found = {0};
    for (long i = 0; i < rows->count; i++)
        names_add(&found, get(rows->row[i], "N"));
    char **list = names_in_order(&found);
    for (long i = 1; i < found.count; i++) /* "256" stands before "32" among bytes */
        for (long j = i; j > 0 && atoi(list[j - 1]) > atoi(list[j]); j--) {
            char *other = list[j];
            list[j] = list[j - 1];
            list[j - 1] = other;
        }
    *count = found.count;
    return list;
}

/* ---- times ------------------------------------------------------------------------------------ */

/* Who took how long on what: by "who dataset". Who is the number of a lab, whose fastest row counts where several
 * settings were measured, or "best" or "default": that algorithm of the vendor's library. */
typedef struct times {
    names who, graphs;
    texts label;
    numbers ms;
} times;

static void take_time(times *t, const char *who, row_of r, double ms)
{
    double *own = numbers_at(&t->ms, text("%s" KEY "%s", who, get(r, "dataset")), ms);
    names_add(&t->who, who);
    if (ms < *own) *own = ms;
}

/* The times of rows at one width, or at all (NULL), which are of one operation. */
static times times_of(const rows_taken *rows, const char *N)
{
    times t = {0};
    for (long i = 0; i < rows->count; i++) {
        const row_of r = rows->row[i];
        if (strcmp(operation_of(r), operation_of(rows->row[0])))
            refuse(STATUS_DATASET, "%s:%ld: times of sddmm and spmm in one",
                   rows->row[0].table->name, rows->row[0].row + 2);
        if (N && strcmp(get(r, "N"), N)) continue;
        const char *dataset = get(r, "dataset");
        names_add(&t.graphs, dataset);
        *texts_at(&t.label, dataset) =
            text("%s%s", dataset, strcmp(get(r, "origin"), "real") ? "" : " (real)");
        if (!is_ok(r) || !*get(r, "median_ms")) continue;
        char *end;
        const double ms = strtod(get(r, "median_ms"), &end);
        if (*end || !(ms > 0 && ms < INFINITY))
            refuse(STATUS_DATASET, "%s:%ld: median_ms is '%s'", r.table->name, r.row + 2,
                   get(r, "median_ms"));
        if (lab_of(r))
            take_time(&t, text("%d", lab_of(r)), r, ms);
        else if (!strcmp(get(r, "contender"), get(r, "vendor_best")))
            take_time(&t, "best", r, ms);
        if (!lab_of(r) && !strcmp(get(r, "contender"), get(r, "vendor_default")))
            take_time(&t, "default", r, ms);
    }
    return t;
}

static bool is_timed(const times *t, const char *who)
{
    return names_find(&t->who, who) != NONE;
}

static void need_time(const times *t, const char *who)
{
    if (is_timed(t, who)) return;
    refuse(STATUS_DATASET, "no time of %s in its rows",
           *who >= '0' && *who <= '9' ? text("lab %s", who) : text("the %s of the vendor", who));
}

static const double *ms_of(const times *t, const char *who, const char *dataset)
{
    return numbers_find(&t->ms, text("%s" KEY "%s", who, dataset));
}

/* ---- lines ------------------------------------------------------------------------------------ */

static void print_point(const char *panel, const char *series, const char *name, double value)
{
    fprintf(out, "point\t%s\t%s\t%s\t%.17g\n", panel, series, name, value);
}

static void print_mean(const char *panel, const char *series, const mean *m)
{
    if (m->count)
        fprintf(out, "mean\t%s\t%s\t%.17g\t%ld\t%ld\n", panel, series, mean_of(m), m->ahead,
                m->count);
}

static void print_graphs(const char *panel, const times *t)
{
    for (long i = 0; i < t->graphs.count; i++)
        fprintf(out, "graph\t%s\t%s\t%s\n", panel, t->graphs.name[i],
                texts_find(&t->label, t->graphs.name[i]));
}

/* Points of the times of one over those of another, graph by graph, and their mean. */
static mean print_ratios(const char *panel, const char *series, const times *above, const char *who,
                         const times *below, const char *over)
{
    mean m = {0};
    for (long i = 0; i < above->graphs.count; i++) {
        const char *graph = above->graphs.name[i];
        const double *a = ms_of(above, who, graph), *b = ms_of(below, over, graph);
        if (!a || !b) continue;
        print_point(panel, series, graph, *a / *b);
        mean_add(&m, *a / *b);
    }
    print_mean(panel, series, &m);
    return m;
}

/* The labs with times, by number. */
static int next_lab(const times *t, int lab)
{
    for (lab++; lab < 100; lab++)
        if (is_timed(t, text("%d", lab))) return lab;
    return 0;
}

/* ---- published figures ------------------------------------------------------------------------ */

typedef struct published {
    texts value; /* by "experiment matrix setting quantity" */
    names devices, matrices;
} published;

/* Reads those of some experiments (separated by commas), which the small print names. */
static published read_published(figure *g, const char *experiments)
{
    published p = {0};
    FILE *in = fopen(g->published_path, "r");
    char *line = NULL;
    size_t bytes = 0, count;
    if (!in) refuse(STATUS_DATASET, "%s: cannot be read", g->published_path);
    while (getline(&line, &bytes, in) >= 0) {
        line[strcspn(line, "\n")] = 0;
        char **cell = parts_of(line, '\t', &count);
        if (!count || *line == '#' || count < 7 || !is_among(cell[0], experiments, ',')) continue;
        names_add(&p.devices, cell[1]);
        names_add(&p.matrices, cell[2]);
        *texts_at(&p.value, text("%s" KEY "%s" KEY "%s" KEY "%s", cell[0], cell[2], cell[4],
                                 cell[5])) = cell[6];
    }
    fclose(in);
    const char *label = text("published, %s", names_sorted(&p.devices, ""));
    const char *list = "";
    parts_of(experiments, ',', &count);
    char **name = parts_of(experiments, ',', &count);
    for (size_t i = 0; i < count; i++)
        list = text("%s%s%s", list, i ? ", " : "", name[i]);
    fprintf(out, "word\tpublished\t%s\n", label);
    names_add(&g->notes, text("%s: %s of published.tsv", label, list));
    return p;
}

static double published_value(const published *p, const char *experiment, const char *matrix,
                              const char *setting, const char *quantity)
{
    const char *value = texts_find(
        &p->value, text("%s" KEY "%s" KEY "%s" KEY "%s", experiment, matrix, setting, quantity));
    return value ? strtod(value, NULL) : 0;
}

/* ---- figures ---------------------------------------------------------------------------------- */

/* Each lab over the vendor's best, graph by graph. */
static void speedups(figure *g)
{
    static const char *const WIDTHS[] = {"32", "256"};
    for (int w = 0; w < 2; w++) {
        const rows_taken rows = take_rows(g, "spmm.csv", (wanted){.N = WIDTHS[w], .plain = true});
        const times t = times_of(&rows, NULL);
        print_graphs(WIDTHS[w], &t);
        need_time(&t, "best");
        for (int lab = 0; (lab = next_lab(&t, lab));)
            print_ratios(WIDTHS[w], text("%d", lab), &t, "best", &t, text("%d", lab));
    }
}

/* Labs 1 to 5 over the vendor's default and best, beside the published speedups. */
static void published_course(figure *g)
{
    static const char *const WIDTHS[] = {"32", "256"}, *const EXPERIMENTS[] = {"E1.7", "E1.8"};
    static const char *const OVER[] = {"default", "best"};
    const published p = read_published(g, "E1.7,E1.8");
    for (int w = 0; w < 2; w++) {
        const rows_taken rows = take_rows(
            g, "spmm.csv", (wanted){.N = WIDTHS[w], .labs = "0,1,2,3,4,5", .plain = true});
        const times t = times_of(&rows, NULL);
        mean m = {0};
        print_graphs(WIDTHS[w], &t);
        for (long i = 0; i < p.matrices.count; i++) {
            const char *matrix = p.matrices.name[i];
            const double theirs = published_value(&p, EXPERIMENTS[w], matrix, "cuSPARSE", "time_s");
            const double own = published_value(&p, EXPERIMENTS[w], matrix, "final", "time_s");
            if (!theirs || !own) continue;
            print_point(WIDTHS[w], "published", matrix, theirs / own);
            if (names_find(&t.graphs, matrix) != NONE) mean_add(&m, theirs / own);
        }
        print_mean(WIDTHS[w], "published", &m);
        for (int o = 0; o < 2; o++)
            for (int lab = 1; lab <= 5; lab++) {
                need_time(&t, OVER[o]);
                need_time(&t, text("%d", lab));
                print_ratios(text("%s %s", WIDTHS[w], OVER[o]), text("%d", lab), &t, OVER[o], &t,
                             text("%d", lab));
            }
    }
}

/* SDDMM over SpMM of the same width, graph by graph. */
static void sddmm_beside_spmm(figure *g)
{
    static const char *const WHO[] = {"best", "31", "32", "33", "99"};
    const rows_taken sddmm = take_rows(g, "sddmm.csv", (wanted){.plain = true});
    const rows_taken spmm =
        take_rows(g, "spmm-beside-sddmm.csv", (wanted){.labs = "99", .plain = true});
    const times all = times_of(&sddmm, NULL);
    long count, shown = 0;
    char **K = widths_of(&sddmm, &count);
    for (long w = 0; w < count; w++) {
        const times own = times_of(&sddmm, K[w]), beside = times_of(&spmm, K[w]);
        if (!is_timed(&beside, "99")) continue;
        shown++;
        print_graphs(K[w], &all);
        for (int i = 0; i < 5; i++)
            if (is_timed(&own, WHO[i])) print_ratios(K[w], WHO[i], &own, WHO[i], &beside, "99");
    }
    if (!shown)
        refuse(STATUS_DATASET, "no width that both sddmm.csv and spmm-beside-sddmm.csv have");
}

/* Shares of the fastest one's speed that the rule of lab 99 reaches, case by case. */
static void print_shares(const char *line, const names *cases, const double *share)
{
    mean m = {0};
    long worst = 0;
    for (long i = 0; i < cases->count; i++) {
        print_point(line, "share", cases->name[i], share[i]);
        mean_add(&m, share[i]);
        if (share[i] < share[worst]) worst = i;
    }
    if (!cases->count) return;
    print_mean(line, "share", &m);
    print_point(line, "worst", cases->name[worst], share[worst]);
}

/* Prints the rule's choice, beside the fastest setting of a sweep and beside the fastest of all labs. */
static void choice(figure *g)
{
    static const char *const SETS[][2] = {{"graphs", "spmm.csv"},
                                          {"RNN", "spmm-rnn.csv"},
                                          {"sparsity", "spmm-sparsity.csv"},
                                          {"DLMC", "spmm-dlmc.csv"},
                                          {"like DLMC's", "spmm-dlmc-like.csv"}};
    const wanted rule = {.labs = "99", .plain = true}, any = {.N = NULL},
                 labs = {.labs = "+", .plain = true};
    const char *spmm = text("%s/spmm.csv", g->folder),
               *sweep = text("%s/spmm-graphs-sweep.csv", g->folder);
    bool shown = false;
    if (is_readable(spmm) && is_readable(sweep) && find_rows(g, "spmm.csv", &rule).count &&
        find_rows(g, "spmm-graphs-sweep.csv", &any).count) {
        const choices c = choices_read(spmm, sweep, 99);
        names cases = {0};
        double *share = calloc((size_t)c.rule.key.count + 1, sizeof *share);
        if (!share) refuse(STATUS_MEMORY, "out of memory");
        for (long i = 0; i < c.rule.key.count; i++) {
            const double own = choices_share(&c, c.rule.key.name[i]);
            if (own) share[names_add(&cases, c.rule.key.name[i])] = own;
        }
        print_shares("settings tried,\\ngraphs", &cases, share);
        shown = cases.count;
    }
    for (size_t i = 0; i < sizeof SETS / sizeof *SETS; i++) {
        const rows_taken rows = find_rows(g, SETS[i][1], &labs);
        long count;
        char **N = widths_of(&rows, &count);
        names cases = {0};
        double *share = calloc((size_t)rows.count + 1, sizeof *share);
        if (!share) refuse(STATUS_MEMORY, "out of memory");
        for (long w = 0; w < count; w++) {
            const times t = times_of(&rows, N[w]);
            for (long d = 0; d < t.graphs.count; d++) {
                const double *own = ms_of(&t, "99", t.graphs.name[d]);
                double fastest = own ? *own : 0;
                for (long l = 0; own && l < t.who.count; l++) {
                    const double *ms = ms_of(&t, t.who.name[l], t.graphs.name[d]);
                    if (ms && *ms < fastest) fastest = *ms;
                }
                if (own)
                    share[names_add(&cases, text("%s N=%s", t.graphs.name[d], N[w]))] =
                        fastest / *own;
            }
        }
        print_shares(text("fastest lab,\\n%s", SETS[i][0]), &cases, share);
        shown = shown || cases.count;
    }
    if (!shown) refuse(STATUS_DATASET, "no rows of lab 99 in %s", g->folder);
}

/* The RNN problems, width by width: labs over the vendor's best and default algorithm. */
static void rnn(figure *g)
{
    static const char *const LABS[] = {"5", "6", "7", "12", "21", "99"}, *const OVER[] = {
                                                                             "best", "default"};
    const rows_taken rows = take_rows(g, "spmm-rnn.csv", (wanted){.plain = true});
    const published p = read_published(g, "E2.5");
    for (long i = 0; i < p.value.key.count; i++)
        print_point("published", "published", p.value.key.name[i], strtod(p.value.value[i], NULL));
    long count;
    char **N = widths_of(&rows, &count);
    for (int o = 0; o < 2; o++) {
        mean all[6] = {{0}};
        for (long w = 0; w < count; w++) {
            const times t = times_of(&rows, N[w]);
            if (!is_timed(&t, "best"))
                refuse(STATUS_DATASET, "no times of cuSPARSE's best among spmm-rnn.csv");
            need_time(&t, OVER[o]);
            for (int l = 0; l < 6; l++) {
                if (!is_timed(&t, LABS[l])) continue;
                const mean m =
                    print_ratios(text("%s %s", OVER[o], N[w]), LABS[l], &t, OVER[o], &t, LABS[l]);
                all[l].logs += m.logs;
                all[l].count += m.count;
                all[l].ahead += m.ahead;
            }
        }
        for (int l = 0; l < 6; l++)
            print_mean(OVER[o], LABS[l], &all[l]);
    }
}

/* Prints fp16's gain on the RNN problems: labs over the vendor's best in fp16, and over the fastest lab in fp32. */
static void precision(figure *g)
{
    static const char *const LABS[] = {"8", "21", "99"};
    const rows_taken wide = take_rows(g, "spmm-rnn.csv", (wanted){.plain = true});
    names problems = {0};
    for (long i = 0; i < wide.count; i++)
        names_add(&problems, get(wide.row[i], "dataset"));
    const rows_taken narrow =
        take_rows(g, "spmm-fp16.csv", (wanted){.l2 = "warm", .flags = "", .datasets = &problems});
    const published p = read_published(g, "E2.4");
    for (long i = 0; i < p.value.key.count; i++)
        if (!strcmp(key_part(p.value.key.name[i], 2), "mixed"))
            print_point("published", "published", p.value.key.name[i],
                        strtod(p.value.value[i], NULL));
    long count;
    char **N = widths_of(&narrow, &count);
    for (long w = 0; w < count; w++) {
        const times t = times_of(&narrow, N[w]), fp32 = times_of(&wide, N[w]);
        times fastest = {0};
        if (!is_timed(&t, "best"))
            refuse(STATUS_DATASET, "no times of cuSPARSE's best among spmm-fp16.csv");
        for (long d = 0; d < fp32.graphs.count; d++) {
            double least = INFINITY;
            for (int lab = 0; (lab = next_lab(&fp32, lab));) {
                const double *ms = ms_of(&fp32, text("%d", lab), fp32.graphs.name[d]);
                if (ms && *ms < least) least = *ms;
            }
            names_add(&fastest.graphs, fp32.graphs.name[d]);
            if (least < INFINITY)
                *numbers_at(&fastest.ms, text("fp32" KEY "%s", fp32.graphs.name[d]), least) = least;
        }
        for (int l = 0; l < 3; l++) {
            if (!is_timed(&t, LABS[l])) continue;
            print_ratios(text("best %s", N[w]), LABS[l], &t, "best", &t, LABS[l]);
            print_ratios(text("fp32 %s", N[w]), LABS[l], &fastest, "fp32", &t, LABS[l]);
        }
    }
}

/* Measured over estimated time, row by row: points are pairs, "estimated measured". */
static void predictions(figure *g)
{
    const rows_taken rows = take_rows(g, "predictions.csv", (wanted){.N = NULL});
    names labs = {0};
    long sampled = 0;
    for (long i = 0; i < rows.count; i++) {
        names_add(&labs, get(rows.row[i], "lab"));
        names_add(&g->commits, get(rows.row[i], "counted_commit"));
        names_add(&g->commits, get(rows.row[i], "measured_commit"));
        sampled += strtod(get(rows.row[i], "sampled"), NULL) < 1;
    }
    for (long l = 0; l < labs.count; l++) {
        mean m = {0};
        long near = 0;
        for (long i = 0; i < rows.count; i++) {
            const row_of r = rows.row[i];
            if (strcmp(get(r, "lab"), labs.name[l])) continue;
            const double estimated = number(r, "predicted_ms"), measured = number(r, "measured_ms");
            print_point("estimated", labs.name[l], text("%ld", i), estimated);
            print_point("measured", labs.name[l], text("%ld", i), measured);
            mean_add(&m, measured / estimated);
            near += measured / estimated >= 0.5 && measured / estimated <= 2;
        }
        m.ahead = near;
        print_mean("near", labs.name[l], &m);
    }
    names_add(&g->notes,
              text("estimates are the CPU backend's, times the modelled GPU's; %ld of %ld estimates"
                   " are of a sample of the blocks",
                   sampled, rows.count));
}

/* Time over the gather limit, graph by graph: one over the share that the harness wrote (common/results/bound.h). */
static void gather_limit(figure *g)
{
    static const char *const WIDTHS[] = {"32", "256"}, *const WHO[] = {"best", "5", "11", "99"};
    for (int w = 0; w < 2; w++) {
        const rows_taken rows =
            take_rows(g, "spmm.csv", (wanted){.N = WIDTHS[w], .labs = "0,5,11,99", .plain = true});
        const times t = times_of(&rows, NULL);
        print_graphs(WIDTHS[w], &t);
        need_time(&t, "best");
        for (int k = 0; k < 4; k++) {
            mean m = {0};
            for (long i = 0; i < rows.count && is_timed(&t, WHO[k]); i++) {
                const row_of r = rows.row[i];
                const double *ms = ms_of(&t, WHO[k], get(r, "dataset"));
                const bool is_best =
                    !lab_of(r) && !strcmp(get(r, "contender"), get(r, "vendor_best"));
                const bool is_own = k ? lab_of(r) == atoi(WHO[k]) : is_best;
                if (!is_own || !ms || time_of_row(r) != *ms || !*get(r, "gather_share")) continue;
                const double over = 1 / number(r, "gather_share");
                print_point(WIDTHS[w], WHO[k], get(r, "dataset"), over);
                mean_add(&m, over);
            }
            print_mean(WIDTHS[w], WHO[k], &m);
        }
    }
    names_add(&g->notes, "limits of limits.tsv");
}

/* Labs 9 and 20 on pruned weights of language models over the fastest dense product of the same file: panels by
 * width, lines by contender and per cent of zeros. */
static void dense(figure *g)
{
    static const char *const KERNELS[] = {"bitmap_fp16", "lane_major_fp16"};
    const rows_taken rows =
        take_all(g, "spmm-llm*.csv", (wanted){.l2 = "cold", .precision = "fp16"});
    const published p = read_published(g, "E5.5");
    numbers fastest = {0};
    names widths = {0}, zeros = {0}, shapes = {0};
    texts prunings = {0};
    for (int pass = 0; pass < 2; pass++)
        for (long i = 0; i < rows.count; i++) {
            const row_of r = rows.row[i];
            const double ms = time_of_row(r);
            size_t count;
            char **part = parts_of(without(get(r, "dataset"), "llm."), '-', &count);
            if (!ms || count != 3) continue;
            const char *share = digits(100 * strtod(part[2], NULL));
            const char *problem =
                text("%s" KEY "%s" KEY "%s", get(r, "N"), get(r, "dataset"), r.table->name);
            if (pass == 0 && strstr(get(r, "contender"), "(dense)")) {
                double *own = numbers_at(&fastest, problem, ms);
                if (ms < *own) *own = ms;
                names_add(&widths, get(r, "N"));
                names_add(&zeros, share);
                names_add(&shapes, part[0]);
                const char **masks = texts_at(&prunings, share);
                if (!*masks)
                    *masks = part[1];
                else if (!is_among(part[1], *masks, ','))
                    *masks = strcmp(part[1], *masks) < 0 ? text("%s,%s", part[1], *masks)
                                                         : text("%s,%s", *masks, part[1]);
            }
            const double *other = numbers_find(&fastest, problem);
            for (int k = 0; pass == 1 && other && k < 2; k++)
                if (!strcmp(get(r, "contender"), KERNELS[k]))
                    print_point(get(r, "N"), text("%s %s", KERNELS[k], share),
                                text("%s %s", get(r, "dataset"), r.table->name), *other / ms);
        }
    for (long w = 0; w < widths.count; w++)
        for (int k = 0; k < 2; k++)
            for (long z = 0; z < zeros.count; z++) {
                mean m = {0};
                for (long i = 0; i < rows.count; i++) {
                    const row_of r = rows.row[i];
                    const double ms = time_of_row(r);
                    const double *other =
                        numbers_find(&fastest, text("%s" KEY "%s" KEY "%s", get(r, "N"),
                                                    get(r, "dataset"), r.table->name));
                    size_t count;
                    char **part = parts_of(get(r, "dataset"), '-', &count);
                    if (!ms || !other || count != 3 || strcmp(get(r, "contender"), KERNELS[k]) ||
                        strcmp(get(r, "N"), widths.name[w]) ||
                        strcmp(digits(100 * strtod(part[2], NULL)), zeros.name[z]))
                        continue;
                    mean_add(&m, *other / ms);
                }
                print_mean(widths.name[w], text("%s %s", KERNELS[k], zeros.name[z]), &m);
            }
    for (long z = 0; z < zeros.count; z++)
        fprintf(out, "word\tpruned %s\t%s\n", zeros.name[z], texts_find(&prunings, zeros.name[z]));
    for (long i = 0; i < p.value.key.count; i++)
        print_point("published", "published",
                    digits(100 * strtod(key_part(p.value.key.name[i], 2), NULL)),
                    strtod(p.value.value[i], NULL));
    fprintf(out, "word\tshapes\t%ld\n", shapes.count);
}

/* A group of rows with one kind of rounding: a lab or a library, in one precision. */
typedef struct rounding {
    const char *label, *place; /* `place` sorts labs before libraries */
    double *errors, worst;
    const char *dataset; /* of the worst */
    long count;
} rounding;

static int by_place(const void *a, const void *b)
{
    return strcmp(((const rounding *)a)->place, ((const rounding *)b)->place);
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The powers of two by which the bound of a vendor's rounding is wider (common/baselines/sums_rounded.h, cublas.c). */
static int wider(const char *precision)
{
    return !strcmp(precision, "TF32") || !strcmp(precision, "fp16") ? 13
           : !strcmp(precision, "bf16")                             ? 16
                                                                    : 0;
}

/* The worst error of each lab and library over the bound, over all rows, as bars:
 * bar PLACE VALUE LABEL TEXT IS_VENDOR. */
static void error_bars(figure *g)
{
    static const char *const PRECISIONS[] = {"fp32", "TF32", "fp16", "bf16"};
    const rows_taken rows = take_all(g, "spmm*.csv", (wanted){.status = "ok"});
    names known = {0};
    rounding *group = NULL;
    for (long i = 0; i < rows.count; i++) {
        const row_of r = rows.row[i];
        if (!*get(r, "worst_error")) continue;
        const char *contender = get(r, "contender");
        const char *precision = strstr(contender, "TF32") ? "TF32" : get(r, "precision");
        int place = 0;
        while (place < 3 && strcmp(precision, PRECISIONS[place]))
            place++;
        size_t letters = strcspn(contender, " ");
        if (letters > 2 && !strncmp(contender + letters - 2, "Lt", 2)) letters -= 2;
        const char *library = text("%.*s", (int)letters, contender);
        const char *key =
            lab_of(r) ? text("0 %03d %d", lab_of(r), place) : text("1 %s %d", library, place);
        const long before = known.count, at = names_add(&known, key);
        if (at == before) {
            group = realloc(group, (size_t)known.count * sizeof *group);
            if (!group) refuse(STATUS_MEMORY, "out of memory");
            const char *bound = wider(precision) ? text(" (bound x 2^{%d})", wider(precision)) : "";
            group[at] = (rounding){.place = key, .worst = -1};
            group[at].label = lab_of(r) ? text("lab %d, %s", lab_of(r), precision)
                                        : text("%s, %s%s", library, precision, bound);
        }
        rounding *own = &group[at];
        const double error = number(r, "worst_error");
        own->errors = realloc(own->errors, (size_t)(own->count + 1) * sizeof *own->errors);
        if (!own->errors) refuse(STATUS_MEMORY, "out of memory");
        own->errors[own->count++] = error;
        const bool later = own->dataset && strcmp(get(r, "dataset"), own->dataset) > 0;
        if (error > own->worst || (error == own->worst && later)) {
            own->worst = error;
            own->dataset = get(r, "dataset");
        }
    }
    if (!known.count) refuse(STATUS_DATASET, "no rows of a worst_error in %s", g->folder);
    qsort(group, (size_t)known.count, sizeof *group, by_place);
    for (long i = 0; i < known.count; i++) {
        const rounding *own = &group[i];
        const bool is_long = strlen(own->dataset) > 26;
        qsort(own->errors, (size_t)own->count, sizeof *own->errors, by_size);
        const double median = (own->errors[own->count / 2] + own->errors[(own->count - 1) / 2]) / 2;
        fprintf(out, "bar\t%ld\t%.17g\t%s\t%.3f, %.*s%s; median %.3f of %ld rows\t%d\n", i,
                own->worst, own->label, own->worst, is_long ? 24 : 99, own->dataset,
                is_long ? ".." : "", median, own->count, *own->place == '1');
    }
}

/* The time of one layer's product against its zeros; where a line gets ahead of the dense products for good. */
typedef struct place {
    double x, y;
} place;

static int by_x(const void *a, const void *b)
{
    const place *p = a, *q = b;
    return p->x != q->x ? (p->x > q->x) - (p->x < q->x) : (p->y > q->y) - (p->y < q->y);
}

/* One line of {dataset: ms}, as points (% of zeros, us), ascending. */
typedef struct line {
    place *at;
    long count;
} line;

static line line_of(const numbers *ms, const char *who, const names *datasets, const numbers *zeros)
{
    line l = {.at = calloc((size_t)datasets->count + 1, sizeof(place))};
    if (!l.at) refuse(STATUS_MEMORY, "out of memory");
    for (long i = 0; i < datasets->count; i++) {
        const double *own = numbers_find(ms, text("%s" KEY "%s", who, datasets->name[i]));
        if (own) l.at[l.count++] = (place){*numbers_find(zeros, datasets->name[i]), 1000 * *own};
    }
    qsort(l.at, (size_t)l.count, sizeof *l.at, by_x);
    return l;
}

static void print_line(const char *panel, const char *series, const line *l)
{
    for (long i = 0; i < l->count; i++)
        print_point(panel, series, text("%.17g", l->at[i].x), l->at[i].y);
}

/* Says from where on a line is below another: "71 %", "50 %, the least" or "never"; *at is the crossing, if there
 * is one between two points. */
static char *crossing(const line *own, const line *other, place *at)
{
    line mine = {.at = calloc((size_t)own->count + 1, sizeof(place))}, their = mine;
    their.at = calloc((size_t)own->count + 1, sizeof(place));
    if (!mine.at || !their.at) refuse(STATUS_MEMORY, "out of memory");
    long behind = NONE, count = 0;
    for (long i = 0; i < own->count; i++)
        for (long k = other->count - 1; k >= 0; k--) {
            if (other->at[k].x != own->at[i].x) continue;
            mine.at[count] = own->at[i];
            their.at[count] = other->at[k];
            if (mine.at[count].y >= their.at[count].y) behind = count;
            count++;
            break;
        }
    *at = (place){NAN, NAN};
    if (behind == NONE) return count ? text("%.0f %%, the least", mine.at[0].x) : "never";
    if (behind == count - 1) return "never";
    const place a = mine.at[behind], b = mine.at[behind + 1];
    const double their_a = their.at[behind].y, their_b = their.at[behind + 1].y;
    const double gap_a = log(a.y / their_a), gap_b = log(b.y / their_b);
    const double part = gap_a / (gap_a - gap_b);
    *at = (place){a.x + part * (b.x - a.x), pow(their_a, 1 - part) * pow(their_b, part)};
    return text("%.0f %%", at->x);
}

static void sparsity(figure *g)
{
    static const char *const DENSE[][2] = {{"TF32", "cuBLAS SGEMM TF32"}, {"fp32", "cuBLAS SGEMM"}};
    static const char *const SHOWN[] = {"fp32", "TF32"};
    const rows_taken rows = take_rows(g, "spmm-sparsity.csv", (wanted){.plain = true});
    const times t = times_of(&rows, NULL);
    numbers zeros = {0}, dense = {0};
    names layouts[2] = {{0}};
    if (!is_timed(&t, "best"))
        refuse(STATUS_DATASET, "no times of cuSPARSE's best among spmm-sparsity.csv");
    for (long i = 0; i < rows.count; i++) {
        const row_of r = rows.row[i];
        const char *dataset = get(r, "dataset"), *contender = get(r, "contender");
        *numbers_at(&zeros, dataset, 0) =
            100 * (1 - number(r, "nnz") / (number(r, "rows") * number(r, "cols")));
        const double ms = time_of_row(r);
        for (int k = 0; k < 2 && ms && strstr(contender, "(dense)"); k++) {
            if (!starts_with(contender, DENSE[k][1])) continue;
            double *own = numbers_at(&dense, text("%s" KEY "%s", DENSE[k][0], dataset), ms);
            if (ms < *own) *own = ms;
            names_add(&layouts[!strcmp(DENSE[k][0], "TF32")], contender);
            break;
        }
    }
    const row_of first = rows.row[0];
    const published p = read_published(g, "E2.1");
    for (long i = 0; i < p.value.key.count; i++)
        print_point("published", "published", text("%ld", i), strtod(p.value.value[i], NULL));
    fprintf(out, "word\tlayer\t%s x %s weights; B has %s columns\n", get(first, "rows"),
            get(first, "cols"), get(first, "N"));
    line rivals[2];
    for (int k = 0; k < 2; k++) {
        rivals[k] = line_of(&dense, SHOWN[k], &t.graphs, &zeros);
        print_line("dense", SHOWN[k], &rivals[k]);
        if (rivals[k].count)
            fprintf(out, "word\t%s\tdense, cuBLAS %s%s\n", SHOWN[k], SHOWN[k],
                    layouts[k].count > 1 ? ",\\nB in the faster layout" : "");
    }
    for (int lab = 0, more = true; more;) {
        more = (lab = next_lab(&t, lab)) != 0;
        const char *who = more ? text("%d", lab) : "best";
        const line own = line_of(&t.ms, who, &t.graphs, &zeros);
        const char *said = "";
        print_line("times", who, &own);
        for (int k = 0; k < 2; k++) {
            place at;
            if (!rivals[k].count) continue;
            said = text("%s%s%s", said, *said ? " / " : "", crossing(&own, &rivals[k], &at));
            if (!isnan(at.x)) print_point("crossing", who, text("%.17g", at.x), at.y);
        }
        fprintf(out, "word\t%s\t%s\n", who, said);
    }
}

/* The cost of preparing on the graphs, and the products until it is earned back from the vendor's best. Labs whose
 * median is below LITTLE_MS are named alone. */
static void prepare(figure *g)
{
    static const double LITTLE_MS = 0.02;
    const rows_taken rows = take_rows(g, "spmm.csv", (wanted){.plain = true});
    const times all = times_of(&rows, NULL);
    const char *little = "";
    long count;
    char **N = widths_of(&rows, &count);
    print_graphs("all", &all);
    for (int lab = 0; (lab = next_lab(&all, lab));) {
        double *ms = calloc((size_t)rows.count, sizeof *ms);
        long taken = 0;
        if (!ms) refuse(STATUS_MEMORY, "out of memory");
        for (long i = 0; i < rows.count; i++)
            if (lab_of(rows.row[i]) == lab && time_of_row(rows.row[i]))
                ms[taken++] = number(rows.row[i], "prepare_ms");
        qsort(ms, (size_t)taken, sizeof *ms, by_size);
        const bool is_little = (ms[taken / 2] + ms[(taken - 1) / 2]) / 2 < LITTLE_MS;
        if (is_little) little = text("%s%s%d", little, *little ? ", " : "", lab);
        for (long w = 0; w < count && !is_little; w++) {
            const times t = times_of(&rows, N[w]);
            for (long i = 0; i < rows.count; i++) {
                const row_of r = rows.row[i];
                const double own = time_of_row(r);
                const double *best = ms_of(&t, "best", get(r, "dataset"));
                if (lab_of(r) != lab || strcmp(get(r, "N"), N[w]) || !own) continue;
                print_point(text("prepare %s", N[w]), text("%d", lab), get(r, "dataset"),
                            number(r, "prepare_ms"));
                if (best && own < *best)
                    print_point(text("earned %s", N[w]), text("%d", lab), get(r, "dataset"),
                                number(r, "prepare_ms") / (*best - own));
            }
        }
    }
    for (long i = 0; i < rows.count; i++) {
        const row_of r = rows.row[i];
        if (!lab_of(r) && time_of_row(r) && !strcmp(get(r, "contender"), get(r, "vendor_best")))
            print_point(text("prepare %s", get(r, "N")), "best", get(r, "dataset"),
                        number(r, "prepare_ms"));
    }
    if (*little)
        fprintf(out, "word\tlittle\tlabs %s prepare next to nothing: in the median below %g ms\n",
                little, LITTLE_MS);
}

/* SDDMM and density: the fastest lab of each problem, and one layer's times against its zeros. A problem's name
 * is "K DATASET". */
static void sddmm_density(figure *g)
{
    static const char *const FILES[] = {"sddmm.csv", "sddmm-rnn.csv", "sddmm-sparsity.csv",
                                        "sddmm-dlmc-like.csv"};
    enum { CHOOSES = 99 }; /* has no kernel of its own */
    const wanted plain = {.plain = true};
    numbers fastest = {0}, winner = {0}, density = {0}, zeros = {0}, dense = {0};
    for (int f = 0; f < 4; f++) {
        const rows_taken rows = find_rows(g, FILES[f], &plain);
        for (long i = 0; i < rows.count; i++) {
            const row_of r = rows.row[i];
            const double ms = time_of_row(r);
            const int lab = lab_of(r);
            const char *key = text("%s" KEY "%s", get(r, "N"), get(r, "dataset"));
            if (!ms || !lab || lab == CHOOSES) continue;
            double *least = numbers_at(&fastest, key, INFINITY);
            if (ms >= *least) continue;
            *least = ms;
            *numbers_at(&winner, key, 0) = lab;
            *numbers_at(&density, key, 0) =
                100 * number(r, "nnz") / (number(r, "rows") * number(r, "cols"));
        }
    }
    if (!fastest.key.count)
        refuse(STATUS_DATASET, "no times of labs in sddmm.csv, sddmm-rnn.csv, sddmm-sparsity.csv, "
                               "sddmm-dlmc-like.csv");
    for (long i = 0; i < fastest.key.count; i++)
        print_point(
            "winners", text("%.0f", winner.value[i]),
            text("%s %s", key_part(fastest.key.name[i], 0), key_part(fastest.key.name[i], 1)),
            density.value[i]);
    for (long i = 0; i < fastest.key.count;
         i++) /* in the order of the rows, for points that hide each other */
        print_point(
            "problems", "density",
            text("%s %s", key_part(fastest.key.name[i], 0), key_part(fastest.key.name[i], 1)),
            density.value[i]);

    const rows_taken rows = take_rows(g, "sddmm-sparsity.csv", plain);
    const times t = times_of(&rows, NULL);
    if (!is_timed(&t, "best"))
        refuse(STATUS_DATASET, "no times of cuSPARSE's best among sddmm-sparsity.csv");
    for (long i = 0; i < rows.count; i++) {
        const row_of r = rows.row[i];
        const double ms = time_of_row(r);
        *numbers_at(&zeros, get(r, "dataset"), 0) =
            100 - 100 * number(r, "nnz") / (number(r, "rows") * number(r, "cols"));
        if (!ms || !strstr(get(r, "contender"), "(dense)")) continue;
        double *own = numbers_at(&dense, text("dense" KEY "%s", get(r, "dataset")), ms);
        if (ms < *own) *own = ms;
    }
    for (int lab = 0; (lab = next_lab(&t, lab));) {
        const line own = line_of(&t.ms, text("%d", lab), &t.graphs, &zeros);
        print_line("layer", text("%d", lab), &own);
    }
    const line best = line_of(&t.ms, "best", &t.graphs, &zeros);
    const line products = line_of(&dense, "dense", &t.graphs, &zeros);
    print_line("layer", "best", &best);
    print_line("layer", "dense", &products);
    const row_of first = rows.row[0];
    fprintf(out, "word\tlayer\t%s x %s weights; K = %s\n", get(first, "rows"), get(first, "cols"),
            get(first, "N"));
}

/* Throughput on pruned layers, in TFLOP/s: layers by their nonzeros, those without any left out. */
static void dlmc(figure *g)
{
    static const char *const WHO[] = {"5", "6", "7", "99", "best"};
    const rows_taken rows = take_rows(g, "spmm-dlmc.csv", (wanted){.plain = true});
    const char *limits = text("%s/limits.tsv", g->folder);
    char *files[] = {(char *)limits};
    if (!is_readable(limits)) refuse(STATUS_DATASET, "no %s", limits);
    const study *machine = study_read(&(request){.files = files, .count = 1}, false);
    const double *peak = numbers_find(&machine->limit, "fp32_gflops");
    if (!peak) refuse(STATUS_DATASET, "%s: no fp32_gflops", limits);
    names_add(&g->notes, "limits of limits.tsv");
    const published p = read_published(g, "E2.4");
    const times all = times_of(&rows, NULL);
    names layers = {0}, empty = {0};
    numbers nnz = {0};
    texts label = {0};
    for (long i = 0; i < rows.count; i++) {
        const row_of r = rows.row[i];
        const char *dataset = get(r, "dataset");
        const double rows_of_A = number(r, "rows"), cols = number(r, "cols");
        *numbers_at(&nnz, dataset, 0) = number(r, "nnz");
        names_add(number(r, "nnz") > 0 ? &layers : &empty, dataset);
        size_t count;
        char **part = parts_of(dataset, '_', &count);
        *texts_at(&label, dataset) =
            text("%s, %s\\n%.0f x %.0f, %.0f %%", part[0], count > 1 ? part[1] : "", rows_of_A,
                 cols, 100 * (1 - number(r, "nnz") / (rows_of_A * cols)));
    }
    names order = {0}; /* by nonzeros; of as many in the order of the rows */
    while (order.count < layers.count) {
        const char *least = NULL;
        for (long i = 0; i < layers.count; i++)
            if (names_find(&order, layers.name[i]) == NONE &&
                (!least || *numbers_find(&nnz, layers.name[i]) < *numbers_find(&nnz, least)))
                least = layers.name[i];
        names_add(&order, least);
        fprintf(out, "graph\tall\t%s\t%s\n", least, texts_find(&label, least));
    }
    long count;
    char **N = widths_of(&rows, &count);
    for (long w = 0; w < count; w++) {
        const times t = times_of(&rows, N[w]);
        if (!is_timed(&t, "best"))
            refuse(STATUS_DATASET, "no times of cuSPARSE's best among spmm-dlmc.csv");
        for (int k = 0; k < 5; k++) {
            mean m = {0};
            for (long i = 0; i < all.graphs.count; i++) {
                const char *layer = all.graphs.name[i];
                const double *ms = ms_of(&t, WHO[k], layer), *best = ms_of(&t, "best", layer);
                if (!ms || names_find(&layers, layer) == NONE) continue;
                print_point(N[w], WHO[k], layer,
                            2e-9 * *numbers_find(&nnz, layer) * atoi(N[w]) / *ms);
                if (best) mean_add(&m, *best / *ms);
            }
            print_mean(N[w], WHO[k], &m);
        }
    }
    print_point("limits", "peak", "fp32", *peak / 1000);
    for (long i = 0; i < p.value.key.count; i++)
        print_point("limits", "published", key_part(p.value.key.name[i], 2),
                    strtod(p.value.value[i], NULL));
    fprintf(out, "word\tempty\t%ld\n", empty.count);
}

static const struct {
    const char *name;
    void (*run)(figure *g);
} FIGURES[] = {
    {"dense", dense},
    {"dlmc", dlmc},
    {"error", error_bars},
    {"gather_limit", gather_limit},
    {"choice", choice},
    {"precision", precision},
    {"predictions", predictions},
    {"prepare", prepare},
    {"published_course", published_course},
    {"rnn", rnn},
    {"sddmm_beside_spmm", sddmm_beside_spmm},
    {"sddmm_density", sddmm_density},
    {"sparsity", sparsity},
    {"speedups", speedups},
};

enum status run_series(const request *q)
{
    const char *name = option(q, "", "");
    for (size_t i = 0; i < sizeof FIGURES / sizeof *FIGURES; i++) {
        if (!strcmp(name, "list")) fprintf(out, "%s\n", FIGURES[i].name);
        if (strcmp(name, FIGURES[i].name)) continue;
        if (q->count != 2) refuse(STATUS_USAGE, "usage: rows series FIGURE FOLDER PUBLISHED.tsv");
        figure g = {.folder = q->files[0], .published_path = q->files[1]};
        FIGURES[i].run(&g);
        print_small_print(&g);
        return STATUS_OK;
    }
    if (strcmp(name, "list"))
        refuse(STATUS_USAGE, "no figure '%s' (rows series list names them)", name);
    return STATUS_OK;
}
