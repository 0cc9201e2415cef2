/*
 * machine.cc - the GPU that a trace is played to.
 *
 *      warps --loads--> L1 of their SM --missing sectors--> L2 --missing sectors--> memory
 *            --stores, atomics----------------------------> L2 --dirty sectors----> memory
 *
 * A trace comes block by block, while a GPU runs thousands of warps at once. So what the warps of a
 * block ask for is noted first, a stream for each warp. When the block is complete it goes to the
 * SM that has room first. Its streams are played together with those of all other resident warps:
 * in a turn, every warp makes a request of one line. A request of n lines takes n turns, because an
 * L1 looks up one line a cycle.
 *
 * Four things are not in the model. Time itself: a warp that waits for memory falls no further behind than one that
 * does not. Registers: they may leave room for fewer blocks than assumed here, and spill.
 * Requests of several SMs for one sector, which are merged on their way to L2. Translation of addresses.
 *
 * Against Nsight Compute on an H200, labs 1 to 5, arxiv, ddi, and stand-ins of collab, youtube and
 * yelp, N = 32 and 256: sectors that miss L1 within 2 %, but 11 % on ddi and 21 % in lab 1; DRAM
 * bytes within 9 %, but 29 % in lab 1 (there arxiv's 92 MB in 21 ms become 165).
 */
#include "profiler/machine.h"

#include <algorithm>
#include <cstring>
#include <queue>
#include <vector>

namespace
{

constexpr unsigned SECTOR_BYTES = 32, LINE_SECTORS = 4, LINE_BYTES = SECTOR_BYTES * LINE_SECTORS;

unsigned sectors_in(unsigned mask)
{
    return (unsigned)__builtin_popcount(mask);
}

/* Spreads line numbers over 64 bits. GPUs hash addresses as well, so that no stride of a program
 * falls on few sets; the finaliser of MurmurHash3 stands for their functions, which are not
 * known. */
uint64_t hash(uint64_t line)
{
    line = (line ^ line >> 33) * 0xff51afd7ed558ccd;
    line = (line ^ line >> 33) * 0xc4ceb9fe1a85ec53;
    return line ^ line >> 33;
}

/* ---- which lines are played ------------------------------------------------------------------ */

/* Set sampling: what happens in one set of a cache does not depend on the others. So a launch too
 * large to be played whole is played on the first 1/2^k of the sets of every cache. What happens
 * there counts 2^k times. A set gets the lines of one range of hashes, so that in every cache these
 * are the lines with the smallest hashes. A launch begins with k = 0; k grows each time that so
 * many lines have been played, and when as many for each step of k, 64 MB, wait in streams. At
 * k = 6 an L1 has one set left, and there are 132 of them. Labs 1 to 5 on arxiv, ddi and collab:
 * bytes stay within 4 % of those at k = 0. */
constexpr unsigned MAX_THINNING = 6;
constexpr uint64_t PLAYED_BEFORE_THINNING = (uint64_t)1 << 22;
constexpr uint64_t WAITING_BEFORE_THINNING = (uint64_t)1 << 23;

bool sampled(uint64_t line_hash, unsigned thinning)
{
    return line_hash <= UINT64_MAX >> thinning;
}

/* ---- a cache --------------------------------------------------------------------------------- */

/* A line of 128 bytes, whose four sectors are fetched one by one. */
struct cache_line {
    uint64_t number : 38; /* address / 128: room for 32 TB */
    uint64_t present : 1; /* else this place is empty */
    uint64_t valid : 4;   /* sectors that are here, */
    uint64_t dirty : 4;   /* that memory has an older version of, */
    uint64_t in_part : 4; /* and that stores have filled in part only, nothing being there before */
};

/* A line can lie in `ways` places, its set; the one unused for longest makes room. */
class cache
{
  public:
    cache(uint64_t lines, uint64_t set_count, uint64_t associativity)
        : sets(set_count), ways(associativity ? associativity : lines / set_count),
          places(sets * ways)
    {
    }

    /* Looks the line up and makes it the newest of its set. If it was not there it is now, without
     * a valid sector, and *evicted is the line that made room. */
    cache_line &use(uint64_t number, uint64_t line_hash, cache_line *evicted)
    {
        cache_line *set = &places[(size_t)((unsigned __int128)line_hash * sets >> 64) * ways];
        size_t at = 0;
        while (at < ways - 1 && !(set[at].present && set[at].number == number))
            at++;
        cache_line found = set[at];
        if (!(found.present && found.number == number)) {
            *evicted = found;
            found = {.number = number, .present = 1};
        }
        memmove(set + 1, set, at * sizeof *set);
        set[0] = found;
        return set[0];
    }

  private:
    size_t sets, ways;
    std::vector<cache_line> places; /* of each set from the newest to the oldest */
};

/* Neither is published. 64 sets in L1: at the largest thinning one is left, whole. 16 ways in L2:
 * usual in caches of that size; 8 would evict more than was measured, 32 less. */
constexpr uint64_t L1_SETS = (uint64_t)1 << MAX_THINNING, L2_WAYS = 16;

/* ---- what is noted of a block ---------------------------------------------------------------- */

enum : unsigned { LOAD, WHOLE_STORE, PART_STORE, ATOMIC };

/* One line of one request. */
struct record {
    uint64_t line : 38;
    uint64_t sectors : 4; /* 0: nothing is asked for, turns alone pass */
    uint64_t kind : 2;
    uint64_t turns : 20; /* since the warp's last record; 0: they are of one request */
};
constexpr uint64_t MAX_TURNS = (1 << 20) - 1;

struct warp_stream {
    std::vector<record> records;
    uint64_t turns = 0, noted = 0; /* that have passed; until the last record */
    int64_t work = 0, loads = 0;   /* requests and other steps; requests that load */
    /* While it is played: */
    size_t next = 0;
    uint64_t due = 0;
    unsigned sm = 0;
};

/* A block on an SM, or the room that it has left there. */
struct place {
    uint64_t end;    /* the turn it makes room in */
    unsigned number; /* the first place of every SM, the second of every SM, ... */
    int64_t loads;   /* of the longest chain: a warp of this block, one of that before it, ... */

    bool operator>(const place &other) const
    {
        return end != other.end ? end > other.end : number > other.number;
    }
};

/* ---- the machine ----------------------------------------------------------------------------- */

struct machine {
    const gpu_model *gpu;
    std::vector<cache> l1, l2; /* for each SM; for each partition */
    uint64_t block_count;

    unsigned thinning;
    uint64_t played, waiting; /* lines, since thinning was last raised; in all streams */

    /* Streams are referred to by number, so that the vector may grow. */
    std::vector<warp_stream> streams;
    std::vector<unsigned> idle, building; /* numbers of those not in use; those of the next block */

    uint64_t now; /* turns */
    /* Streams by the turn of their next record, modulo the wheel's size; those further ahead are
     * put in again when the wheel has gone round. */
    static constexpr size_t WHEEL = 4096;
    std::vector<std::vector<unsigned>> wheel;

    std::priority_queue<place, std::vector<place>, std::greater<place>> places;

    /* Since the launch began, or the caches were warm. */
    counters n;
    uint64_t blocks;
    int64_t load_sectors, store_sectors;
    int64_t chain_loads, all_loads; /* of the longest chain; of each block's longest warp, summed */
    std::vector<int64_t> sm_work;

    /* How many loads waited for what: of those played before thinning left lines of them out, or,
     * if these are too few, of those played since. */
    struct {
        unsigned thinning;
        int64_t loads, l2, dram;
    } waits;
};
machine m;

constexpr int64_t ENOUGH_LOADS = 100000;

void thin(void)
{
    m.thinning++;
    m.played = 0;
    if (m.waits.loads < ENOUGH_LOADS) m.waits = {.thinning = m.thinning};
}

/* ---- playing --------------------------------------------------------------------------------- */

enum waits_for { NOTHING, L2, DRAM };

int64_t bytes_of(unsigned sectors)
{
    return (int64_t)SECTOR_BYTES * sectors_in(sectors) << m.thinning;
}

/* Adds the cost of a line evicted from L2. Memory takes whole sectors: one that stores have filled in
 * part is completed first. */
void write_back(const cache_line &line)
{
    m.n.dram_write_bytes += bytes_of(line.dirty);
    m.n.dram_read_bytes += bytes_of(line.in_part);
}

cache_line &use_l2(size_t partition, uint64_t line, uint64_t line_hash)
{
    cache_line evicted = {};
    cache_line &found = m.l2[partition].use(line, line_hash, &evicted);
    write_back(evicted);
    return found;
}

waits_for play_load(const record &r, uint64_t line_hash, unsigned sm, size_t near, size_t home)
{
    cache_line evicted = {};
    cache_line &in_l1 =
        m.l1[sm].use(r.line, line_hash, &evicted); /* L1 has nothing to write back */
    unsigned missing = r.sectors & ~in_l1.valid;
    if (!missing) return NOTHING;
    in_l1.valid |= missing;
    m.n.l2_read_bytes += bytes_of(missing);

    /* Through the partition on this side, which keeps a copy, to the one the line belongs to. */
    for (size_t partition = near;; partition = home) {
        cache_line &in_l2 = use_l2(partition, r.line, line_hash);
        const unsigned wanted = missing;
        missing &= ~in_l2.valid | in_l2.in_part;
        in_l2.valid |= wanted;
        in_l2.in_part &= ~wanted;
        if (!missing) return L2;
        if (partition == home) break;
    }
    m.n.dram_read_bytes += bytes_of(missing);
    return DRAM;
}

/* L1 is written through and takes no line for it. The partition on this side does: without that,
 * too little is evicted by half on arxiv, N = 32. */
void play_store(const record &r, uint64_t line_hash, size_t near, size_t home)
{
    if (near != home) {
        cache_line &copy = use_l2(near, r.line, line_hash);
        if (r.kind == WHOLE_STORE) copy.valid |= r.sectors;
    }
    cache_line &in_l2 = use_l2(home, r.line, line_hash);
    if (r.kind == ATOMIC) { /* carried out where the line belongs: its old value is needed */
        m.n.dram_read_bytes += bytes_of(r.sectors & (~in_l2.valid | in_l2.in_part));
        in_l2.in_part &= ~r.sectors;
    } else if (r.kind == WHOLE_STORE) {
        in_l2.in_part &= ~r.sectors;
    } else {
        in_l2.in_part |= r.sectors & ~in_l2.valid;
    }
    in_l2.valid |= r.sectors;
    in_l2.dirty |= r.sectors;
}

waits_for play(const record &r, unsigned sm)
{
    const uint64_t line_hash = hash(r.line);
    if (!r.sectors || !sampled(line_hash, m.thinning)) return NOTHING;
    const size_t partitions = m.l2.size(), near = sm % partitions, home = line_hash % partitions;
    m.played++;
    if (r.kind == LOAD) return play_load(r, line_hash, sm, near, home);
    play_store(r, line_hash, near, home);
    return NOTHING;
}

/* Plays the next record of a stream and all others of the same request. */
void play_request(warp_stream &w)
{
    const bool load = w.records[w.next].kind == LOAD && w.records[w.next].sectors;
    waits_for longest = NOTHING;
    do {
        longest = std::max(longest, play(w.records[w.next++], w.sm));
    } while (w.next < w.records.size() && w.records[w.next].turns == 0);
    if (!load || m.waits.thinning != m.thinning) return;
    m.waits.loads++;
    m.waits.l2 += longest == L2;
    m.waits.dram += longest == DRAM;
}

void schedule(unsigned stream)
{
    const uint64_t due = std::min(m.streams[stream].due, m.now + machine::WHEEL - 1);
    m.wheel[due % machine::WHEEL].push_back(stream);
}

unsigned new_stream(void)
{
    if (m.idle.empty()) {
        m.streams.emplace_back();
        return (unsigned)m.streams.size() - 1;
    }
    const unsigned stream = m.idle.back();
    m.idle.pop_back();
    return stream;
}

/* Forgets what a stream held. The next one is likely to need as much memory, unless it was much. */
void empty(warp_stream &w)
{
    constexpr size_t MUCH = 4096;
    m.waiting -= w.records.size();
    std::vector<record> memory = std::move(w.records);
    memory.clear();
    w = {};
    if (memory.capacity() <= MUCH) w.records = std::move(memory);
}

/* Plays all turns before `end`. */
void advance(uint64_t end)
{
    for (; m.now < end; m.now++) {
        std::vector<unsigned> &due = m.wheel[m.now % machine::WHEEL];
        for (const unsigned stream : due) {
            warp_stream &w = m.streams[stream];
            if (w.due == m.now) {
                play_request(w);
                if (w.next == w.records.size()) {
                    empty(w);
                    m.idle.push_back(stream);
                    continue;
                }
                w.due += w.records[w.next].turns;
            }
            schedule(stream);
        }
        due.clear();
        if (m.played >= PLAYED_BEFORE_THINNING && m.thinning < MAX_THINNING) thin();
    }
}

} // namespace

/* ---- the interface --------------------------------------------------------------------------- */

void machine_launch_begin(const gpu_model *gpu, unsigned block_threads, size_t shared_bytes,
                          uint64_t blocks)
{
    const gpu_residency room = gpu_model_residency(gpu, block_threads, shared_bytes);
    const uint64_t l2_lines = gpu->l2_bytes / gpu->l2_partitions / LINE_BYTES;
    m = {};
    m.gpu = gpu;
    m.block_count = blocks;
    m.l1.assign(gpu->sms, cache(room.l1_bytes / LINE_BYTES, L1_SETS, 0));
    m.l2.assign(gpu->l2_partitions, cache(l2_lines, l2_lines / L2_WAYS, L2_WAYS));
    m.wheel.resize(machine::WHEEL);
    m.sm_work.assign(gpu->sms, 0);
    for (unsigned number = 0; number < (unsigned)(room.blocks * gpu->sms); number++)
        m.places.push({.end = 0, .number = number, .loads = 0});
    for (int warp = 0; warp < room.block_warps; warp++)
        m.building.push_back(new_stream());
}

void machine_request(unsigned warp, enum access_kind kind, const uint64_t *sectors, unsigned count,
                     unsigned bytes_per_lane)
{
    warp_stream &w = m.streams[m.building[warp]];
    /* All 32 lanes together cannot fill sectors that are more than this. */
    const bool in_part = count * SECTOR_BYTES > 32 * bytes_per_lane;
    const unsigned what = kind == GLOBAL_LOAD     ? LOAD
                          : kind == GLOBAL_ATOMIC ? ATOMIC
                          : in_part               ? PART_STORE
                                                  : WHOLE_STORE;
    w.work++;
    w.loads += what == LOAD;
    (what == LOAD ? m.load_sectors : m.store_sectors) += count;

    uint64_t start = w.turns + 1;
    for (unsigned i = 0; i < count;) {
        const uint64_t line = sectors[i] / LINE_SECTORS;
        unsigned mask = 0;
        for (; i < count && sectors[i] / LINE_SECTORS == line; i++)
            mask |= 1u << sectors[i] % LINE_SECTORS;
        w.turns++;
        if (!sampled(hash(line), m.thinning)) continue;
        for (; start - w.noted > MAX_TURNS; w.noted += MAX_TURNS, m.waiting++)
            w.records.push_back({.line = 0, .sectors = 0, .kind = LOAD, .turns = MAX_TURNS});
        w.records.push_back(
            {.line = line, .sectors = mask, .kind = what, .turns = start - w.noted});
        w.noted = start;
        m.waiting++;
    }
    if (m.waiting > WAITING_BEFORE_THINNING * (m.thinning + 1) && m.thinning < MAX_THINNING) thin();
}

void machine_step(unsigned warp)
{
    warp_stream &w = m.streams[m.building[warp]];
    w.work++;
    w.turns++;
}

void machine_block_end(void)
{
    place p = m.places.top();
    const unsigned sm = p.number % m.l1.size();
    m.places.pop();
    advance(p.end);

    uint64_t turns = 0;
    int64_t work = 0, loads = 0;
    for (unsigned &stream : m.building) {
        warp_stream &w = m.streams[stream];
        turns = std::max(turns, w.turns);
        work += w.work;
        loads = std::max(loads, w.loads);
        m.n.longest_warp = std::max(m.n.longest_warp, w.work);
        if (w.records.empty()) {
            empty(w); /* and fill it again */
            continue;
        }
        w.sm = sm;
        w.due = p.end + w.records[0].turns;
        schedule(stream);
        stream = new_stream();
    }
    p.end += turns;
    p.loads += loads;
    m.places.push(p);

    m.blocks++;
    m.n.work += work;
    m.n.longest_block = std::max(m.n.longest_block, work);
    m.sm_work[sm] += work;
    m.chain_loads = std::max(m.chain_loads, p.loads);
    m.all_loads += loads;
}

void machine_warmed(void)
{
    /* They end first: what they have yet to ask for is not to be counted. */
    std::vector<place> all;
    for (; !m.places.empty(); m.places.pop())
        all.push_back(m.places.top());
    const uint64_t end = all.back().end;
    for (const place &p : all)
        m.places.push({.end = end, .number = p.number, .loads = 0});
    advance(end + 1);
    m.n = {};
    m.blocks = 0;
    m.load_sectors = m.store_sectors = m.chain_loads = m.all_loads = 0;
    m.sm_work.assign(m.sm_work.size(), 0);
    m.waits = {.thinning = m.thinning};
}

/* The largest of some sums over all blocks, from the largest and the mean over those that were
 * traced: the mean grows with the number of blocks; what the largest has above it is due to a few
 * blocks, and stays. */
static double extrapolate(int64_t largest, double mean)
{
    const double untraced = m.blocks ? (double)m.block_count / (double)m.blocks - 1 : 0;
    return (double)largest + mean * untraced;
}

void machine_launch_end(counters *total)
{
    const size_t places = m.places.size();
    uint64_t end = 0;
    for (; !m.places.empty(); m.places.pop())
        end = m.places.top().end;
    advance(end + 1);

    /* All sectors that loads ask for are known, and by sampling those that L1 did not have. */
    const int64_t missed = m.n.l2_read_bytes / SECTOR_BYTES;
    const double loads = extrapolate(m.chain_loads, (double)m.all_loads / (double)places);
    const double each = m.waits.loads ? loads / (double)m.waits.loads : 0;
    const int64_t busiest = *std::max_element(m.sm_work.begin(), m.sm_work.end());

    total->work += m.n.work;
    total->longest_warp = std::max(total->longest_warp, m.n.longest_warp);
    total->longest_block = std::max(total->longest_block, m.n.longest_block);
    total->busiest_sm += (int64_t)extrapolate(busiest, (double)m.n.work / m.gpu->sms);
    total->sms = m.gpu->sms;
    total->l1_hit_sectors += std::max<int64_t>(0, m.load_sectors - missed);
    total->l2_read_bytes += m.n.l2_read_bytes;
    total->l2_write_bytes += SECTOR_BYTES * m.store_sectors;
    total->dram_read_bytes += m.n.dram_read_bytes;
    total->dram_write_bytes += m.n.dram_write_bytes;
    total->longest_l2_waits += (int64_t)((double)m.waits.l2 * each);
    total->longest_dram_waits += (int64_t)((double)m.waits.dram * each);
    m = {};
}
