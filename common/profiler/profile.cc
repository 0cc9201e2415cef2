/*
 * profile.cc - the instruments as the harness sees them: what is traced and when, the sums for each
 * kernel and line.
 */
#include "profiler/checks.h"
#include "profiler/gpu_model.h"
#include "profiler/machine.h"
#include "profiler/predict.h"
#include "profiler/sample.h"

extern "C" {
#include "harness/progress.h"
#include "matrix/memory.h"
}
#include <algorithm>
#include <errno.h>
#include <new>
#include <string>
#include <unistd.h>
#include <vector>

profiler_state profiler;

/* Seconds of processor time that one block may run, unless SIMT_TIMEOUT says otherwise. It is traced some fifty times
 * as slowly as it would run: in this time one thread adds up some four thousand million
 * products. */
static const int TIMEOUT = 600;

/* Between `begin` and `end`. */
struct phase {
    bool open, in_prepare;
    void (*progress)(const char *kernel, double done);
    block_sample sample; /* the blocks of the current launch that are traced, ... */
    uint64_t traced;     /* ... and how many of them have been */
};
static phase now;

static const gpu_model *model;
static double share; /* of the blocks of each launch of `run` that is traced */
static std::vector<kernel_profile> &profiles = *new std::vector<kernel_profile>;

/* ---- memory ---------------------------------------------------------------------------------- */

/* A run that is noted in part tells nothing. So the process ends, also from inside a lane. */
[[noreturn]] static void end_without_memory(const char *but)
{
    progress_clear();
    fflush(stdout);
    fprintf(stderr,
            "%s: no memory left%s for what the instruments note (docs/counters.md says how much it "
            "is); try a smaller matrix, one instrument at a time, or a higher ulimit -v\n",
            program_invocation_short_name, but);
    _exit(STATUS_MEMORY);
}

void profiler_out_of_memory(void)
{
    end_without_memory("");
}

/* Linux grants more than there is, and kills who uses it. What is short may be back in a moment: some
 * other process ends, or the host of a virtual machine returns what it borrowed. */
static void check_memory(void)
{
    const int64_t least = 64 << 20;
    const int tries = 100, pause_us = 100000;
    for (int i = 0; memory_available() < least; i++) {
        if (i == tries) end_without_memory(" but the system's last 64 MB");
        usleep(pause_us);
    }
}

/* ---- one kernel's profile -------------------------------------------------------------------- */

static kernel_profile *profile_of(const launch *job)
{
    const simt_launch_config &c = job->config;
    kernel_profile p = {};
    simt_kernel_name(c.kernel, c.name, p.name, sizeof p.name);
    p.in_prepare = now.in_prepare;
    snprintf(p.where, sizeof p.where, "%s:%d", c.file, c.line);
    for (kernel_profile &known : profiles)
        if (!strcmp(known.name, p.name) && known.in_prepare == p.in_prepare) return &known;
    const unsigned grid[] = {c.grid.x, c.grid.y, c.grid.z};
    const unsigned block[] = {c.block.x, c.block.y, c.block.z};
    std::copy_n(grid, 3, p.grid);
    std::copy_n(block, 3, p.block);
    p.dynamic_shared_bytes = c.dynamic_shared_bytes;
    profiles.push_back(p);
    return &profiles.back();
}

/* Adds the instructions of the last launch to the lines of the kernel. Several instructions of one
 * line that do the same with as many bytes become one entry. */
static void add_lines(kernel_profile *p, double scale)
{
    size_t count;
    const site_counters *sites = price_sites(&count);
    std::vector<line_profile> lines(p->lines, p->lines + p->num_lines);
    for (size_t i = 0; i < count; i++) {
        line_profile line = {};
        simt_source_line(sites[i].site, line.where, sizeof line.where);
        line.kind = (access_kind)sites[i].kind;
        line.size = (int)sites[i].size;
        auto same = [&](const line_profile &l) {
            return l.kind == line.kind && l.size == line.size && !strcmp(l.where, line.where);
        };
        auto at = std::find_if(lines.begin(), lines.end(), same);
        if (at == lines.end()) at = lines.insert(at, line);
        access_counters n = sites[i].n;
        sample_scale_accesses(&n, scale);
        access_counters_add(&at->n, &n);
    }
    auto line_number = [](const line_profile &l) {
        const char *colon = strrchr(l.where, ':');
        return colon ? atoi(colon + 1) : 0;
    };
    std::stable_sort(lines.begin(), lines.end(), [&](const line_profile &a, const line_profile &b) {
        const std::string file_a(a.where, strcspn(a.where, ":")),
            file_b(b.where, strcspn(b.where, ":"));
        if (file_a != file_b) return file_a < file_b;
        if (line_number(a) != line_number(b)) return line_number(a) < line_number(b);
        return a.kind != b.kind ? a.kind < b.kind : a.size < b.size;
    });
    delete[] p->lines;
    p->num_lines = lines.size();
    p->lines = new line_profile[lines.size()];
    std::copy(lines.begin(), lines.end(), p->lines);
}

/* ---- what the backend tells ------------------------------------------------------------------ */

static void launch_begins(const launch *job)
{
    if (!now.open) {
        memcheck_launch_untraced();
        return;
    }
    now.sample = sample_blocks(job->blocks, now.in_prepare ? 1 : share);
    now.traced = 0;
    if (profiler.memcheck) memcheck_launch_begin(job);
    if (profiler.racecheck) racecheck_launch_begin(job);
    if (profiler.record) record_launch_begins(job, now.in_prepare);
    if (profiler.count) {
        price_launch_begins();
        machine_launch_begin(model, job->block_threads,
                             simt_static_shared_bytes(job->config.kernel) +
                                 job->config.dynamic_shared_bytes,
                             job->blocks);
    }
}

/* Scales the counts of the traced blocks up to all of the launch. */
static counters count_launch(const block_sample &s)
{
    const double all = (double)s.blocks;
    counters total = {}, played = {};
    price_totals(&total);
    sample_scale(&total, all / (double)s.traced);
    machine_launch_end(&played);
    sample_scale(&played, all / (double)(s.traced - s.warming));
    counters_add(&total, &played);
    return total;
}

static void launch_ends(const launch *job)
{
    if (!now.open || job->stop) return; /* what was counted until it was abandoned says nothing */
    const block_sample &s = now.sample;
    kernel_profile *p = profile_of(job);
    counters total = {};
    if (profiler.count) {
        total = count_launch(s);
        add_lines(p, (double)s.blocks / (double)s.traced);
    }
    total.launches = 1;
    total.blocks = (int64_t)job->blocks;
    total.threads = total.blocks * job->block_threads;
    total.warps = total.blocks * ((job->block_threads + WARP_LANES - 1) / WARP_LANES);
    p->sampled = (double)s.traced / (double)s.blocks;
    counters_add(&p->total, &total);
}

static bool block_begins(worker *self)
{
    if (!now.open) return true;
    if (!sample_holds(&now.sample, self->block_number)) return false;
    if (now.traced % 64 == 0) {
        check_memory();
        if (now.progress)
            now.progress(self->job->config.name, (double)now.traced / (double)now.sample.traced);
    }
    if (profiler.count && now.traced == now.sample.warming && now.traced) machine_warmed();
    now.traced++;
    hooks_block_begins();
    if (profiler.memcheck) memcheck_block_begin(self);
    if (profiler.racecheck) racecheck_block_begin(self);
    if (profiler.count) log_block_begins(self);
    if (profiler.record) record_block_begins(self);
    profiler.tracing = true;
    return true;
}

static void block_ends(worker *)
{
    if (!profiler.tracing) return;
    profiler.tracing = false;
    if (profiler.count) machine_block_end();
    if (profiler.record) record_block_ends();
}

static void warp_stops(worker *self, warp *w)
{
    if (profiler.tracing && profiler.count) log_replay(self, w);
}

static void host_wrote(const void *to, size_t bytes)
{
    memcheck_host_wrote(to, bytes);
    seen_filled(to, bytes);
}

static void host_copied(const void *to, const void *from, size_t bytes)
{
    memcheck_host_copied(to, from, bytes);
    seen_copied(to, from, bytes, now.open);
}

static void host_moved(const void *to, const void *from, size_t bytes, cudaStream_t stream)
{
    if (now.open && profiler.racecheck) stream_order_moved(to, from, bytes, stream);
}

static bool failed(const worker *self)
{
    const bool finding = now.open && self->failed.error != cudaErrorMemoryAllocation;
    const bool traced = profiler.tracing;
    if (finding) findings_failed(self);
    profiler.tracing = false;
    if (traced && profiler.record) {
        log_replay_rest(self);
        record_block_ends();
    }
    return finding;
}

static const observer attached = {
    .launch_begins = launch_begins,
    .launch_ends = launch_ends,
    .block_begins = block_begins,
    .block_ends = block_ends,
    .warp_stops = warp_stops,
    .bulk_arrived = hooks_bulk_arrived,
    .product_done = hooks_product_done,
    .phase_ended = hooks_phase_ended,
    .failed = failed,
    .allocated = memcheck_allocated,
    .freed = memcheck_freed,
    .written = host_wrote,
    .copied = host_copied,
    .moved = host_moved,
};

/* ---- what the harness calls ------------------------------------------------------------------ */

static enum status open(const instrument_settings *s, error_text *error)
{
    model = gpu_model_find(s->model);
    if (!model) {
        size_t count;
        std::string known;
        const char *const *keys = gpu_model_keys(&count);
        for (size_t i = 0; i < count; i++)
            known += std::string(i ? ", " : "") + keys[i];
        return fail(error, STATUS_USAGE,
                    "--model %s: there is no model of that GPU; choose one of %s", s->model,
                    known.c_str());
    }
    const bool record = (s->which & INSTRUMENT_TRACE) != 0;
    profiler = {.count = record || (s->which & INSTRUMENT_COUNTERS) != 0,
                .memcheck = (s->which & INSTRUMENT_MEMCHECK) != 0,
                .racecheck = (s->which & INSTRUMENT_RACECHECK) != 0,
                .record = record,
                .partial = s->sample < 1};
    share = s->sample;
    record_open(s);
    simt_settings.threads = 1;
    simt_settings.reverse = false;
    if (!simt_settings.timeout_chosen) simt_settings.timeout = TIMEOUT;
    std::set_new_handler(profiler_out_of_memory);
    simt_observer = &attached;
    return STATUS_OK;
}

static void begin(bool in_prepare, void (*progress)(const char *, double))
{
    now = {.open = true, .in_prepare = in_prepare, .progress = progress};
}

static void end(void)
{
    now = {};
}

static void forget_contents(const void *start, size_t bytes)
{
    memcheck_forget_contents(start, bytes);
    seen_forget(start, bytes);
}

static void note_hidden(const char *text)
{
    const kernel_profile *last = nullptr;
    for (const kernel_profile &k : profiles)
        if (!last || !k.in_prepare) last = &k;
    finding_note(
        "hidden accesses", last ? last->name : "no kernel", last ? last->where : "run",
        "every access must be the compiler's plain code: no attribute, pragma, assembly or "
        "library function that keeps it from the instruments",
        text);
}

static size_t list_profiles(const kernel_profile **all)
{
    *all = profiles.data();
    return profiles.size();
}

static recording *take_recordings(size_t *count)
{
    *count = 0;
    return profiler.record ? record_take(count) : nullptr;
}

static void predict(prediction *p)
{
    *p = {};
    for (const kernel_profile &k : profiles)
        if (!k.in_prepare) {
            prediction one;
            predict_kernel(model, &k.total, &one);
            predict_add(p, &one);
        }
}

static void reset(void)
{
    for (kernel_profile &p : profiles)
        delete[] p.lines;
    profiles.clear();
    findings_reset();
    record_reset();
    seen_reset();
}

static const char *model_name(void)
{
    return model->name;
}

static const char *model_text(void)
{
    static char text[160];
    snprintf(
        text, sizeof text,
        "%d SMs with %d KB for L1 and shared memory each, L2 of %lld MB, 128-byte lines of four "
        "sectors",
        model->sms, model->l1_kb, (long long)(model->l2_bytes >> 20));
    return text;
}

static const instruments all = {
    .open = open,
    .name_array = names_add,
    .forget_names = names_forget,
    .forget_contents = forget_contents,
    .begin = begin,
    .end = end,
    .profiles = list_profiles,
    .findings = findings_list,
    .recordings = take_recordings,
    .seen = seen_bytes,
    .handed = seen_handed,
    .note_hidden = note_hidden,
    .predict = predict,
    .reset = reset,
    .model_name = model_name,
    .model_text = model_text,
};

__attribute__((constructor)) static void install(void)
{
    instruments_install(&all);
}
