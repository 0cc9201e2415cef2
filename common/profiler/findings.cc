/*
 * findings.cc - what the checks and the runtime have found, each mistake once. A kernel makes a
 * mistake in every thread. So what has the same kind, kernel and source lines is one finding with a
 * count. The first occurrence is described.
 */
#include "profiler/checks.h"

#include <map>
#include <stdarg.h>
#include <tuple>
#include <vector>

static std::vector<finding> &findings = *new std::vector<finding>;

/* Finding numbers by kind, kernel and code addresses, all as pointers: an answer is wanted millions
 * of times. One line may be several code addresses, so a finding can have several keys. */
typedef std::tuple<const char *, const char *, const void *, const void *> key;
static std::map<key, size_t> &numbers = *new std::map<key, size_t>;

static key key_of(const char *kind, const access *a, const void *other)
{
    const bool ascending = a->site < other;
    return {kind, a->self->job->config.name, ascending ? a->site : other,
            ascending ? other : a->site};
}

static size_t latest; /* the number of the finding noted last */
static bool noted;    /* why the launch is being ended is among the findings */

bool finding_again(const char *kind, const access *a, const void *other)
{
    auto it = numbers.find(key_of(kind, a, other));
    if (it == numbers.end()) return false;
    latest = it->second;
    findings[latest].count++;
    return true;
}

/* Returns the source of code whose line nobody knows: where its kernel is launched. */
static void source_line(const void *site, const worker *self, char *text, size_t size)
{
    const simt_launch_config &c = self->job->config;
    if (!site || !simt_source_line(site, text, size)) snprintf(text, size, "%s:%d", c.file, c.line);
}

static void set_place(finding *f, const worker *self, const lane *who)
{
    const simt_launch_config &c = self->job->config;
    simt_kernel_name(c.kernel, c.name, f->kernel, sizeof f->kernel);
    const uint3 at = simt_block_of(self, who);
    const unsigned block[] = {at.x, at.y, at.z};
    memcpy(f->block, block, sizeof block);
    if (!who) return;
    const unsigned thread[] = {who->thread.x, who->thread.y, who->thread.z};
    memcpy(f->thread, thread, sizeof thread);
}

static bool same_mistake(const finding &a, const finding &b)
{
    if (strcmp(a.kind, b.kind) != 0 || strcmp(a.kernel, b.kernel) != 0) return false;
    return (!strcmp(a.where, b.where) && !strcmp(a.other, b.other)) ||
           (!strcmp(a.where, b.other) && !strcmp(a.other, b.where));
}

/* The number of the finding like `f`, which becomes one if there is none. */
static size_t keep(const finding &f)
{
    for (size_t i = 0; i < findings.size(); i++)
        if (same_mistake(findings[i], f)) {
            findings[i].count++;
            return i;
        }
    findings.push_back(f);
    return findings.size() - 1;
}

void finding_add(const char *kind, const access *a, const void *other, const char *advice,
                 const char *format, ...)
{
    if (finding_again(kind, a, other)) return;
    finding f = {};
    f.count = 1;
    snprintf(f.kind, sizeof f.kind, "%s", kind);
    snprintf(f.advice, sizeof f.advice, "%s", advice);
    source_line(a->site, a->self, f.where, sizeof f.where);
    if (other) source_line(other, a->self, f.other, sizeof f.other);
    set_place(&f, a->self, a->who);
    va_list args;
    va_start(args, format);
    vsnprintf(f.text, sizeof f.text, format, args);
    va_end(args);
    const size_t known = findings.size();
    latest = keep(f);
    numbers[key_of(kind, a, other)] = latest;
    /* racecheck hears of an atomic function after it was logged. */
    const bool logged = a->atomic && other;
    if (profiler.record && latest == known)
        record_finding(latest, a->who, log_noted(a->who) - logged);
}

void finding_partner(unsigned thread, const void *site)
{
    if (profiler.record) record_partner(latest, thread, site);
}

void finding_note(const char *kind, const char *kernel, const char *where, const char *advice,
                  const char *text)
{
    finding f = {};
    snprintf(f.kind, sizeof f.kind, "%s", kind);
    snprintf(f.kernel, sizeof f.kernel, "%s", kernel);
    snprintf(f.where, sizeof f.where, "%s", where);
    snprintf(f.advice, sizeof f.advice, "%s", advice);
    snprintf(f.text, sizeof f.text, "%s", text);
    keep(f);
}

void finding_ends_launch(cudaError_t error, const access *a)
{
    noted = true;
    const size_t own = latest;         /* logging may let other lanes run, which find theirs */
    if (profiler.count) log_access(a); /* the last one of the block, though it is never made */
    simt_fail(error, a->site, "%s: %s", findings[own].kind, findings[own].text);
}

size_t findings_list(const finding **all)
{
    *all = findings.data();
    return findings.size();
}

void findings_reset(void)
{
    findings.clear();
    numbers.clear();
}

/* ---- what the runtime finds ------------------------------------------------------------------ */

/* By a part of the report's first line; the first that fits. */
static const struct {
    const char *part, *kind, *advice;
} FAILURES[] = {
    {"barrier divergence", "divergent barrier",
     "every thread of the block must come to the same __syncthreads(): move it out of the branch"},
    {"deadlock", "deadlock",
     "somebody waits for a thread that waits elsewhere: every lane of a mask, every thread of a "
     "block "
     "must come to the same call"},
    {"is not in the mask", "wrong mask",
     "the mask must name every lane that makes the call, the caller too: use 0xffffffff where the "
     "whole warp calls, or compute the mask with __ballot_sync before the branch"},
    {"which has exited", "wrong mask",
     "lanes that return early are missing in later shuffles: let them go on with a value of 0"},
    {"which does not take part", "wrong mask",
     "a shuffle reads only from lanes of its mask: include the source lanes, or narrow `width`"},
    {"of its warp wait in", "wrong mask",
     "lanes that name each other must call the same function with the same mask: move the call out "
     "of "
     "the branch"},
    {"time limit", "time limit",
     "look for a loop whose end depends on what another thread has yet to write"},
    {"misaligned", "misaligned", "an address must be a multiple of the size of the access"},
    {"illegal address", "illegal address", "run with --memcheck to see which array was meant"},
    {"stack overflow", "stack overflow",
     "make local arrays smaller, or replace the recursion by a loop"},
    {"", "failure", "the same command without instruments prints the runtime's whole report"},
};

/* Somebody who waits, for a failure of the block as a whole. */
static const lane *first_waiting(const worker *self)
{
    for (unsigned i = 0; i < self->warps_used; i++) {
        const warp *w = &self->warps[i];
        uint32_t waiting = w->at_barrier;
        for (uint32_t open = w->open; open; open &= open - 1)
            waiting |= w->meetings[lowest(open)].arrived;
        if (waiting) return w->lanes[lowest(waiting)];
    }
    return nullptr;
}

/* Somebody who waits at another place than `who`. */
static const lane *waiting_elsewhere(const worker *self, const lane *who)
{
    for (unsigned i = 0; i < self->warps_used; i++) {
        const warp *w = &self->warps[i];
        uint32_t waiting = w->at_barrier;
        for (uint32_t open = w->open; open; open &= open - 1)
            waiting |= w->meetings[lowest(open)].arrived;
        for (; waiting; waiting &= waiting - 1) {
            const lane *t = w->lanes[lowest(waiting)];
            if (t != who && !simt_same_source_line(t->site, who->site)) return t;
        }
    }
    return nullptr;
}

void findings_failed(const worker *self)
{
    if (noted) {
        noted = false;
        return;
    }
    const failure &why = self->failed;
    auto known = FAILURES;
    while (!strstr(why.what, known->part))
        known++;
    const lane *who = why.culprit ? why.culprit : first_waiting(self);
    const lane *other = who && who->site ? waiting_elsewhere(self, who) : nullptr;
    const void *site = why.site ? why.site : who ? who->site : nullptr;
    finding f = {};
    f.count = 1;
    snprintf(f.kind, sizeof f.kind, "%s", known->kind);
    snprintf(f.advice, sizeof f.advice, "%s", known->advice);
    snprintf(f.text, sizeof f.text, "%.511s", why.what);
    source_line(site, self, f.where, sizeof f.where);
    if (other) source_line(other->site, self, f.other, sizeof f.other);
    set_place(&f, self, who);
    const size_t before = findings.size(), number = keep(f);
    if (!profiler.record || number != before || !who) return;
    /* Who waits has logged that it does, last of all. */
    record_finding(number, who, log_noted(who) - 1);
    if (other) record_partner(number, other->number, other->site);
}
