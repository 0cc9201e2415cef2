/*
 * choices.c - how close the rule of a lab (lab=99) comes to an oracle that has tried every setting.
 *
 *     ./lab99 set:graphs 32,256 --vs none --csv rule.csv
 *     ./lab11 set:graphs 32,256 --vs none --sweep --csv sweep.csv
 *     rows choices rule.csv sweep.csv
 *
 * The sweep holds rows of the lab whose rule it is, or of all labs that the rule chooses among. A line a
 * case: the rule's setting and its time, the fastest setting and its time, and the second over the first as a
 * share. Where the sweep has the rule's setting too, that time is taken: of one sitting.
 */
#include "rows/choices.h"
#include "rows/rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Whether a flag only says how a row was measured, or fixes a setting: the tuning says what ran. */
static bool is_of_measuring(const char *flag, const char *tuning)
{
    static const char *const MEASURING = "sweep bench-only check-only";
    const size_t name = strcspn(flag, "=");
    if (is_among(flag, MEASURING, ' ') || starts_with(flag, "runs=")) return true;
    size_t count;
    char **word = parts_of(tuning, ' ', &count);
    for (size_t i = 0; flag[name] && i < count; i++)
        if (starts_with(word[i], text("%.*s=", (int)name, flag))) return true;
    return false;
}

/* All that a rule's row and those of a sweep have in common: "arxiv N=32", and what is not usual: the precision, a
 * cold L2, another seed, flags that make it another problem, as HEADS=4 does. */
static char *case_of(row_of r)
{
    const char *precision = get(r, "precision"), *seed = get_or(r, "seed", "1");
    char *name = text("%s %s=%s", get(r, "dataset"), width_name(operation_of(r)), get(r, "N"));
    if (strcmp(precision, "fp32")) name = text("%s %s", name, precision);
    if (strcmp(get(r, "l2"), "warm")) name = text("%s %s", name, get(r, "l2"));
    if (strcmp(seed, "1")) name = text("%s seed=%s", name, seed);
    size_t count;
    char **flag = parts_of(get(r, "flags"), ';', &count);
    for (size_t i = 0; i < count; i++)
        if (!is_of_measuring(flag[i], get(r, "tuning"))) name = text("%s %s", name, flag[i]);
    return name;
}

choices choices_read(const char *rule, const char *sweep, int lab)
{
    choices c = {0};
    const char *operation = NULL;
    for (int file = 0; file < 2; file++) {
        table *t = table_read(file ? sweep : rule);
        for (long row = 0; row < t->count; row++) {
            const row_of r = {t, row};
            const double ms = time_of_row(r);
            if (file ? !lab_of(r) : lab_of(r) != lab) continue;
            if (!ms) continue;
            one_operation(&operation, r);
            const char *key = case_of(r);
            const char *setting = setting_of(get(r, "contender"), get(r, "tuning"));
            const char *chosen = texts_find(&c.rule, key);
            double *rule_ms = numbers_at(&c.rule_ms, key, ms);
            if (!file) {
                *texts_at(&c.rule, key) = setting;
                *rule_ms = ms;
                continue;
            }
            if (chosen && !strcmp(setting, chosen)) *rule_ms = ms;
            double *best = numbers_at(&c.best_ms, key, INFINITY);
            if (ms < *best) {
                *best = ms;
                *texts_at(&c.best, key) = setting;
            }
        }
    }
    return c;
}

double choices_share(const choices *c, const char *key)
{
    const double *best = numbers_find(&c->best_ms, key), *rule = numbers_find(&c->rule_ms, key);
    return !best || !texts_find(&c->rule, key) ? 0 : *best < *rule ? *best / *rule : 1;
}

enum status run_choices(const request *q)
{
    const choices c = choices_read(q->files[0], q->files[1], atoi(option(q, "lab", "99")));
    mean share = {0};
    const char *where = NULL;
    fprintf(out, "%-24s %9s %9s %7s  %s\n", "case", "rule ms", "best ms", "share", "rule | best");
    for (long i = 0; i < c.rule.key.count; i++) {
        const char *key = c.rule.key.name[i];
        const double own = choices_share(&c, key);
        if (!own) continue;
        if (own < (share.count ? share.least : 1)) where = key;
        mean_add(&share, own);
        fprintf(out, "%-24s %9.4f %9.4f %6.2f%%  %s | %s\n", key, *numbers_find(&c.rule_ms, key),
                *numbers_find(&c.best_ms, key), 100 * own, c.rule.value[i],
                texts_find(&c.best, key));
    }
    if (!share.count) refuse(STATUS_DATASET, "no case is in both files with a time");
    fprintf(out,
            "geometric mean of %ld cases: %.1f %% of the oracle (goal: 97 %%); worst %.1f %%%s%s\n",
            share.count, 100 * mean_of(&share), 100 * share.least, where ? ", " : "",
            where ? where : "");
    return STATUS_OK;
}
