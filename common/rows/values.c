/*
 * values.c - single numbers of the report, and of whoever asks: rows value speedup of=lab5 over=default spmm.csv
 */
#include "rows/networks.h"
#include "rows/study.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *opt(const study *s, const char *name)
{
    return option(s->request, name, "");
}

static bool asks(const study *s, const char *stat)
{
    return !strcmp(opt(s, "stat"), stat);
}

/* Ends the program where fewer cases than option `need` were measured: then they say nothing yet. */
static void check_need(const study *s, long cases)
{
    const long need = atol(opt(s, "need"));
    if (cases < need)
        refuse(STATUS_DATASET, "only %ld of %ld cases; %s measures them", cases, need,
               s->measured_by);
}

/* A ratio's mean, or what option `stat` asks for (geomean, least, most, ahead, percent: of the cases, ahead). */
static void print_ratio(const study *s, const mean *m)
{
    if (asks(s, "ahead"))
        fprintf(out, "%ld of %ld\n", m->ahead, m->count);
    else if (asks(s, "percent"))
        fprintf(out, "%.0f %%\n", 100.0 * (double)m->ahead / (double)m->count);
    else
        fprintf(out, "%.2f\n",
                asks(s, "least")  ? m->least
                : asks(s, "most") ? m->most
                                  : mean_of(m));
}

/* One number of a comparison. Options: of, over, stat (as above), need (the number of cases that it takes to say
 * anything). */
static void speedup(study *s)
{
    const mean m = compare_on(s, opt(s, "of"), opt(s, "over"), "", "").ratio;
    if (!m.count) nothing(s, "%s beside %s", opt(s, "of"), opt(s, "over"));
    check_need(s, m.count);
    print_ratio(s, &m);
}

/* The time of an operation over that of another, on the same matrix at the same width. Options: of and op, over
 * and other (a lab of each operation), stat (geomean, most), need. */
static void beside(study *s)
{
    mean m = {0};
    for (long i = 0; i < s->problems; i++) {
        const problem *p = &s->problem[i], *twin = twin_of(s, p, opt(s, "other"));
        if (strcmp(p->operation, opt(s, "op")) || !time_of(s, p, opt(s, "of")) ||
            !time_of(s, twin, opt(s, "over")))
            continue;
        mean_add(&m, time_of(s, p, opt(s, "of")) / time_of(s, twin, opt(s, "over")));
    }
    if (!m.count) nothing(s, "%s beside %s", opt(s, "op"), opt(s, "other"));
    check_need(s, m.count);
    fprintf(out, "%.2f\n", asks(s, "most") ? m.most : mean_of(&m));
}

/* The files' rows of networks. */
static network_cases networks_of(const study *s)
{
    network_cases c = {0};
    for (int f = 0; f < s->files; f++)
        networks_read(&c, s->file[f]);
    return c;
}

/* The step of a network on others' kernels over that of the suite's. Options: over (sparse: the vendor's fastest; dense),
 * part (step, or a part of it, as move; both must have it), stat, need. */
static void network(study *s)
{
    const network_cases c = networks_of(s);
    const char *part = option(s->request, "part", "step");
    const bool is_dense = !strcmp(opt(s, "over"), "dense");
    mean m = {0};
    if (!is_dense && strcmp(opt(s, "over"), "sparse"))
        refuse(STATUS_USAGE, "over=%s: not sparse or dense", opt(s, "over"));
    for (long i = 0; i < c.count; i++) {
        const row_of own = c.at[i].suite,
                     rival = is_dense ? c.at[i].dense : network_sparse(&c.at[i], part);
        const double ms = network_ms(own, part), other = network_ms(rival, part);
        if (!ms || !other) continue;
        use_row(s, own);
        use_row(s, rival);
        mean_add(&m, other / ms);
    }
    if (!m.count) nothing(s, "networks beside %s ones, with %s_ms", opt(s, "over"), part);
    check_need(s, m.count);
    print_ratio(s, &m);
}

/* Whether a name is `word` when it is written in small letters, with one - for all that is no letter or digit. */
static bool is_spelt(const char *name, const char *word)
{
    for (; *name; word++) {
        if (isalnum((unsigned char)*name)) {
            if (*word != tolower((unsigned char)*name++)) return false;
            continue;
        }
        if (*word != '-') return false;
        while (*name && !isalnum((unsigned char)*name))
            name++;
    }
    return !*word;
}

/* The time of a rival's whole net over that of the suite's, in rows of apps/mobilenet. Rows of a run stand together, the
 * suite's net first. Options: over (the rival, as cublas-kernel), batch, widths (equal; pairs: the rival's net is another
 * one, of equal accuracy), stat, need. */
static void net(study *s)
{
    const bool is_of_pairs = !strcmp(opt(s, "widths"), "pairs");
    mean m = {0};
    for (int f = 0; f < s->files; f++) {
        row_of own = {NULL, 0};
        for (long row = 0; row < s->file[f]->count; row++) {
            const row_of r = {s->file[f], row};
            if (strcmp(get(r, "layer"), "all")) continue;
            if (!strcmp(get(r, "network"), "suite")) own = r;
            if (!own.table || !is_spelt(get(r, "network"), opt(s, "over")) ||
                strcmp(get(r, "batch"), opt(s, "batch")) || !*get(r, "ms") || !*get(own, "ms") ||
                (strcmp(get(r, "width"), get(own, "width")) != 0) != is_of_pairs)
                continue;
            use_row(s, own);
            use_row(s, r);
            mean_add(&m, number(r, "ms") / number(own, "ms"));
        }
    }
    if (!m.count) nothing(s, "nets beside %s at batch %s", opt(s, "over"), opt(s, "batch"));
    check_need(s, m.count);
    print_ratio(s, &m);
}

/* A part of the suite's step, in per cent of it. Options: part, stat (geomean, most), need. */
static void network_share(study *s)
{
    const network_cases c = networks_of(s);
    mean m = {0};
    for (long i = 0; i < c.count; i++) {
        const double ms = network_ms(c.at[i].suite, opt(s, "part"));
        if (!ms) continue;
        use_row(s, c.at[i].suite);
        mean_add(&m, ms / network_ms(c.at[i].suite, "step"));
    }
    if (!m.count) nothing(s, "networks with %s_ms", opt(s, "part"));
    check_need(s, m.count);
    fprintf(out, "%.1f %%\n", 100 * (asks(s, "most") ? m.most : mean_of(&m)));
}

/* The nearest that a product comes to its bound, the least time that is possible (common/results/bound.h): in per
 * cent of the time. Options: of. */
static void bound(study *s)
{
    double most = 0;
    for (long i = 0; i < s->problems; i++) {
        const timing *t = timing_of(s, &s->problem[i], opt(s, "of"));
        if (t && strtod(t->bound_share, NULL) > most) most = strtod(t->bound_share, NULL);
    }
    if (!most) nothing(s, "%s with a bound (make limits, scripts/rows-to-schema-2)", opt(s, "of"));
    fprintf(out, "%.0f %%\n", 100 * most);
}

/* A choice beside what could have been: the share of the fastest one's speed, in per cent. Options: of, among
 * (labs besides, as in 5,6,7; all that are known otherwise), stat (geomean, least). */
static void chosen(study *s)
{
    const char *among = opt(s, "among");
    size_t count;
    mean share = {0};
    for (int lab = 1; !*opt(s, "among") && lab <= s->last_lab; lab++)
        if (is_known(s, text("lab%d", lab))) among = text("%s%s%d", among, *among ? "," : "", lab);
    char **rival = parts_of(among, ',', &count);
    for (long i = 0; i < s->problems; i++) {
        const double own = time_of(s, &s->problem[i], opt(s, "of"));
        double fastest = own;
        if (!own) continue;
        for (size_t k = 0; k < count; k++) {
            const double ms = time_of(s, &s->problem[i], text("lab%s", rival[k]));
            if (ms && ms < fastest) fastest = ms;
        }
        mean_add(&share, fastest / own);
    }
    if (!share.count) nothing(s, "%s", opt(s, "of"));
    fprintf(out, "%.1f %%\n", 100 * (asks(s, "least") ? share.least : mean_of(&share)));
}

/* The least sparsity from which on `of` is ahead of `over` on every problem, in per cent. */
static void crossover(study *s)
{
    const char *of = opt(s, "of"), *over = opt(s, "over");
    double behind = 0, from_here = 0;
    long seen = 0;
    bool found = false;
    for (int pass = 0; pass < 2; pass++)
        for (long i = 0; i < s->problems; i++) {
            const problem *p = &s->problem[i];
            const double own = time_of(s, p, of), other = time_of(s, p, over);
            const double sparsity = 100 * (1 - p->density);
            if (!own || !other) continue;
            seen++;
            if (pass == 0 && own >= other && sparsity > behind) behind = sparsity;
            if (pass == 1 && sparsity > behind && (!found || sparsity < from_here)) {
                from_here = sparsity;
                found = true;
            }
        }
    if (!seen) nothing(s, "%s beside %s", of, over);
    fprintf(out, "%s\n", found ? text("%.0f %%", from_here) : "nowhere");
}

/* Whether a row has all of "model=13B,batch=16". */
static bool has_all(row_of r, const char *conditions)
{
    size_t count;
    char **list = parts_of(text("%s", conditions), ',', &count);
    for (size_t i = 0; i < count; i++) {
        char *value = strchr(list[i], '=');
        if (!value) refuse(STATUS_USAGE, "'%s' is no COLUMN=VALUE", list[i]);
        *value++ = '\0';
        if (!has(r, list[i]) || strcmp(get(r, list[i]), value)) return false;
    }
    return true;
}

/* The number in option `column` of the one row that has all of the conditions. */
static double cell_of(study *s, const char *conditions)
{
    const char *found = NULL;
    for (int f = 0; f < s->files; f++)
        for (long row = 0; row < s->file[f]->count; row++) {
            const row_of r = {s->file[f], row};
            if (!has_all(r, conditions)) continue;
            if (found) refuse(STATUS_DATASET, "two rows with %s", conditions);
            found = get(r, opt(s, "column"));
            use_row(s, r);
        }
    if (!found || !*found) nothing(s, "%s of %s", opt(s, "column"), conditions);
    char *end;
    const double number = strtod(found, &end);
    if (*end)
        refuse(STATUS_USAGE, "column %s of %s has '%s', no number", opt(s, "column"), conditions,
               found);
    return number;
}

/* A number of an application's rows. Options: column; row (COLUMN=VALUE, several with commas between); over, a row in
 * the same words, of any of the files, by whose number it is divided. */
static void cell(study *s)
{
    const double x = cell_of(s, opt(s, "row"));
    const double value = *opt(s, "over") ? x / cell_of(s, opt(s, "over")) : x;
    fprintf(out, fabs(value) < 100 ? "%.2f\n" : "%.0f\n", value);
}

/* Counts the cases in which a product takes at most `factor` times the gather limit. The harness has that in the
 * column gather_share (common/results/bound.h). Options: of, factor. */
static void gather(study *s)
{
    long cases = 0, near = 0;
    for (long i = 0; i < s->problems; i++) {
        if (!time_of(s, &s->problem[i], opt(s, "of"))) continue;
        const char *share = timing_of(s, &s->problem[i], opt(s, "of"))->gather_share;
        if (!*share) nothing(s, "%s with a gather_share (scripts/rows-to-schema-2)", opt(s, "of"));
        cases++;
        near += strtod(share, NULL) * strtod(opt(s, "factor"), NULL) >= 1;
    }
    if (!cases) nothing(s, "%s", opt(s, "of"));
    fprintf(out, "%ld of %ld\n", near, cases);
}

/* A measured limit of the machine, in its unit of limits.tsv. Options: name. */
static void limit(study *s)
{
    const double *value = numbers_find(&s->limit, opt(s, "name"));
    if (!value) nothing(s, "%s (make limits)", opt(s, "name"));
    fprintf(out, "%.1f\n", *value);
}

/* The highest rate of a lab on any problem, in per cent of the machine's fp32 peak. Options: of. */
static void peak(study *s)
{
    const double *fp32 = numbers_find(&s->limit, "fp32_gflops");
    double highest = 0;
    for (long i = 0; i < s->problems; i++) {
        const timing *t = timing_of(s, &s->problem[i], opt(s, "of"));
        if (t && t->gflops > highest) highest = t->gflops;
    }
    if (!highest || !fp32 || !*fp32) nothing(s, "%s and limits.tsv", opt(s, "of"));
    fprintf(out, "%.1f %%\n", 100 * highest / *fp32);
}

/* A number of report/published.tsv. Options: experiment, on (a matrix; geomean), N, setting, quantity; over: the
 * setting's time over that of another setting. */
static void published(study *s)
{
    const char *on = option(s->request, "on", "geomean"), *over = opt(s, "over");
    const char *place = text("%s" KEY "%s" KEY "%s", opt(s, "experiment"), on, opt(s, "N"));
    const char *value =
        texts_find(&s->published, text("%s" KEY "%s" KEY "%s", place, opt(s, "setting"),
                                       *over ? "time_s" : opt(s, "quantity")));
    const char *other = texts_find(&s->published, text("%s" KEY "%s" KEY "time_s", place, over));
    if (value && *value && *over && other)
        value = text("%.2f", strtod(value, NULL) / strtod(other, NULL));
    if (!value || !*value)
        refuse(STATUS_DATASET, "published.tsv has no %s of %s, N = %s, %s", opt(s, "experiment"),
               on, opt(s, "N"), opt(s, "setting"));
    fprintf(out, "%s\n", value);
}

/* The rule of a lab beside the fastest setting, in per cent. Options: lab, stat (geomean, least). */
static void rule(study *s)
{
    const char *least_at;
    const mean share = judge_rule(s, &least_at);
    if (!share.count) nothing(s, "lab %s as its rule chooses, and with --sweep", opt(s, "lab"));
    fprintf(out, "%.1f %%\n", 100 * (asks(s, "least") ? share.least : mean_of(&share)));
}

/* The number of rows in which a column has a value. Options: column, value, skip (a value that is not counted). */
static void share(study *s)
{
    long all = 0, found = 0;
    for (int f = 0; f < s->files; f++)
        for (long row = 0; row < s->file[f]->count; row++) {
            const char *cell = get((row_of){s->file[f], row}, opt(s, "column"));
            if (!strcmp(cell, opt(s, "skip"))) continue;
            all++;
            found += !strcmp(cell, opt(s, "value"));
        }
    if (!all) nothing(s, "%s", opt(s, "column"));
    fprintf(out, "%ld of %ld\n", found, all);
}

/* A time in us. Options: of, only and N so that they leave one problem. */
static void time_value(study *s)
{
    const double ms = s->problems == 1 ? time_of(s, &s->problem[0], opt(s, "of")) : 0;
    if (!ms) nothing(s, "%s on %s at N = %s", opt(s, "of"), opt(s, "only"), opt(s, "N"));
    fprintf(out, "%s\n", us(ms));
}

const calculation VALUES[] = {
    {"beside", "of op over other stat need", true, beside},
    {"bound", "of", true, bound},
    {"cell", "column row over", false, cell},
    {"chosen", "of among stat", true, chosen},
    {"crossover", "of over", true, crossover},
    {"gather", "of factor", true, gather},
    {"limit", "name", false, limit},
    {"net", "over batch widths stat need", false, net},
    {"network", "over part stat need", false, network},
    {"network_share", "part stat need", false, network_share},
    {"peak", "of", true, peak},
    {"published", "experiment on setting quantity over", false, published},
    {"rule", "lab stat", true, rule},
    {"share", "column value skip", false, share},
    {"speedup", "of over stat need", true, speedup},
    {"time", "of", true, time_value},
    {NULL, NULL, false, NULL},
};
