#include "harness/tuning.h"

#include "harness/tuning_cache.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Whether `text`, as tuning_text writes it, has a setting of that name. */
static bool has_setting(const char *text, const char *name)
{
    const size_t length = strlen(name);
    for (const char *at = text; (at = strstr(at, name)); at += length)
        if ((at == text || at[-1] == ' ') && at[length] == '=') return true;
    return false;
}

void tuning_add_text(const contender *c, const int *tuning, char *text, size_t bytes)
{
    size_t used = strlen(text);
    for (int i = 0; i < contender_num_tunables(c) && used < bytes; i++) {
        const char *name = c->tunables[i].name;
        char value[24];
        if (has_setting(text, name)) continue;
        tunable_write(&c->tunables[i], tuning[i], value, sizeof value);
        used += snprintf(text + used, bytes - used, "%s%s=%s", used ? " " : "", name, value);
    }
}

void tuning_text(const contender *c, const int *tuning, char *text, size_t bytes)
{
    text[0] = 0;
    tuning_add_text(c, tuning, text, bytes);
}

/* Whether --set gives this tunable a value; *value becomes it. */
static bool is_fixed(const options *o, const tunable *t, int *value)
{
    for (int i = 0; i < o->num_settings; i++)
        if (!strcmp(o->settings[i].name, t->name) && tunable_read(t, o->settings[i].value, value))
            return true;
    return false;
}

static void apply_settings(const contender *c, const options *o, int *tuning)
{
    for (int i = 0; i < contender_num_tunables(c); i++)
        is_fixed(o, &c->tunables[i], &tuning[i]);
}

void tuning_knobs(problem *p, const options *o)
{
    for (int i = 0; i < MAX_KNOBS && p->operation->knobs[i].name; i++)
        is_fixed(o, &p->operation->knobs[i], &p->knobs[i]);
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
        int at = 0, fixed;
        if (t->prepare_only || is_fixed(o, t, &fixed)) continue;
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

/* The fastest so far that came out right. */
typedef struct fastest {
    double ms;
    int tuning[MAX_TUNABLES];
} fastest;

static void measure(workbench *w, const contender *c, const int *candidate, fastest *best)
{
    outcome out;
    workbench_evaluate(w, c, candidate, &out);
    if (out.status != STATUS_OK || !(out.timing.median_ms < best->ms)) return;
    best->ms = out.timing.median_ms;
    memcpy(best->tuning, out.tuning, sizeof best->tuning);
}

/* Measures every combination, or the contender's short list after its own choice, which tuning[] is, on
 * the workbench; leaves tuning[] alone if none came out right. */
static bool measure_all(workbench *w, const contender *c, int *tuning)
{
    const options *asked = w->options;
    options brief = *asked; /* one check, after a few runs */
    brief.check = false;
    brief.runs = 7;
    w->options = &brief;
    fastest best = {.ms = INFINITY};
    int candidate[MAX_TUNABLES];
    if (c->shortlist) {
        measure(w, c, tuning, &best);
        for (int i = 0; i < c->num_shortlisted; i++) {
            memcpy(candidate, c->shortlist[i], sizeof candidate);
            apply_settings(c, asked, candidate);
            measure(w, c, candidate, &best);
        }
    } else {
        tuning_first(c, asked, candidate);
        do
            measure(w, c, candidate, &best);
        while (tuning_next(c, asked, candidate));
    }
    w->options = asked;
    if (isfinite(best.ms)) memcpy(tuning, best.tuning, contender_num_tunables(c) * sizeof *tuning);
    return isfinite(best.ms);
}

/* Says once why a choice will have to be measured again. */
static void remember(const workbench *w, const contender *c, const int *tuning)
{
    static bool said;
    error_text error;
    if (tuning_remember(w, c, tuning, &error) == STATUS_OK || said) return;
    fprintf(stderr, "--tune: not remembered, so the next run measures again: %s\n", error.text);
    said = true;
}

void tuning_choose(workbench *w, const contender *c, int *tuning)
{
    c->operation->choose(c, w->problem, tuning);
    apply_settings(c, w->options, tuning);
    if (!w->options->tune || contender_untimed(c) || !contender_num_tunables(c)) return;
    if (!tuning_recall(w, c, tuning) && measure_all(w, c, tuning)) remember(w, c, tuning);
}
