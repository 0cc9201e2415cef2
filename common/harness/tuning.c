#include "harness/tuning.h"

#include "harness/provenance.h"
#include "matrix/files.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char CACHE_FILE[] = "tuning.tsv";

void tuning_text(const contender *c, const int *tuning, char *text, size_t bytes)
{
    size_t used = 0;
    text[0] = 0;
    for (int i = 0; i < contender_num_tunables(c) && used < bytes; i++)
        used += snprintf(text + used, bytes - used, "%s%s=%d", i ? " " : "", c->tunables[i].name,
                         tuning[i]);
}

/* What a remembered choice depends on: the same words mean the same measurement. */
static void cache_key(const workbench *w, const contender *c, char *key, size_t bytes)
{
    const row_stats *s = &w->problem->stats;
    char flags[96];
    options_flags(w->options, flags, sizeof flags); /* with what --set fixes */
    snprintf(key, bytes, "%s|%s|%s|N=%d|%lldx%lld|nnz=%lld|max=%lld|cov=%.4f|%s|%s",
             w->device->name, provenance_commit(), c->name, w->problem->N, (long long)s->rows,
             (long long)s->cols, (long long)s->nnz, (long long)s->max, s->cov, flags,
             w->options->l2 == L2_COLD ? "cold" : "warm");
}

/* The last line of the cache with this key, as numbers. */
static bool recall(const char *key, int count, int *tuning)
{
    char path[4096], line[1024];
    bool found = false;
    FILE *in =
        cache_path(CACHE_FILE, path, sizeof path, NULL) == STATUS_OK ? fopen(path, "r") : NULL;
    if (!in) return false;
    while (fgets(line, sizeof line, in)) {
        char *at = strchr(line, '\t');
        if (!at || strlen(key) != (size_t)(at - line) || strncmp(line, key, at - line)) continue;
        int value[MAX_TUNABLES], n = 0;
        while (n < count && sscanf(at, "%d", &value[n]) == 1) {
            n++;
            at += strspn(at, "\t ");
            at += strcspn(at, "\t ");
        }
        if (n != count) continue;
        memcpy(tuning, value, count * sizeof *tuning);
        found = true;
    }
    fclose(in);
    return found;
}

/* Appends one line; a cache that cannot be written costs the next run a measurement, no more. */
static void remember(const char *key, int count, const int *tuning)
{
    char path[4096];
    FILE *out =
        cache_path(CACHE_FILE, path, sizeof path, NULL) == STATUS_OK ? fopen(path, "a") : NULL;
    if (!out) return;
    fputs(key, out);
    for (int i = 0; i < count; i++)
        fprintf(out, "\t%d", tuning[i]);
    fputc('\n', out);
    fclose(out);
}

/* The value --set gives this tunable, or NULL. */
static const int *fixed_value(const options *o, const tunable *t)
{
    for (int i = 0; i < o->num_settings; i++)
        if (!strcmp(o->settings[i].name, t->name) && tunable_takes(t, o->settings[i].value))
            return &o->settings[i].value;
    return NULL;
}

static void apply_settings(const contender *c, const options *o, int *tuning)
{
    for (int i = 0; i < contender_num_tunables(c); i++) {
        const int *fixed = fixed_value(o, &c->tunables[i]);
        if (fixed) tuning[i] = *fixed;
    }
}

void tuning_first(const contender *c, const options *o, int *tuning)
{
    for (int i = 0; i < contender_num_tunables(c); i++)
        tuning[i] = c->tunables[i].values[0];
    apply_settings(c, o, tuning);
}

bool tuning_next(const contender *c, const options *o, int *tuning)
{
    /* Counts as an odometer does, the last tunable running fastest. */
    for (int i = contender_num_tunables(c) - 1; i >= 0; i--) {
        const tunable *t = &c->tunables[i];
        int at = 0;
        if (t->prepare_only || fixed_value(o, t)) continue;
        while (t->values[at] != tuning[i])
            at++;
        if (at + 1 < t->num_values) {
            tuning[i] = t->values[at + 1];
            return true;
        }
        tuning[i] = t->values[0];
    }
    return false;
}

/* Measures every combination on the workbench; leaves tuning[] alone if none came out right. */
static bool measure_all(workbench *w, const contender *c, int *tuning)
{
    const options *asked = w->options;
    options brief = *asked; /* one check, after a few runs */
    brief.check = false;
    brief.runs = 7;
    w->options = &brief;
    double best = INFINITY;
    int candidate[MAX_TUNABLES];
    tuning_first(c, asked, candidate);
    do {
        outcome out;
        workbench_evaluate(w, c, candidate, &out);
        if (out.status == STATUS_OK && out.timing.median_ms < best) {
            best = out.timing.median_ms;
            memcpy(tuning, candidate, contender_num_tunables(c) * sizeof *tuning);
        }
    } while (tuning_next(c, asked, candidate));
    w->options = asked;
    return isfinite(best);
}

void tuning_choose(workbench *w, const contender *c, int *tuning)
{
    const int count = contender_num_tunables(c);
    c->operation->choose(c, w->problem, tuning);
    apply_settings(c, w->options, tuning);
    if (!w->options->tune || !count) return;
    char key[700];
    cache_key(w, c, key, sizeof key);
    if (!recall(key, count, tuning) && measure_all(w, c, tuning)) remember(key, count, tuning);
}
