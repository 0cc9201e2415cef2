/*
 * recorder.cc - the steps of one block of each kernel, for the page that shows them (common/trace).
 *
 * Each block is recorded; when it ends, it replaces the block kept so far if it is the better choice.
 * Best is a block with a finding, unless the user has named one; then the named block, or the one
 * with the worst or the longest warp.
 */
#include "profiler/checks.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <vector>

/* A page shows some thousand steps; more of a warp are only counted. */
static const size_t MOST_STEPS = 4096;

/* The array of A's values, by which the recordings of two contenders are brought together. */
static const char FOLLOWED[] = "A.values";

/* A step as it was, before its place has a name. */
struct raw_step {
    warp_step step;
    access_counters n;
};

/* A finding of the block: its access is the event after `noted` others of its lane. */
struct mark {
    size_t finding;
    unsigned warp, lane, noted;
    long step;   /* -1: not replayed yet */
    int partner; /* thread of the block that races, -1: none */
    const void *partner_site;
};

struct warp_sum {
    size_t recorded;
    int64_t steps, requests, sectors; /* requests and sectors: of global memory */
};

struct block_record {
    uint64_t number;
    unsigned at[3], grid[3], block[3]; /* grid and block: of its launch */
    std::vector<raw_step> steps;
    std::vector<warp_sum> warps;
    std::vector<mark> marks;
    int64_t left_out;
    uintptr_t shared_begin, static_begin, static_bytes;
};

/* The recording of one kernel so far, from all its launches. */
struct kept_kernel {
    recording shown; /* without its place, arrays and lists */
    block_record block;
    bool has_finding, follows;
    unsigned best_warp;
    double score; /* of TRACE_WORST and TRACE_LONGEST */
};

static instrument_settings settings;
static std::vector<kept_kernel> &kept = *new std::vector<kept_kernel>;
static kept_kernel *current;      /* of the launch that runs ... */
static simt_launch_config config; /* ... and its shape: launches of one kernel may differ */
static block_record &running = *new block_record;
static int64_t followed = -1; /* element of FOLLOWED that the first contender loaded first */

void record_open(const instrument_settings *s)
{
    settings = *s;
    followed = -1;
}

void record_reset(void)
{
    kept.clear();
    current = nullptr;
}

static kept_kernel *kernel_of(bool in_prepare)
{
    kept_kernel k = {};
    simt_kernel_name(config.kernel, config.name, k.shown.kernel, sizeof k.shown.kernel);
    for (kept_kernel &known : kept)
        if (!strcmp(known.shown.kernel, k.shown.kernel) && known.shown.in_prepare == in_prepare)
            return &known;
    k.shown.in_prepare = in_prepare;
    kept.push_back(k);
    return &kept.back();
}

void record_launch_begins(const launch *job, bool in_prepare)
{
    config = job->config;
    current = kernel_of(in_prepare);
}

void record_block_begins(const worker *self)
{
    auto copy = [](const auto &from, unsigned *to) {
        const unsigned v[] = {from.x, from.y, from.z};
        std::copy_n(v, 3, to);
    };
    running.number = self->block_number;
    copy(self->block, running.at);
    copy(config.grid, running.grid);
    copy(config.block, running.block);
    running.steps.clear();
    running.marks.clear();
    running.warps.assign(self->warps_used, {});
    running.left_out = 0;
    running.shared_begin = (uintptr_t)self->shared;
    running.static_begin = (uintptr_t)self->thread_local_block;
    running.static_bytes = self->thread_local_bytes;
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* Makes room for the steps of a warp up to a finding: those before them go. */
static void drop_older_half(unsigned warp)
{
    size_t left = MOST_STEPS / 2;
    auto is_old = [&](const raw_step &s) { return s.step.warp == warp && left && left--; };
    running.steps.erase(std::remove_if(running.steps.begin(), running.steps.end(), is_old),
                        running.steps.end());
    running.warps[warp].recorded -= MOST_STEPS / 2;
    running.left_out += (int64_t)MOST_STEPS / 2;
}

/* Whether the block may still turn out to have a finding, which is then what to show. */
static bool awaits_finding(void)
{
    return (profiler.memcheck || profiler.racecheck) && running.marks.empty() &&
           !current->has_finding;
}

void record_step(const warp_step *step, const access_counters *n)
{
    if (!current) return;
    warp_sum &sum = running.warps[step->warp];
    sum.steps++;
    if (step->kind <= GLOBAL_ATOMIC) {
        sum.requests += n->requests;
        sum.sectors += n->cost;
    }
    if (sum.recorded == MOST_STEPS && awaits_finding()) drop_older_half(step->warp);
    const bool room = sum.recorded < MOST_STEPS;
    for (mark &m : running.marks)
        if (m.step < 0 && m.warp == step->warp && step->lanes >> m.lane & 1 &&
            log_replayed(m.warp, m.lane) == m.noted && room)
            m.step = (long)running.steps.size();
    if (!room) {
        running.left_out++;
        return;
    }
    sum.recorded++;
    running.steps.push_back({*step, *n});
}

void record_finding(size_t finding, const lane *who, unsigned noted)
{
    if (current && profiler.tracing)
        running.marks.push_back({finding, who->home->number, who->index, noted, -1, -1, nullptr});
}

void record_partner(size_t finding, unsigned thread, const void *site)
{
    for (mark &m : running.marks)
        if (m.finding == finding && m.partner < 0) {
            m.partner = (int)thread;
            m.partner_site = site;
        }
}

/* ---- which block to keep --------------------------------------------------------------------- */

/* The range of the followed element; empty if nothing is followed. */
static recorded_array followed_element(void)
{
    recorded_array found = {};
    for (const named_array *a = next_named_array(0); a; a = next_named_array(a->start + 1))
        if (!strcmp(a->name, FOLLOWED))
            found = {"", false, (int64_t)a->start, (int64_t)a->bytes, (int64_t)a->element};
    return found;
}

/* The first warp of the block that loads the followed element; -1: none does. */
static int follower(void)
{
    const recorded_array values = followed_element();
    if (followed < 0 || !values.element) return -1;
    const uintptr_t wanted = (uintptr_t)(values.start + followed * values.element);
    for (const raw_step &s : running.steps)
        for (unsigned i = 0; s.step.kind == GLOBAL_LOAD && i < s.step.count; i++)
            if (s.step.addresses[i] <= wanted && wanted - s.step.addresses[i] < s.step.size)
                return (int)s.step.warp;
    return -1;
}

/* The first element of A.values that the recorded warp of this kernel loads; -1: none. */
static int64_t first_value(const kept_kernel &k)
{
    const recorded_array values = followed_element();
    for (const raw_step &s : k.block.steps)
        if (values.element && s.step.kind == GLOBAL_LOAD && s.step.warp == k.best_warp &&
            s.step.addresses[0] - (uintptr_t)values.start < (uintptr_t)values.bytes)
            return ((int64_t)s.step.addresses[0] - values.start) / values.element;
    return -1;
}

static double score_of(const warp_sum &w)
{
    if (settings.pick == TRACE_LONGEST) return (double)w.steps;
    return w.requests ? (double)w.sectors / (double)w.requests : 0;
}

static void keep_running(unsigned warp, double score, const char *why)
{
    current->best_warp = warp;
    current->score = score;
    snprintf(current->shown.why, sizeof current->shown.why, "%s", why);
    current->block = running;
}

/* The warp that the user has named, if the block has it. */
static unsigned given_warp(void)
{
    const bool is_there =
        settings.trace_warp >= 0 && settings.trace_warp < (int64_t)running.warps.size();
    return is_there ? (unsigned)settings.trace_warp : 0;
}

/* A warp that has the better score than that of the block kept so far. */
static void keep_if_better(void)
{
    const bool is_first = current->block.warps.empty();
    unsigned best = 0;
    for (unsigned w = 1; w < running.warps.size(); w++)
        if (score_of(running.warps[w]) > score_of(running.warps[best])) best = w;
    const double score = score_of(running.warps[best]);
    if (is_first || score > current->score)
        keep_running(best, score,
                     settings.pick == TRACE_WORST ? "the warp with most sectors a request"
                                                  : "the longest warp");
}

static void keep_given(void)
{
    const bool is_first = current->block.warps.empty(), named = settings.trace_block >= 0;
    if (named ? (int64_t)running.number == settings.trace_block : is_first)
        keep_running(given_warp(), 0, named ? "the block asked for" : "the first block");
}

void record_block_ends(void)
{
    if (!current) return;
    const bool named = settings.pick == TRACE_GIVEN && settings.trace_block >= 0;
    const int warp = current->follows ? -1 : follower();
    if (!running.marks.empty() && !current->has_finding && !named) {
        keep_running(running.marks[0].warp, 0, "the block of the first finding");
        current->has_finding = true;
    } else if (current->has_finding) {
        return;
    } else if (followed < 0) {
        settings.pick == TRACE_GIVEN ? keep_given() : keep_if_better();
    } else if (warp >= 0) {
        keep_running((unsigned)warp, 0, "the block with the same nonzero");
        current->follows = true;
    } else if (current->block.warps.empty()) {
        keep_running(0, 0, "the first block");
    }
}

/* ---- what is handed over --------------------------------------------------------------------- */

/* As in recorded_step.at. */
static int64_t place_in_memory(const block_record &b, const warp_step &s, uintptr_t address)
{
    size_t all;
    if (s.kind <= GLOBAL_ATOMIC) return (int64_t)(address - simt_memory_begin(&all));
    if (address - b.static_begin < b.static_bytes) return (int64_t)(address - b.static_begin);
    return DYNAMIC_SHARED_AT + (int64_t)(address - b.shared_begin);
}

template <typename T> static T *copied(const std::vector<T> &from)
{
    T *to = (T *)malloc((from.size() + 1) * sizeof(T));
    if (!to) profiler_out_of_memory();
    std::copy(from.begin(), from.end(), to);
    return to;
}

/* Says which array a global address belongs to: by the harness's name, or by the allocation's number. */
static recorded_array array_at(uintptr_t address)
{
    size_t all;
    const int64_t begin = (int64_t)simt_memory_begin(&all);
    recorded_array found = {};
    for (const named_array *a = next_named_array(0); a; a = next_named_array(a->start + 1)) {
        if (address - a->start >= a->bytes) continue;
        found = {"", false, (int64_t)a->start - begin, (int64_t)a->bytes, (int64_t)a->element};
        snprintf(found.name, sizeof found.name, "%s", a->name);
        return found;
    }
    const device_array d = simt_memory_find(address);
    if (!d.number) return found;
    found = {"", false, (int64_t)d.start - begin, (int64_t)d.bytes, 0};
    snprintf(found.name, sizeof found.name, "allocation %u", d.number);
    return found;
}

static recorded_array shared_array_at(const block_record &b, uintptr_t address,
                                      size_t dynamic_bytes)
{
    size_t count;
    recorded_array found = {"dynamic shared", true, DYNAMIC_SHARED_AT, (int64_t)dynamic_bytes, 0};
    const shared_variable *v = simt_shared_variables(&count);
    for (const shared_variable *end = v + count; v < end; v++)
        if (address - (b.static_begin + v->offset) < v->bytes) {
            found = {"", true, (int64_t)v->offset, (int64_t)v->bytes, 0};
            snprintf(found.name, sizeof found.name, "%s", v->name);
        }
    return found;
}

/* Those that the steps touch, in order of their addresses, shared ones last. */
static std::vector<recorded_array> arrays_of(const block_record &b)
{
    std::map<std::pair<bool, int64_t>, recorded_array> all;
    int64_t dynamic = 0;
    for (const raw_step &s : b.steps)
        for (unsigned i = 0; s.step.kind > GLOBAL_ATOMIC && i < s.step.count; i++)
            if (s.step.kind < ACCESS_KINDS) {
                const int64_t at = place_in_memory(b, s.step, s.step.addresses[i]);
                dynamic = std::max(dynamic, at + (int64_t)s.step.size - DYNAMIC_SHARED_AT);
            }
    recorded_array last = {};
    for (const raw_step &s : b.steps)
        for (unsigned i = 0; s.step.kind < ACCESS_KINDS && i < s.step.count; i++) {
            const bool shared = s.step.kind > GLOBAL_ATOMIC;
            const int64_t at = place_in_memory(b, s.step, s.step.addresses[i]);
            if (shared == last.shared && at >= last.start && at < last.start + last.bytes) continue;
            last = shared ? shared_array_at(b, s.step.addresses[i],
                                            (size_t)std::max(dynamic, (int64_t)0))
                          : array_at(s.step.addresses[i]);
            if (last.bytes) all[{shared, last.start}] = last;
        }
    std::vector<recorded_array> list;
    for (const auto &a : all)
        list.push_back(a.second);
    return list;
}

static bool overlap(const warp_step &a, const warp_step &b, unsigned lane_a, unsigned lane_b)
{
    auto address = [](const warp_step &s, unsigned lane) {
        return s.addresses[__builtin_popcount(s.lanes & ((1u << lane) - 1))];
    };
    if (a.kind >= ACCESS_KINDS || b.kind >= ACCESS_KINDS) return true; /* two who wait */
    const uintptr_t x = address(a, lane_a), y = address(b, lane_b);
    return x < y + b.size && y < x + a.size;
}

/* The step of the other thread of a race that is nearest to the finding's; -1: there is none. */
static long partner_step(const block_record &b, const mark &m)
{
    long best = -1;
    if (m.partner < 0 || m.step < 0) return -1;
    const unsigned warp = (unsigned)m.partner / WARP_LANES, lane = (unsigned)m.partner % WARP_LANES;
    for (long i = 0; i < (long)b.steps.size(); i++) {
        const warp_step &s = b.steps[(size_t)i].step;
        if (s.warp != warp || !(s.lanes >> lane & 1) ||
            !simt_same_source_line(s.site, m.partner_site) ||
            !overlap(s, b.steps[(size_t)m.step].step, lane, m.lane))
            continue;
        if (best < 0 || labs(i - m.step) < labs(best - m.step)) best = i;
    }
    return best;
}

static void hand_over(const kept_kernel &k, recording *r)
{
    const block_record &b = k.block;
    std::map<const void *, int> line_of_site;
    std::map<std::string, int> line_numbers;
    std::vector<recorded_step> steps;
    std::vector<std::array<char, 160>> lines;
    std::vector<recorded_finding> findings;
    for (const raw_step &raw : b.steps) {
        const warp_step &s = raw.step;
        if (!line_of_site.count(s.site)) {
            std::array<char, 160> where;
            simt_source_line(s.site, where.data(), where.size());
            const auto known = line_numbers.emplace(where.data(), (int)lines.size());
            if (known.second) lines.push_back(where);
            line_of_site[s.site] = known.first->second;
        }
        recorded_step to = {};
        to.line = line_of_site[s.site];
        to.warp = s.warp;
        to.kind = s.kind;
        to.size = (int)s.size;
        to.lanes = s.lanes;
        to.n = raw.n;
        if (s.kind == operation_event(OP_BARRIER)) to.barrier = (int64_t)s.addresses[0];
        for (unsigned i = 0; s.kind < ACCESS_KINDS && i < s.count; i++)
            to.at[i] = place_in_memory(b, s, s.addresses[i]);
        steps.push_back(to);
    }
    for (const mark &m : b.marks)
        findings.push_back({m.finding, m.step, partner_step(b, m), (int)m.lane,
                            m.partner < 0 ? -1 : m.partner % WARP_LANES});
    const std::vector<recorded_array> arrays = arrays_of(b);
    *r = k.shown;
    std::copy_n(b.at, 3, r->at);
    std::copy_n(b.grid, 3, r->grid);
    std::copy_n(b.block, 3, r->block);
    r->number = b.number;
    r->warps = (unsigned)b.warps.size();
    r->warp = k.best_warp;
    r->left_out = b.left_out;
    r->steps = copied(steps);
    r->num_steps = steps.size();
    r->lines = (char(*)[160])copied(lines);
    r->num_lines = lines.size();
    r->arrays = copied(arrays);
    r->num_arrays = arrays.size();
    r->findings = copied(findings);
    r->num_findings = findings.size();
}

recording *record_take(size_t *count)
{
    *count = 0;
    recording *all = (recording *)malloc((kept.size() + 1) * sizeof(recording));
    if (!all) profiler_out_of_memory();
    for (const kept_kernel &k : kept) {
        if (k.block.warps.empty() || (k.shown.in_prepare && !k.has_finding)) continue;
        if (followed < 0 && !k.shown.in_prepare) followed = first_value(k);
        hand_over(k, &all[(*count)++]);
    }
    return all;
}
