/*
 * report.cc - what a failure looks like:
 *
 *     simt: error: deadlock: no thread of the block can go on
 *         in kernel reduce<256>, launched at labs/x/lab.cu:80 <<<(4,1,1), (256,1,1), 1024>>>
 *         block (2,0,0)
 *         warp 0 lanes 0x0000ffff wait in __shfl_sync at labs/x/lab.cu:31 for lanes 0xffff0000
 *         ...
 *
 * Printed on stderr once per failed launch, and kept for simt_last_report().
 */
#include "simt/simt.h"

#include <stdarg.h>

static char report[16384]; /* written under the launch lock */

extern "C" const char *simt_last_report(void)
{
    return report;
}

static void add(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void add(const char *format, ...)
{
    size_t used = strlen(report);
    va_list args;
    va_start(args, format);
    vsnprintf(report + used, sizeof report - used, format, args);
    va_end(args);
}

/* The lanes of `set` that wait for the same thing at the same place as its lowest one. */
static uint32_t waiting_alike(const warp *w, uint32_t set)
{
    const lane *first = w->lanes[lowest(set)];
    uint32_t alike = 0;
    for (uint32_t rest = set; rest; rest &= rest - 1) {
        const lane *t = w->lanes[lowest(rest)];
        if (t->site == first->site) alike |= t->bit;
    }
    return alike;
}

static void list_groups(const warp *w, uint32_t set, const char *function, uint32_t missing)
{
    while (set) {
        uint32_t alike = waiting_alike(w, set);
        char line[512];
        simt_source_line(w->lanes[lowest(set)]->site, line, sizeof line);
        add("    warp %u lanes 0x%08x wait in %s at %s", w->number, alike, function, line);
        if (missing) add(" for lanes 0x%08x", missing);
        add("\n");
        set &= ~alike;
    }
}

static void list_waiting(const worker *self)
{
    for (unsigned i = 0; i < self->warps_used; i++) {
        const warp *w = &self->warps[i];
        list_groups(w, w->at_barrier, "__syncthreads", 0);
        list_groups(w, w->at_mbarrier, "mbarrier.try_wait", 0);
        for (uint32_t open = w->open; open; open &= open - 1) {
            const meeting *m = &w->meetings[lowest(open)];
            list_groups(w, m->arrived, m->what->name,
                        m->mask & w->present & ~w->exited & ~m->arrived);
        }
        if (w->ready) add("    warp %u lanes 0x%08x can run\n", w->number, w->ready);
        if (w->fresh) add("    warp %u lanes 0x%08x have not started\n", w->number, w->fresh);
        if (w->exited) add("    warp %u lanes 0x%08x have exited\n", w->number, w->exited);
    }
}

void simt_report(worker *self)
{
    const failure &f = self->failed;
    const simt_launch_config &c = self->job->config;
    fflush(stdout);
    report[0] = 0;
    add("simt: error: %s\n", f.what);
    if (f.site && simt_is_kernel_code(f.site)) {
        char line[512];
        simt_source_line(f.site, line, sizeof line);
        add("    at %s\n", line);
    }
    add("    in kernel %s, launched at %s:%d <<<(%u,%u,%u), (%u,%u,%u), %zu>>>\n", c.name, c.file,
        c.line, c.grid.x, c.grid.y, c.grid.z, c.block.x, c.block.y, c.block.z,
        c.dynamic_shared_bytes);
    const uint3 block = simt_block_of(self, f.culprit);
    add("    block (%u,%u,%u)", block.x, block.y, block.z);
    if (f.culprit)
        add(" thread (%u,%u,%u) [warp %u lane %u]", f.culprit->thread.x, f.culprit->thread.y,
            f.culprit->thread.z, f.culprit->home->number, f.culprit->index);
    add("\n");
    if (f.show_waiting) list_waiting(self);
    if (!simt_observer || !simt_observer->failed(self)) fputs(report, stderr);
    simt_set_sticky_error(f.error);
}

/* ---- noting a failure ---------------------------------------------------------------------- */

static void note(worker *self, cudaError_t error, const char *format, va_list args)
{
    vsnprintf(self->failed.what, sizeof self->failed.what, format, args);
    self->failed.error = error;
}

void simt_note_failure(worker *self, cudaError_t error, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    note(self, error, format, args);
    va_end(args);
}

void simt_fail(cudaError_t error, const void *site, const char *format, ...)
{
    worker *self = simt_worker;
    self->failed.culprit = self->running;
    self->failed.site = site;
    va_list args;
    va_start(args, format);
    note(self, error, format, args);
    va_end(args);
    simt_leave(self->scheduler_sp);
}

void simt_fail_lane(cudaError_t error, const lane *culprit, const char *format, ...)
{
    worker *self = simt_worker;
    self->failed.culprit = culprit;
    self->failed.site = culprit->site;
    va_list args;
    va_start(args, format);
    note(self, error, format, args);
    va_end(args);
    simt_leave(self->scheduler_sp);
}

/* ---- failures the kernel itself declares --------------------------------------------------- */

extern "C" void simt_trap(void)
{
    simt_fail(cudaErrorLaunchFailure, SIMT_CALLER, "__trap() was called");
}

/* Takes the place of the C library's: in a kernel a failed assertion ends the launch, not the
 * process. */
extern "C" void __assert_fail(const char *assertion, const char *file, unsigned line,
                              const char *function) noexcept
{
    if (simt_worker && simt_worker->running)
        simt_fail(cudaErrorAssert, SIMT_CALLER, "assertion `%s' failed in %s (%s:%u)", assertion,
                  function ? function : "?", file, line);
    fprintf(stderr, "%s:%u: %s: Assertion `%s' failed.\n", file, line, function ? function : "?",
            assertion);
    abort();
}
