/*
 * stream_order.cc - races between streams. Two launches, copies or fills use the same bytes, at least one of them writes,
 * and their streams do not wait for each other. Here each such piece of work is done when it has been enqueued, so the
 * result is right; on a GPU either may come first.
 *
 * What comes before what is known by the vector clocks of simt/stream.cc. Every 4-byte word of device memory has notes on
 * the last two pieces that wrote it, and on the last two that read it. Pieces of one stream follow each other, so that is
 * enough for two streams; of three one is forgotten, and a race with it may be missed. What a kernel uses of the program's
 * variables is not looked at.
 */
#include "profiler/checks.h"
#include "profiler/shadow.h"

#include <vector>

namespace
{

typedef uint32_t piece_number; /* 0: none */

/* A launch, a copy or a fill. */
struct piece {
    cudaStream_t stream;
    uint64_t count;  /* it is the stream's count-th */
    char what[64];   /* "kernel f", "a copy" */
    char where[160]; /* file and line of a launch */
    /* Answer to the last question whether the piece `asked_by` comes after this one. */
    piece_number asked_by;
    bool is_before;
};
std::vector<piece> &pieces = *new std::vector<piece>; /* piece i is pieces[i - 1] */
piece_number current;
piece_number settled; /* all pieces up to here are over: cudaFree waits for the device */

/* An access to a word. */
struct access_note {
    piece_number piece : 28; /* 0: there was none */
    uint32_t bytes : 4;      /* of the word: bit i is byte i */
};
const piece_number MOST_PIECES = (1 << 28) - 1;

/* Notes on a word. */
struct work_cell {
    access_note write, other_write, read, other_read;
};
const size_t WORD = 4;
shadow<work_cell, WORD> cells;

const char *const KIND = "missing stream wait";
const char *const ADVICE =
    "record an event on the other stream behind that work, and let this stream wait for it with "
    "cudaStreamWaitEvent before";

} // namespace

static void begin_piece(cudaStream_t stream)
{
    if (pieces.size() == MOST_PIECES) return; /* more are one with the last */
    pieces.push_back({stream, simt_work_number(stream), "", "", 0, false});
    current = (piece_number)pieces.size();
}

static bool is_before(piece_number number)
{
    if (number <= settled || number == current) return true;
    piece &p = pieces[number - 1];
    if (p.asked_by != current) {
        p.asked_by = current;
        p.is_before = simt_comes_after(pieces[current - 1].stream, p.stream, p.count);
    }
    return p.is_before;
}

/* Whether the access may come before or after one to those bytes. */
static bool conflicts(access_note old, unsigned bytes)
{
    return (old.bytes & bytes) && !is_before(old.piece);
}

/* Makes room for the current piece: in the first note, or in the other where both are needed. */
static void take_note(access_note *first, access_note *other, unsigned bytes)
{
    if (first->piece == current) {
        first->bytes |= bytes;
        return;
    }
    if (!is_before(first->piece)) *other = *first;
    *first = {current, bytes};
}

/* Notes the access of the current piece. Returns a piece that may come before or after it; 0: there is none. */
static piece_number note(work_cell *c, unsigned bytes, bool write)
{
    const access_note *const all[] = {&c->write, &c->other_write, &c->read, &c->other_read};
    piece_number culprit = 0;
    for (int i = 0; i < (write ? 4 : 2) && !culprit; i++)
        if (conflicts(*all[i], bytes)) culprit = all[i]->piece;
    if (write)
        take_note(&c->write, &c->other_write, bytes);
    else
        take_note(&c->read, &c->other_read, bytes);
    return culprit;
}

/* The bytes of the word at `word` that lie in a range. */
static unsigned bytes_in(uintptr_t word, uintptr_t start, uintptr_t end)
{
    const uintptr_t from = max(word, start), to = min(word + WORD, end);
    return ((1u << (to - from)) - 1) << (from - word);
}

void stream_order_launch(const launch *job)
{
    char kernel[64];
    const simt_launch_config &c = job->config;
    begin_piece(c.stream);
    simt_kernel_name(c.kernel, c.name, kernel, sizeof kernel);
    piece &p = pieces.back();
    snprintf(p.what, sizeof p.what, "%s", kernel);
    snprintf(p.where, sizeof p.where, "%s:%d", c.file, c.line);
}

void stream_order_access(const access *a)
{
    piece_number culprit = 0;
    bool wrote = false;
    if (!current || !simt_memory_holds((const void *)a->address)) return;
    const uintptr_t end = a->address + a->size;
    for (uintptr_t at = a->address / WORD * WORD; at < end && !culprit; at += WORD) {
        work_cell *const c = cells.at(at);
        const unsigned bytes = bytes_in(at, a->address, end);
        wrote = conflicts(c->write, bytes) || conflicts(c->other_write, bytes);
        culprit = note(c, bytes, a->write);
    }
    if (__builtin_expect(!culprit, 1) || finding_again(KIND, a, nullptr)) return;
    char where[256];
    describe_address(a, where, sizeof where);
    finding_add(KIND, a, nullptr, ADVICE,
                "%s %s, which %s on another stream %s: this stream does not wait for it",
                a->write ? "writes" : "reads", where, pieces[culprit - 1].what,
                wrote ? "writes" : "reads");
}

/* Looks at a range of bytes. Returns a piece that may come before or after the current one; 0: none. */
static piece_number note_range(const void *start, size_t bytes, bool write)
{
    piece_number culprit = 0;
    if (bytes == 0 || !simt_memory_holds(start)) return 0;
    const uintptr_t begin = (uintptr_t)start, end = begin + bytes;
    uintptr_t word = begin / WORD * WORD;
    cells.over(begin, bytes, [&](work_cell *notes, size_t count) {
        for (size_t i = 0; i < count; i++, word += WORD) {
            const piece_number found = note(&notes[i], bytes_in(word, begin, end), write);
            if (!culprit) culprit = found;
        }
    });
    return culprit;
}

void stream_order_moved(const void *to, const void *from, size_t bytes, cudaStream_t stream)
{
    const char *const what = from ? "a copy" : "a fill";
    begin_piece(stream);
    snprintf(pieces.back().what, sizeof pieces.back().what, "%s", what);
    const piece_number reads = note_range(from, bytes, false), writes = note_range(to, bytes, true);
    if (!reads && !writes) return;
    const piece &other = pieces[(reads ? reads : writes) - 1];
    char text[256];
    snprintf(text, sizeof text, "%s on another stream %s what it %s, and does not wait for it",
             what, reads ? "reads" : "writes", reads ? "writes" : "uses");
    finding_note(KIND, other.what, other.where, ADVICE, text);
}

void stream_order_freed(const void *start, size_t bytes)
{
    cells.forget((uintptr_t)start, bytes);
    settled = (piece_number)pieces.size();
}
