#include "harness/tuning.h"

#include "harness/tuning_cache.h"

#include <math.h>
#include <string.h>

void tuning_text(const contender *c, const int *tuning, char *text, size_t bytes)
{
    size_t used = 0;
    text[0] = 0;
    for (int i = 0; i < contender_num_tunables(c) && used < bytes; i++)
        used += snprintf(text + used, bytes - used, "%s%s=%d", i ? " " : "", c->tunables[i].name,
                         tuning[i]);
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

void tuning_choose(workbench *w, const contender *c, int *tuning)
{
    c->operation->choose(c, w->problem, tuning);
    apply_settings(c, w->options, tuning);
    if (!w->options->tune || !contender_num_tunables(c)) return;
    if (!tuning_recall(w, c, tuning) && measure_all(w, c, tuning)) tuning_remember(w, c, tuning);
}
