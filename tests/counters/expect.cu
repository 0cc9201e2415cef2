/*
 * expect.cu - the price of a request from first principles, and the comparison. Nothing here is
 * clever: bytes are marked one by one.
 */
#include "tests/counters/expect.h"

#include "harness/provenance.h"

#include <algorithm>
#include <map>
#include <set>

/* ---- checks ---------------------------------------------------------------------------------- */

bool check(bool passed, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return tap_ok(passed, "%s", text);
}

void note(const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    tap_note("%s", text);
}

int checks_done(void)
{
    return tap_done();
}

/* ---- what a request costs -------------------------------------------------------------------- */

static int64_t quotient_up(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

static int64_t sectors_touched(int size, const int64_t *at, int64_t count)
{
    std::set<int64_t> sectors;
    for (int64_t i = 0; i < count; i++)
        for (int byte = 0; byte < size; byte++)
            sectors.insert((at[i] + byte) / 32);
    return (int64_t)sectors.size();
}

/* Whether lanes l and l ^ distance want the same, wherever both take part. */
static bool neighbours_agree(uint32_t lanes, const int64_t *at, int distance)
{
    std::map<int, int64_t> wants;
    for (int lane = 0; lane < 32; lane++)
        if (lanes >> lane & 1) wants[lane] = *at++;
    for (const auto &one : wants)
        if (wants.count(one.first ^ distance) && wants[one.first ^ distance] != one.second)
            return false;
    return true;
}

/* A wavefront gives each of the 32 banks the chance to deliver one 4-byte word, to all lanes that
 * want it. 32 lanes of 8 bytes are two such batches, of 16 bytes four; half as many where neighbours
 * load the same, or neighbours but one. */
static int64_t wavefronts_needed(bool load, int size, uint32_t lanes, const int64_t *at)
{
    int batch_lanes = size == 16 ? 8 : size == 8 ? 16 : 32;
    if (load && size > 4 && (neighbours_agree(lanes, at, 1) || neighbours_agree(lanes, at, 2)))
        batch_lanes *= 2;
    int64_t sum = 0;
    for (int first = 0; first < 32; first += batch_lanes) {
        std::map<int64_t, std::set<int64_t>> words_of_bank;
        for (int lane = first; lane < first + batch_lanes; lane++) {
            if (!(lanes >> lane & 1)) continue;
            const int64_t *mine = at + __builtin_popcount(lanes & ((1u << lane) - 1));
            for (int byte = 0; byte < size; byte++) {
                const int64_t word = (*mine + byte) / 4;
                words_of_bank[word % 32].insert(word);
            }
        }
        size_t passes = 0;
        for (const auto &bank : words_of_bank)
            passes = std::max(passes, bank.second.size());
        sum += (int64_t)passes;
    }
    return sum;
}

/* An atomic sends a sector again for each lane more that wants the same address in it. */
static int64_t sectors_sent(const int64_t *at, int64_t count)
{
    std::map<int64_t, std::map<int64_t, int64_t>> sectors;
    for (int64_t i = 0; i < count; i++)
        sectors[at[i] / 32][at[i]]++;
    int64_t sum = 0;
    for (const auto &sector : sectors) {
        int64_t most = 0;
        for (const auto &address : sector.second)
            most = std::max(most, address.second);
        sum += most;
    }
    return sum;
}

static int64_t most_on_one_address(const int64_t *at, int64_t count)
{
    std::map<int64_t, int64_t> lanes_at;
    for (int64_t i = 0; i < count; i++)
        lanes_at[at[i]]++;
    int64_t most = 0;
    for (const auto &one : lanes_at)
        most = std::max(most, one.second);
    return most;
}

void expectation::add(access_kind kind, int size, uint32_t lanes, const int64_t *at, int64_t count)
{
    const bool shared = kind >= SHARED_LOAD;
    access_counters *a = &n.access[kind];
    a->requests++;
    a->lanes += count;
    a->bytes += count * size;
    const int64_t cost = shared ? wavefronts_needed(kind == SHARED_LOAD, size, lanes, at)
                         : kind == GLOBAL_ATOMIC ? sectors_sent(at, count)
                                                 : sectors_touched(size, at, count);
    const int64_t ideal = quotient_up(count * size, shared ? 128 : 32);
    a->cost += cost;
    a->ideal += shared ? std::min(cost, ideal) : ideal;
    if (kind == GLOBAL_ATOMIC || kind == SHARED_ATOMIC) a->serial += most_on_one_address(at, count);
}

/* ---- counting -------------------------------------------------------------------------------- */

void counting_begins(bool in_prepare)
{
    const instruments *i = instruments_here();
    if (!i) return;
    i->reset();
    i->begin(in_prepare, NULL);
}

void counting_ends(void)
{
    FINISH();
    if (instruments_here()) instruments_here()->end();
}

const kernel_profile *only_profile(const char *kernel)
{
    const kernel_profile *all;
    const size_t count = instruments_here()->profiles(&all);
    if (count == 1 && !strcmp(all->name, kernel)) return all;
    check(false, "%s: the only profile of %zu is its own", kernel, count);
    return NULL;
}

/* ---- comparing ------------------------------------------------------------------------------- */

static const char *const KIND_NAMES[ACCESS_KINDS] = {
    "global load", "global store", "global atomic", "shared load", "shared store", "shared atomic"};
static const char *const OPERATION_NAMES[WARP_OPERATIONS] = {
    "barriers", "syncwarps", "shuffles", "votes", "mma", "ldmatrix", "async copies"};

static bool equal(const char *of, const char *what, int64_t got, int64_t wanted)
{
    if (got != wanted)
        note("%s %s: %lld, expected %lld", of, what, (long long)got, (long long)wanted);
    return got == wanted;
}

static bool accesses_equal(const char *of, const access_counters &got,
                           const access_counters &wanted)
{
    bool same = equal(of, "requests", got.requests, wanted.requests);
    same &= equal(of, "lanes", got.lanes, wanted.lanes);
    same &= equal(of, "bytes", got.bytes, wanted.bytes);
    same &= equal(of, "cost", got.cost, wanted.cost);
    same &= equal(of, "ideal", got.ideal, wanted.ideal);
    same &= equal(of, "serial", got.serial, wanted.serial);
    return same;
}

static bool lines_add_up(const kernel_profile *p)
{
    counters sum = {};
    for (size_t i = 0; i < p->num_lines; i++) {
        access_counters *to = &sum.access[p->lines[i].kind];
        const access_counters &from = p->lines[i].n;
        to->requests += from.requests;
        to->lanes += from.lanes;
        to->bytes += from.bytes;
        to->cost += from.cost;
        to->ideal += from.ideal;
        to->serial += from.serial;
    }
    bool same = true;
    for (int k = 0; k < ACCESS_KINDS; k++)
        same &= accesses_equal("the lines'", sum.access[k], p->total.access[k]);
    return same;
}

static bool all_equal(const kernel_profile *p, int blocks, int block_threads,
                      const counters &wanted)
{
    const counters &got = p->total;
    int64_t accesses = 0, lanes = 0, operations = 0;
    bool same = true;
    for (int k = 0; k < ACCESS_KINDS; k++) {
        same &= accesses_equal(KIND_NAMES[k], got.access[k], wanted.access[k]);
        accesses += wanted.access[k].requests;
        lanes += wanted.access[k].lanes;
    }
    for (int k = 0; k < WARP_OPERATIONS; k++) {
        same &= equal("all", OPERATION_NAMES[k], got.operations[k], wanted.operations[k]);
        operations += wanted.operations[k];
    }
    same &= equal("all", "launches", got.launches, 1);
    same &= equal("all", "blocks", got.blocks, blocks);
    same &= equal("all", "threads", got.threads, (int64_t)blocks * block_threads);
    same &= equal("all", "warps", got.warps, blocks * quotient_up(block_threads, 32));
    same &= equal("all", "memory steps", got.memory_steps, accesses);
    same &= equal("all", "lanes of memory steps", got.memory_lanes, lanes);
    same &= equal("all", "work", got.work, accesses + operations);
    /* How many basic blocks there are is the compiler's choice; that each has its lanes is not. */
    same &= got.steps >= accesses + operations && got.lane_steps <= 32 * got.steps;
    return same && lines_add_up(p);
}

/* ---- on a GPU -------------------------------------------------------------------------------- */

static void print_expected(const char *kernel, const char *metric, int64_t expected)
{
    static bool header;
    int toolkit = 0;
    CUDA(cudaRuntimeGetVersion(&toolkit));
    if (!header) printf("kernel,metric,expected,toolkit,commit\n");
    header = true;
    printf("%s,%s,%lld,%d.%d,%s\n", kernel, metric, (long long)expected, toolkit / 1000,
           toolkit % 1000 / 10, provenance_commit());
}

static void print_metrics(const char *kernel, const counters &n)
{
    static const char *const GLOBAL_NAMES[] = {"ld", "st", "red"}, *const SHARED_NAMES[] = {"ld",
                                                                                            "st"};
    char metric[96];
    const int64_t ldmatrix = n.operations[OP_LDMATRIX], copies = n.operations[OP_ASYNC_COPY];
    for (int k = 0; k < 3; k++) {
        const access_counters &a = n.access[k];
        if (!a.requests) continue;
        /* Kernels that copy asynchronously load no other way. */
        const char *name = k == GLOBAL_LOAD && copies ? "ldgsts" : GLOBAL_NAMES[k];
        snprintf(metric, sizeof metric, "l1tex__t_requests_pipe_lsu_mem_global_op_%s.sum", name);
        print_expected(kernel, metric, a.requests);
        snprintf(metric, sizeof metric, "l1tex__t_sectors_pipe_lsu_mem_global_op_%s.sum", name);
        print_expected(kernel, metric, a.cost);
    }
    if (copies) {
        print_expected(kernel, "smsp__inst_executed_op_ldgsts.sum", copies);
        print_expected(kernel, "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",
                       n.access[SHARED_LOAD].cost + n.access[SHARED_STORE].cost);
    }
    /* Not their requests: ncu also counts instructions that no lane carries out. */
    for (int k = 0; k < 2 && !copies; k++) {
        const access_counters &a = n.access[SHARED_LOAD + k];
        if (!a.requests) continue;
        snprintf(metric, sizeof metric, "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_%s.sum",
                 SHARED_NAMES[k]);
        print_expected(kernel, metric, a.cost);
    }
    if (n.access[SHARED_ATOMIC].requests)
        print_expected(kernel, "smsp__inst_executed_op_shared_atom.sum",
                       n.access[SHARED_ATOMIC].requests);
    if (ldmatrix) print_expected(kernel, "smsp__inst_executed_op_ldsm.sum", ldmatrix);
}

void expect(const char *kernel, int blocks, int block_threads, const expectation &wanted)
{
    if (!instruments_here()) {
        print_metrics(kernel, wanted.n);
        return;
    }
    const kernel_profile *p = only_profile(kernel);
    if (p) check(all_equal(p, blocks, block_threads, wanted.n), "%s", kernel);
}
