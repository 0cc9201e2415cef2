/*
 * tables.c - the report's tables, of Markdown; each ends with the origin of the rows behind its numbers.
 */
#include "rows/study.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *opt(const study *s, const char *name)
{
    return option(s->request, name, "");
}

/* Option `of`: the lab that a table is about. */
static const char *subject(const study *s)
{
    const char *of = option(s->request, "of", "lab99");
    if (!is_known(s, of)) nothing(s, "%s", of);
    return of;
}

/* ---- one lab ---------------------------------------------------------------------------------- */

/* The vendor's best algorithm of a problem. */
static const char *best_name(const study *s, const problem *p)
{
    const timing *t = timing_of(s, p, "best");
    return t ? short_name(t->contender) : "";
}

const char *dense_cell(study *s, const problem *p, const char *who)
{
    const double ms = time_of(s, p, who);
    if (!ms) return "-";
    const char *name = without(timing_of(s, p, who)->contender, "cuBLAS");
    while (*name == ' ')
        name++;
    size_t length = strlen(name);
    const char *ending = "(dense)";
    if (length >= strlen(ending) && !strcmp(name + length - strlen(ending), ending))
        length -= strlen(ending);
    while (length && name[length - 1] == ' ')
        length--;
    return text("%s (%.*s)", us(ms), (int)length, name);
}

static const char *over_cell(study *s, const problem *p, const char *who, double own)
{
    const double ms = time_of(s, p, who);
    return ms ? show_ratio(ms / own) : "-";
}

/* One lab beside the vendor, problem by problem. Options: of (lab99), behind=1: only the problems on which the
 * vendor's best algorithm is ahead; sparse=1: sparsity in place of names. */
static void cases(study *s)
{
    const char *of = subject(s);
    const bool sparse = *opt(s, "sparse"), dense = is_known(s, "dense"), tf32 = is_known(s, "tf32");
    long shown = 0;
    fprintf(out, "| %s | %s | %s, us | default, us | best, us (which) |",
            sparse ? "sparsity" : "matrix", common_width(s), heading(of));
    if (dense) fputs(" dense, us (which) |", out);
    if (tf32) fputs(" dense TF32, us (which) |", out);
    fprintf(out, " over default | over best |%s\n", dense ? " over dense |" : "");
    fprintf(out, "|%s|---:|---:|---:|---|%s%s---:|---:|%s\n", sparse ? "---:" : "---",
            dense ? "---|" : "", tf32 ? "---|" : "", dense ? "---:|" : "");
    for (long i = 0; i < s->problems; i++) {
        const problem *p = &s->problem[i];
        const timing *of_own = timing_of(s, p, of), *of_best = timing_of(s, p, "best");
        /* Takes problems with the default alone, too: no more is measured of the largest graphs. */
        if (!of_own || (!of_best && !timing_of(s, p, "default"))) continue;
        if (*opt(s, "behind") && (!of_best || of_best->ms >= of_own->ms)) continue;
        const double own = time_of(s, p, of);
        shown++;
        fprintf(out, "| %s | %s | %s | %s | %s |",
                sparse ? text("%.0f %%", 100 * (1 - p->density)) : p->label, p->N, us(own),
                us(time_of(s, p, "default")),
                of_best ? text("%s (%s)", us(time_of(s, p, "best")), best_name(s, p)) : "-");
        if (dense) fprintf(out, " %s |", dense_cell(s, p, "dense"));
        if (tf32) fprintf(out, " %s |", dense_cell(s, p, "tf32"));
        fprintf(out, " %s | %s |", over_cell(s, p, "default", own), over_cell(s, p, "best", own));
        if (dense) fprintf(out, " %s |", over_cell(s, p, "dense", own));
        putc('\n', out);
    }
    if (!shown) fputs("| none | | | | | | |\n", out);
}

/* The kernel that a lab's rule chose, without the operation's name. */
static const char *kernel_of(const timing *t, const char *operation)
{
    if (!starts_with(t->tuning, "KERNEL=")) return t->contender;
    const char *kernel = t->tuning + strlen("KERNEL=");
    return without(text("%.*s", (int)strcspn(kernel, " "), kernel), text("%s_", operation));
}

/* A ratio of a column, which enters the mean below. */
static const char *ahead_cell(mean *m, double other, double own)
{
    if (!other || !own) return "-";
    mean_add(m, other / own);
    return show_ratio(other / own);
}

static const char *mean_cell(const mean *m)
{
    return m->count ? text("%.2f, %ld of %ld", mean_of(m), m->ahead, m->count) : "-";
}

/* One lab, problem by problem: its time, the kernel behind it, its gather share, and how far it is ahead of the
 * vendor. Options: of (lab99); op, if the files hold several operations; beside, one of these: its time at the
 * same width, and ours over it. */
static void graphs(study *s)
{
    const char *of = subject(s), *op = opt(s, "op"), *beside = opt(s, "beside");
    mean over_default = {0}, over_best = {0}, twins = {0};
    fprintf(
        out,
        "| matrix | %s | %s, us | kernel | gather share | over default | over best (which) |%s\n",
        *op ? width_name(op) : common_width(s), heading(of),
        *beside ? text(" %s, us | %s over it |", beside, op) : "");
    fprintf(out, "|---|---:|---:|---|---:|---:|---|%s\n", *beside ? "---:|---:|" : "");
    for (long i = 0; i < s->problems; i++) {
        const problem *p = &s->problem[i];
        const double own = time_of(s, p, of);
        if (!own || (*op && strcmp(p->operation, op))) continue;
        const timing *t = timing_of(s, p, of);
        fprintf(out, "| %s | %s | %s | %s | %s |", p->label, p->N, us(own), kernel_of(t, op),
                *t->gather_share ? text("%.0f %%", 100 * strtod(t->gather_share, NULL)) : "-");
        const double best = time_of(s, p, "best");
        fprintf(out, " %s |", ahead_cell(&over_default, time_of(s, p, "default"), own));
        fprintf(out, " %s |",
                best ? text("%s (%s)", ahead_cell(&over_best, best, own), best_name(s, p)) : "-");
        if (*beside) {
            const double other = time_of(s, twin_of(s, p, beside), of);
            if (other) mean_add(&twins, own / other);
            fprintf(out, " %s | %s |", us(other), other ? text("%.2f", own / other) : "-");
        }
        putc('\n', out);
    }
    fprintf(out, "| geometric mean, ahead | | | | | %s | %s |", mean_cell(&over_default),
            mean_cell(&over_best));
    if (*beside) fprintf(out, " | %s |", twins.count ? text("%.2f", mean_of(&twins)) : "-");
    putc('\n', out);
}

/* The runs after which `of` with its preparation is ahead of `other` with its own. */
static const char *paid(study *s, const problem *p, const char *of, const char *other)
{
    if (!time_of(s, p, other)) return "-";
    const timing *own = timing_of(s, p, of), *their = timing_of(s, p, other);
    const double saved = their->ms - own->ms, cost = own->prepare_ms - their->prepare_ms;
    if (saved <= 0) return cost < 0 ? "at first" : "never";
    return cost <= 0 ? "1" : text("%.0f", floor(cost / saved) + 1);
}

/* The cost of preparing, and after how many products it has paid. Options: of (lab99). */
static void prepare(study *s)
{
    const char *of = subject(s);
    fprintf(out,
            "| matrix | %s | prepare of %s, ms | its product, ms | prepare, in products | best of "
            "cuSPARSE"
            " | its prepare, ms | runs to be ahead of default | runs to be ahead of best |\n"
            "|---|---:|---:|---:|---:|---|---:|---:|---:|\n",
            common_width(s), heading(of));
    for (long i = 0; i < s->problems; i++) {
        const problem *p = &s->problem[i];
        const double own = time_of(s, p, of);
        if (!own) continue;
        const timing *t = timing_of(s, p, of), *best = timing_of(s, p, "best");
        fprintf(out, "| %s | %s | %.3f | %.4f | %.1f | %s | %.3f | %s | %s |\n", p->label, p->N,
                t->prepare_ms, own, t->prepare_ms / own, best_name(s, p),
                best ? best->prepare_ms : 0, paid(s, p, of, "default"), paid(s, p, of, "best"));
    }
}

/* ---- all labs --------------------------------------------------------------------------------- */

static void speedup_line(study *s, const char *lab, const char *kind, const char *N, bool dense)
{
    const char *who = text("lab%s", lab);
    const comparison best = compare_on(s, who, "best", kind, N);
    if (!best.ratio.count) return;
    const char *where = *N ? may_break(best.least_at->dataset) : problem_name(best.least_at);
    fprintf(out, "| %s | %s | %s | %ld | **%s** | %s, %s | %s | %ld |", lab, kind, *N ? N : "all",
            best.ratio.count, show_ratio(mean_of(&best.ratio)), show_ratio(best.ratio.least), where,
            show_ratio(best.ratio.most), best.ratio.ahead);
    const mean standard = compare_on(s, who, "default", kind, N).ratio;
    fprintf(out, " %s | %ld |", show_ratio(mean_of(&standard)), standard.ahead);
    if (dense) {
        const mean m = compare_on(s, who, "dense", kind, N).ratio;
        if (m.count)
            fprintf(out, " %s | %ld |", show_ratio(mean_of(&m)), m.ahead);
        else
            fputs(" - | - |", out);
    }
    putc('\n', out);
}

/* Labs beside the vendor: geometric means over the problems of each kind and width. Options: labs (as in 5,6,10;
 * all that are known otherwise), dense=1: also beside the dense product. */
static void speedups(study *s)
{
    const char *labs = opt(s, "labs");
    const bool dense = *opt(s, "dense");
    names kinds = {0};
    size_t count;
    if (!s->problems) nothing(s, "plain runs beside the vendor");
    for (int lab = 1; !*opt(s, "labs") && lab <= s->last_lab; lab++)
        if (is_known(s, text("lab%d", lab))) labs = text("%s%s%d", labs, *labs ? "," : "", lab);
    fprintf(out,
            "| lab | problems | %s | cases | over best | least, on | most | ahead | over default | "
            "ahead |%s\n"
            "|---:|---|---:|---:|---:|---|---:|---:|---:|---:|%s\n",
            common_width(s), dense ? " over dense | ahead |" : "", dense ? "---:|---:|" : "");
    for (long i = 0; i < s->problems; i++)
        names_add(&kinds, s->problem[i].kind);
    char **lab = parts_of(labs, ',', &count);
    for (long k = 0; k < kinds.count; k++)
        for (size_t i = 0; i < count; i++) {
            for (long w = 0; w < s->widths.count; w++)
                speedup_line(s, lab[i], kinds.name[k], s->widths.name[w], dense);
            if (s->widths.count > 1) speedup_line(s, lab[i], kinds.name[k], "", dense);
        }
}

/* How far a stand-in is from the graph it stands for: everybody's time on the one over that on the other, where
 * both were measured. */
static void stand_ins(study *s)
{
    names who = {0};
    long shown = 0;
    for (int lab = 1; lab <= s->last_lab; lab++)
        if (is_known(s, text("lab%d", lab))) names_add(&who, text("lab%d", lab));
    names_add(&who, "default");
    names_add(&who, "best");
    fprintf(out,
            "| graph | %s | timed | real, us | stand-in, us | stand-in over real |\n"
            "|---|---:|---|---:|---:|---:|\n",
            common_width(s));
    for (long i = 0; i < s->problems; i++) {
        const problem *p = &s->problem[i];
        /* A stand-in is asked for by this prefix where the real graph is there. */
        const char *graph = without(p->dataset, "stand-in:");
        const problem *real =
            problem_find(s, text("%s" KEY "%s" KEY "real" KEY "%s", graph, p->N, p->operation));
        if (strcmp(p->origin, "stand-in") || !real) continue;
        for (long j = 0; j < who.count; j++) {
            const char *own = who.name[j];
            if (!timing_of(s, real, own) || !timing_of(s, p, own)) continue;
            const double a = time_of(s, real, own), b = time_of(s, p, own);
            shown++;
            fprintf(out, "| %s | %s | %s | %s | %s | %.2f |\n", graph, p->N,
                    starts_with(own, "lab") ? heading(own) : text("cuSPARSE %s", own), us(a), us(b),
                    b / a);
        }
    }
    if (!shown) nothing(s, "a real graph and its stand-in");
}

/* A lab at every width that was measured, matrix by matrix, and how far it is ahead of another. Options: of,
 * over. */
static void widths(study *s)
{
    const char *of = opt(s, "of"), *over = opt(s, "over"), *line = "|---|";
    names shown = {0};
    if (!is_known(s, of)) nothing(s, "%s", of);
    fputs("| matrix |", out);
    for (long w = 0; w < s->widths.count; w++) {
        fprintf(out, " %s = %s, us | over %s |", common_width(s), s->widths.name[w], heading(over));
        line = text("%s---:|---:|", line);
    }
    fprintf(out, "\n%s\n", line);
    for (long i = 0; i < s->problems; i++) {
        const problem *p = &s->problem[i];
        const char *matrix = text("%s" KEY "%s" KEY "%s", p->dataset, p->origin, p->operation);
        if (!timing_of(s, p, of) || names_find(&shown, matrix) != NONE) continue;
        names_add(&shown, matrix);
        fprintf(out, "| %s |", p->label);
        for (long w = 0; w < s->widths.count; w++) {
            const problem *at = problem_find(s, text("%s" KEY "%s" KEY "%s" KEY "%s", p->dataset,
                                                     s->widths.name[w], p->origin, p->operation));
            const double own = time_of(s, at, of), other = time_of(s, at, over);
            fprintf(out, " %s | %s |", us(own),
                    !own    ? "-"
                    : other ? show_ratio(other / own)
                            : "not measured");
        }
        putc('\n', out);
    }
    fputs("| geometric mean, ahead |", out);
    for (long w = 0; w < s->widths.count; w++) {
        const mean m = compare_on(s, of, over, "", s->widths.name[w]).ratio;
        fprintf(out, " | %s |", mean_cell(&m));
    }
    putc('\n', out);
}

/* ---- settings --------------------------------------------------------------------------------- */

/* Geometric mean of took["key without"] over took["key with"], and the number of the keys; of those of a group
 * alone, if one is given. */
static const char *gain(const numbers *took, const names *keys, const char *without_it,
                        const char *with_it, const texts *groups, const char *group)
{
    mean m = {0};
    for (long i = 0; i < keys->count; i++) {
        const char *key = keys->name[i];
        if (groups && strcmp(texts_find(groups, key), group)) continue;
        const double *a = numbers_find(took, text("%s" KEY "%s", key, without_it));
        const double *b = numbers_find(took, text("%s" KEY "%s", key, with_it));
        if (a && b) mean_add(&m, *a / *b);
    }
    return m.count ? text("%.3f (%ld)", mean_of(&m), m.count) : "-";
}

static bool is_plain_or_swept(const char *flags)
{
    size_t count;
    char **flag = parts_of(flags, ';', &count);
    for (size_t i = 0; i < count; i++)
        if (starts_with(flag[i], "sweep")) return true;
    return !count;
}

/* The gain of the row swizzle for each kernel of lab 10, and how fast labs are that take rows as they come. Lab
 * 21's kernel has rows of an earlier form, which took an order of the rows as well. */
static void ablation(study *s)
{
    names kernels = {0}, problems = {0};
    numbers took = {0}, fastest = {0};
    for (int f = 0; f < s->files; f++)
        for (long row = 0; row < s->file[f]->count; row++) {
            const row_of r = {s->file[f], row};
            if (!is_ok(r) || !lab_of(r) || strcmp(get(r, "precision"), "fp32") ||
                strcmp(get(r, "l2"), "warm") || !is_plain_or_swept(get(r, "flags")))
                continue;
            const char *key = problem_key(r), *kernel = tuned_to(r, "KERNEL");
            const double ms = number(r, "median_ms");
            if (!*kernel) kernel = get(r, "contender");
            names_add(&kernels, kernel);
            names_add(&problems, key);
            *numbers_at(&took,
                        text("%s" KEY "%s" KEY "%d", key, kernel, atoi(tuned_to(r, "SWIZZLE"))),
                        0) = ms;
            double *best = numbers_at(&fastest, key, INFINITY);
            if (ms < *best) *best = ms;
            use_row(s, r);
        }
    if (!problems.count) nothing(s, "lab 10's kernels");
    fputs("| kernel | all rows by length (cases) | in windows of 4096 (cases) | without, share of "
          "the best"
          " setting |\n|---|---:|---:|---:|\n",
          out);
    for (long k = 0; k < kernels.count; k++) {
        const char *kernel = kernels.name[k], *plain = text("%s" KEY "0", kernel);
        mean share = {0};
        for (long i = 0; i < problems.count; i++) {
            const double *own = numbers_find(&took, text("%s" KEY "%s", problems.name[i], plain));
            if (own) mean_add(&share, *numbers_find(&fastest, problems.name[i]) / *own);
        }
        fprintf(out, "| %s | %s | %s | %s |\n", kernel,
                gain(&took, &problems, plain, text("%s" KEY "1", kernel), NULL, NULL),
                gain(&took, &problems, plain, text("%s" KEY "4096", kernel), NULL, NULL),
                share.count ? text("%.0f %%", 100 * mean_of(&share)) : "-");
    }
}

/* Remembers the words of a setting, of which those that all have in common stand once, below the table. */
static void learn(numbers *seen, const char *setting)
{
    size_t count;
    char **word = parts_of(setting, ' ', &count);
    for (size_t i = 0; i < count; i++)
        ++*numbers_at(seen, word[i], 0);
}

/* The words of a setting that not all have, or of all settings those that all have. */
static const char *select_words(const numbers *seen, const char *setting, double shown, bool common)
{
    size_t count;
    const char *chosen = "";
    char **word = parts_of(setting, ' ', &count);
    for (size_t i = 0; i < count; i++)
        if ((*numbers_find(seen, word[i]) == shown) == common)
            chosen = text("%s%s%s", chosen, *chosen ? " " : "", word[i]);
    return chosen;
}

/* The fastest of all settings of a sweep, beside the setting that a lab's rule chooses. Options: lab. */
static void sweep_table(study *s)
{
    numbers seen = {0};
    double shown = 0;
    bool ruled = false;
    if (!s->swept.count) nothing(s, "a sweep");
    for (long i = 0; i < s->swept.count; i++) {
        learn(&seen, s->sweep[i].setting);
        shown++;
        if (!rule_ms(s, &s->sweep[i])) continue;
        ruled = true;
        learn(&seen, rule_setting(s, &s->sweep[i]));
        shown++;
    }
    fprintf(out,
            "| case | settings | best setting | best, us |%s cuSPARSE best, us | best over it |\n",
            ruled ? " rule's setting | rule, us | rule's share |" : "");
    fprintf(out, "|---|---:|---|---:|%s---:|---:|\n", ruled ? "---|---:|---:|" : "");
    for (long i = 0; i < s->swept.count; i++) {
        const sweep *w = &s->sweep[i];
        const double share = rule_share(s, w);
        const double vendor = time_of(s, problem_find(s, w->key), "best");
        fprintf(out, "| %s (%s), %s | %ld | %s | %s |", key_part(w->key, 0), key_part(w->key, 2),
                key_part(w->key, 1), w->settings, select_words(&seen, w->setting, shown, false),
                us(w->ms));
        if (ruled)
            fprintf(out, " %s | %s | %s |",
                    share ? select_words(&seen, rule_setting(s, w), shown, false) : "not measured",
                    us(rule_ms(s, w)), share ? text("%.1f %%", 100 * share) : "-");
        fprintf(out, " %s | %s |\n", us(vendor), vendor ? show_ratio(vendor / w->ms) : "-");
    }
    const char *words = "";
    for (long i = 0; i < seen.key.count; i++)
        words = text("%s%s%s", words, i ? " " : "", seen.key.name[i]);
    const char *common = select_words(&seen, words, shown, true), *least_at = "";
    if (*common) fprintf(out, "\nIn all of them: %s.\n", common);
    const mean rule = judge_rule(s, &least_at);
    if (rule.count)
        fprintf(out,
                "\nThe rule's geometric mean over %ld cases is %.1f %% of the best setting; the "
                "least is "
                "%.1f %%, %s.\n",
                rule.count, 100 * mean_of(&rule), 100 * rule.least,
                problem_name(problem_find(s, least_at)));
    else
        fprintf(out, "\nWhat the lab's rule chooses was not measured: %s does.\n", s->measured_by);
}

/* The switches of a lab: NAME, its value with everything on, and the value it is turned to. */
enum { MAX_SWITCHES = 16 };
typedef struct switches {
    size_t count;
    const char *name[MAX_SWITCHES], *on[MAX_SWITCHES], *off[MAX_SWITCHES];
} switches;

static switches read_switches(const study *s)
{
    switches w = {0};
    size_t offs;
    char **on = parts_of(opt(s, "full"), ',', &w.count),
         **off = parts_of(opt(s, "off"), ',', &offs);
    if (w.count != offs || w.count > MAX_SWITCHES)
        refuse(STATUS_USAGE, "full=%s and off=%s: not the same switches", opt(s, "full"),
               opt(s, "off"));
    for (size_t i = 0; i < w.count; i++) {
        const size_t letters = strcspn(on[i], ":");
        if (strncmp(on[i], off[i], letters + 1) || !on[i][letters])
            refuse(STATUS_USAGE, "full=%s and off=%s: not the same switches", opt(s, "full"),
                   opt(s, "off"));
        w.name[i] = text("%.*s", (int)letters, on[i]);
        w.on[i] = on[i] + letters + 1;
        w.off[i] = off[i] + letters + 1;
    }
    return w;
}

/* The one switch that this row has turned off; "full" if none, "bare" if all; "" if some, or if one has another
 * value. */
static const char *turned(const switches *w, row_of r)
{
    const char *found = "full";
    size_t count = 0;
    for (size_t i = 0; i < w->count; i++) {
        const char *value = tuned_to(r, w->name[i]);
        if (!strcmp(value, w->on[i])) continue;
        if (strcmp(value, w->off[i])) return "";
        found = w->name[i];
        count++;
    }
    return count < 2 ? found : count == w->count ? "bare" : "";
}

/* The gain of each switch of a lab, and of all of them, per model and batch: rows of --sweep. Options: lab; and, as
 * NAME:VALUE,... of the same names: full, the settings with everything on, and off. */
static void switch_table(study *s)
{
    const switches w = read_switches(s);
    names groups = {0}, keys = {0};
    texts group_of = {0};
    numbers took = {0};
    for (int f = 0; f < s->files; f++)
        for (long row = 0; row < s->file[f]->count; row++) {
            const row_of r = {s->file[f], row};
            if (!is_swept_row(r) || strcmp(get(r, "lab"), opt(s, "lab"))) continue;
            const char *state = turned(&w, r), *key = problem_key(r), *dataset = get(r, "dataset");
            if (!*state) continue;
            const char *group =
                text("%.*s" KEY "%s", (int)strcspn(dataset, "."), dataset, get(r, "N"));
            names_add(&groups, group);
            names_add(&keys, key);
            *texts_at(&group_of, key) = group;
            *numbers_at(&took, text("%s" KEY "%s", key, state), 0) = number(r, "median_ms");
            use_row(s, r);
        }
    if (!groups.count) nothing(s, "lab %s with --sweep and all switches on but one", opt(s, "lab"));
    fprintf(out, "| model | %s |", common_width(s));
    for (size_t i = 0; i < w.count; i++)
        fprintf(out, " %s=%s instead of %s |", w.name[i], w.off[i], w.on[i]);
    fputs(" all of these |\n|---|---:|", out);
    for (size_t i = 0; i <= w.count; i++)
        fputs("---:|", out);
    putc('\n', out);
    for (long g = 0; g < groups.count; g++) {
        fprintf(out, "| %s | %s |", key_part(groups.name[g], 0), key_part(groups.name[g], 1));
        for (size_t i = 0; i < w.count; i++)
            fprintf(out, " %s |", gain(&took, &keys, w.name[i], "full", &group_of, groups.name[g]));
        fprintf(out, " %s |\n", gain(&took, &keys, "bare", "full", &group_of, groups.name[g]));
    }
}

/* ---- others ----------------------------------------------------------------------------------- */

/* Counters of the CPU backend beside ncu's, metric by metric. */
static void counters(study *s)
{
    numbers counted = {0}, within = {0}, informs = {0}, sum = {0}, worst = {0};
    for (int f = 0; f < s->files; f++)
        for (long row = 0; row < s->file[f]->count; row++) {
            const row_of r = {s->file[f], row};
            const char *metric = get(r, "metric"), *verdict = get(r, "verdict");
            const double off = fabs(strtod(get(r, "difference"), NULL));
            ++*numbers_at(&counted, metric, 0);
            *numbers_at(&within, metric, 0) += !strcmp(verdict, "within");
            if (!strcmp(verdict, "information"))
                ++*numbers_at(&informs, metric, 0);
            else {
                *numbers_at(&sum, metric, 0) += off;
                if (off > *numbers_at(&worst, metric, 0)) *numbers_at(&worst, metric, 0) = off;
            }
            use_row(s, r);
        }
    if (!counted.key.count) nothing(s, "counters of ncu (make validate-counters)");
    fputs("| counter | values | within tolerance | mean difference | largest difference |\n"
          "|---|---:|---:|---:|---:|\n",
          out);
    for (long i = 0; i < counted.key.count; i++) {
        const char *m = counted.key.name[i];
        const double judged = counted.value[i] - *numbers_at(&informs, m, 0);
        if (judged > 0)
            fprintf(out, "| %s | %.0f | %.0f | %.1f %% | %.1f %% |\n", m, judged,
                    *numbers_at(&within, m, 0), 100 * *numbers_at(&sum, m, 0) / judged,
                    100 * *numbers_at(&worst, m, 0));
    }
}

/* The files of rows that there are. */
static void files(study *s)
{
    long shown = 0;
    for (int f = 0; f < s->files; f++) {
        const table *t = s->file[f];
        names matrices = {0}, commits = {0}, origins = {0};
        long without_result = 0;
        if (names_find(&t->columns, "dataset") == NONE || names_find(&t->columns, "commit") == NONE)
            continue;
        for (long row = 0; row < t->count; row++) {
            const row_of r = {t, row};
            const char *status = get_or(r, "status", "ok");
            names_add(&matrices, get(r, "dataset"));
            names_add(&commits, get(r, "commit"));
            if (*get(r, "origin")) names_add(&origins, get(r, "origin"));
            without_result += strcmp(status, "ok") && strcmp(status, "sample");
            use_row(s, r);
        }
        if (!t->count) continue;
        if (!shown++)
            fputs("| file | rows | without a result | matrices | commits | data |\n"
                  "|---|---:|---:|---:|---:|---|\n",
                  out);
        const char *data = "";
        for (long i = 0; i < origins.count; i++)
            data = text("%s%s%s", data, i ? ", " : "", origins.name[i]);
        fprintf(out, "| %s | %ld | %ld | %ld | %ld | %s |\n", t->name, t->count, without_result,
                matrices.count, commits.count, data);
    }
    if (!shown) nothing(s, "any kind");
}

static const char *limit_cell(const study *s, const char *name, const char *format)
{
    const double *limit = numbers_find(&s->limit, name);
    char *cell = NULL;
    if (!limit) return "not measured";
    if (!strcmp(format, "TB/s"))
        cell = text("%.2f TB/s", *limit / 1000);
    else
        cell = text("%.1f TFLOP/s", *limit / 1000);
    return cell;
}

static const char *gather_cell(const study *s, int row_bytes, double span_bytes)
{
    const double *gbs = numbers_find(&s->gather, text("%d" KEY "%.0f", row_bytes, span_bytes));
    return gbs ? text("%.1f TB/s", *gbs / 1000) : "-";
}

/* The machine's rates, as ./limits measured them. */
static void machine(study *s)
{
    static const struct {
        const char *words, *name, *unit;
    } LIMITS[] = {
        {"copy in memory, bytes read and written", "copy_gbs", "TB/s"},
        {"reading memory", "read_gbs", "TB/s"},
        {"reading L2", "l2_read_gbs", "TB/s"},
        {"multiply-adds in fp32", "fp32_gflops", "TFLOP/s"},
        {"tensor cores, tf32", "tf32_gflops", "TFLOP/s"},
        {"tensor cores, fp16", "fp16_gflops", "TFLOP/s"},
        {"tensor cores, bf16", "bf16_gflops", "TFLOP/s"},
    };
    static const int MIB[] = {4, 32, 48, 64, 128, 512, 2048};
    if (!numbers_find(&s->limit, "copy_gbs")) nothing(s, "make limits");
    fputs("| limit | measured |\n|---|---:|\n", out);
    for (size_t i = 0; i < sizeof LIMITS / sizeof *LIMITS; i++)
        fprintf(out, "| %s | %s |\n", LIMITS[i].words,
                limit_cell(s, LIMITS[i].name, LIMITS[i].unit));
    const double *launch = numbers_find(&s->limit, "launch_us");
    fprintf(out, "| empty kernel between two events | %.1f us |\n", launch ? *launch : 0);
    for (size_t i = 0; i < sizeof MIB / sizeof *MIB; i++)
        fprintf(out, "| random rows of 128 and 512 bytes out of %d MiB | %s, %s |\n", MIB[i],
                gather_cell(s, 128, 1048576.0 * MIB[i]), gather_cell(s, 512, 1048576.0 * MIB[i]));
    fprintf(out,
            "\n<small>%s; measured by make limits, which writes no commit; rows of "
            "limits.tsv</small>\n",
            s->limits_device);
}

/* ---- tables that are commands as well: all rows of their files are their origin ------------------ */

static void use_all(study *s)
{
    for (int f = 0; f < s->files; f++)
        for (long row = 0; row < s->file[f]->count; row++)
            use_row(s, (row_of){s->file[f], row});
}

static void ladder_table(study *s)
{
    run_ladder(s->request);
    use_all(s);
}

static void dense_table(study *s)
{
    run_dense(s->request);
    use_all(s);
}

static void resources_table(study *s)
{
    run_resources(s->request);
    use_all(s);
}

static void predictions_table(study *s)
{
    run_predictions(s->request);
    use_all(s);
}

const calculation TABLES[] = {
    {"ablation", "", false, ablation},
    {"cases", "of behind sparse", true, cases},
    {"counters", "", false, counters},
    {"files", "", false, files},
    {"graphs", "of op beside", true, graphs},
    {"halves", "of over", true, halves_table},
    {"scaling", "of bus chunks weak", true, scaling_table},
    {"ranks", "of", true, ranks_table},
    {"machine", "", false, machine},
    {"networks", "by", false, networks_table},
    {"prepare", "of", true, prepare},
    {"rivals", "", true, rivals_table},
    {"speedups", "labs dense", true, speedups},
    {"stand_ins", "", true, stand_ins},
    {"sweep", "lab", true, sweep_table},
    {"switches", "lab full off", false, switch_table},
    {"transformer", "", false, transformer_table},
    {"transformer_crossings", "", false, transformer_crossings_table},
    {"transformer_parts", "", false, transformer_parts_table},
    {"transformer_rivals", "", false, transformer_rivals_table},
    {"transformer_sweep", "", false, transformer_sweep_table},
    {"widths", "of over", true, widths},
    {"ladder-table", "lab", false, ladder_table},
    {"dense-table", "", false, dense_table},
    {"resources-table", "", false, resources_table},
    {"compare-predictions", "summary", false, predictions_table},
    {NULL, NULL, false, NULL},
};
