/*
 * wgmma.cc - matrix products of a warpgroup, in which each warp has rows of its own. PTX ISA, "Asynchronous Warpgroup
 * Level Matrix Instructions"; common/device/wgmma.cuh draws the operands.
 *
 * A product is carried out at the wait for its group, the latest moment hardware could choose. So a kernel that reads
 * a sum too early reads the old one. A kernel that gives B away too early multiplies by what came after it.
 */
#include "simt/tensor_core.h"

static const int M = 16, MOST_K = 16, MOST_N = 256, WARPS_TOGETHER = 4;

/* A product of one warp that has been started. */
struct wgmma_product {
    float *d[WARP_LANES];
    uint32_t a[WARP_LANES][4]; /* if A is in registers */
    simt_wgmma_part part[SIMT_WGMMA_OPERANDS];
    simt_wgmma_shape shape;
    unsigned group;
    const void *site;
};

/* Products of a warp that nobody has waited for, oldest first. */
struct wgmma_queue {
    wgmma_product *products;
    size_t count, capacity;
    unsigned group;  /* being filled; lower ones are committed */
    uint32_t fenced; /* lanes that have passed a fence since their last wait */
};

static wgmma_queue *queue_of(worker *self, const warp *w)
{
    if (!self->wgmma_queues)
        self->wgmma_queues = (wgmma_queue *)calloc(MAX_WARPS, sizeof(wgmma_queue));
    if (!self->wgmma_queues)
        simt_fail(cudaErrorMemoryAllocation, nullptr, "no memory left for products");
    return &self->wgmma_queues[w->number];
}

/* ---- operands in shared memory --------------------------------------------------------------- */

/* PTX ISA, "Matrix Descriptor Format": bits 0 to 13, 16 to 29 and 32 to 45 count 16 bytes: the beginning in shared
 * memory, the distance of panels side by side, that of eight rows to the next eight. A row of a panel is as wide as the
 * swizzle: 128, 64 or 32 bytes, modes 1, 2 and 3. The swizzle adds bits 7 and up of an address to its bits 4 and up, 3,
 * 2 or 1 of them, without a carry. */
const void *simt_wgmma_piece(const worker *self, const simt_wgmma_part *part, int row, int piece)
{
    const uint32_t BEGIN = 1024; /* where dynamic shared memory begins: device/shared.cuh */
    const uint64_t b = part->operand;
    const int bits = 4 - (int)(b >> 62);
    const uint32_t start = (uint32_t)(b & 0x3fff) << 4, panel = (uint32_t)(b >> 16 & 0x3fff) << 4,
                   groups = (uint32_t)(b >> 32 & 0x3fff) << 4, row_bytes = 16u << bits;
    const int pieces = 1 << bits; /* of a panel's row */
    const uint32_t side = part->across ? (uint32_t)(piece / pieces) * panel : 0;
    const uint32_t inside = (uint32_t)(part->across ? piece % pieces : piece) * 16;
    const uint32_t address =
        start + side + (uint32_t)(row / 8) * groups + (uint32_t)(row % 8) * row_bytes + inside;
    const uint32_t swizzled = address ^ (address >> 7 & ((1u << bits) - 1)) << 4;
    return simt_block_shared(self, self->running->rank) + (swizzled - BEGIN);
}

static int depth(const simt_wgmma_shape *shape)
{
    return shape->kind == SIMT_MMA_K8_TF32 ? 8 : 16;
}

void simt_wgmma_parts(const simt_wgmma_operands *operands, const simt_wgmma_shape *shape,
                      simt_wgmma_part parts[SIMT_WGMMA_OPERANDS])
{
    const int K = depth(shape), warp = (int)simt_worker->running->home->number % WARPS_TOGETHER;
    parts[0] = {operands->a, true, operands->registers ? 0 : K, warp * M / 8, M / 8};
    parts[1] = {operands->b, shape->across, shape->across ? K : shape->n, 0,
                shape->across ? shape->n / 8 : 2};
}

/* Returns the bits of number i of a piece. */
static uint32_t number_in(simt_mma_kind kind, const void *piece, int i)
{
    return kind == SIMT_MMA_K8_TF32 ? ((const uint32_t *)piece)[i] : ((const uint16_t *)piece)[i];
}

/* ---- carrying out ---------------------------------------------------------------------------- */

/* Reads a part: number `other` of row `row` becomes bits[row * row_step + other * other_step]. */
static void read_part(const worker *self, simt_mma_kind kind, const simt_wgmma_part *part,
                      int row_step, int other_step, uint32_t *bits)
{
    const int in_piece = kind == SIMT_MMA_K8_TF32 ? 4 : 8; /* numbers of 16 bytes */
    for (int row = 0; row < part->rows; row++)
        for (int piece = 0; piece < part->pieces; piece++) {
            const void *from = simt_wgmma_piece(self, part, row, part->first + piece);
            for (int i = 0; i < in_piece; i++)
                bits[row * row_step + (piece * in_piece + i) * other_step] =
                    number_in(kind, from, i);
        }
}

/* A's bits, if they are in registers: as mma.sync has them. */
static void read_registers(const wgmma_product *p, int K, uint32_t *bits)
{
    for (int lane = 0; lane < WARP_LANES; lane++)
        for (int i = 0; i < 4; i++)
            for (int j = 0; j < K / 8; j++)
                bits[(lane / 4 + i % 2 * 8) * K + K / 8 * (lane % 4 + i / 2 * 4) + j] =
                    p->a[lane][i] >> 16 * j;
}

static void multiply(const worker *self, const wgmma_product *p)
{
    static thread_local uint32_t b_bits[MOST_K * MOST_N];
    static thread_local float B[MOST_K * MOST_N], D[M * MOST_N];
    uint32_t a_bits[M * MOST_K];
    float A[M * MOST_K];
    const simt_wgmma_shape *s = &p->shape;
    const int K = depth(s);
    if (p->part[0].rows)
        read_part(self, s->kind, &p->part[0], 1, K, a_bits);
    else
        read_registers(p, K, a_bits);
    read_part(self, s->kind, &p->part[1], s->across ? s->n : 1, s->across ? 1 : s->n, b_bits);
    /* Two sums of a lane lie side by side, in rows g and g + 8 in turn. */
    auto pair_of = [&](int lane, int i) {
        return &D[(lane / 4 + i % 2 * 8) * s->n + i / 2 * 8 + lane % 4 * 2];
    };
    if (!s->add) memset(D, 0, sizeof D);
    for (int lane = 0; lane < WARP_LANES && s->add; lane++)
        for (int i = 0; i < s->n / 4; i++)
            memcpy(pair_of(lane, i), p->d[lane] + 2 * i, 2 * sizeof(float));
    simt_widen(s->kind, a_bits, A, M * K);
    simt_widen(s->kind, b_bits, B, K * s->n);
    simt_multiply(M, s->n, K, A, B, D);
    for (int lane = 0; lane < WARP_LANES; lane++)
        for (int i = 0; i < s->n / 4; i++)
            memcpy(p->d[lane] + 2 * i, pair_of(lane, i), 2 * sizeof(float));
}

/* Carries out the oldest products: those of groups before `group`. */
static void finish(worker *self, wgmma_queue *q, unsigned group)
{
    size_t done = 0;
    for (; done < q->count && q->products[done].group < group; done++) {
        const wgmma_product *p = &q->products[done];
        multiply(self, p);
        for (const simt_wgmma_part &part : p->part)
            if (simt_observer) simt_observer->product_done(&part, p->site);
    }
    q->count -= done;
    memmove(q->products, q->products + done, q->count * sizeof *q->products);
}

/* ---- calls ------------------------------------------------------------------------------------ */

/* Arguments of one lane. */
struct wgmma_call {
    float *d;
    const uint32_t *a; /* NULL: in shared memory */
    const simt_wgmma_part *part;
    const simt_wgmma_shape *shape;
    const void *site;
};

static void combine_start(warp *w, uint32_t lanes)
{
    simt_need_all_lanes(w, lanes, "wgmma");
    wgmma_queue *q = queue_of(simt_worker, w);
    const wgmma_call *first = (const wgmma_call *)w->in[0];
    if (q->count == q->capacity) {
        const size_t capacity = q->capacity ? 2 * q->capacity : 16;
        wgmma_product *larger = (wgmma_product *)realloc(q->products, capacity * sizeof *larger);
        if (!larger) simt_fail(cudaErrorMemoryAllocation, nullptr, "no memory left for products");
        q->products = larger;
        q->capacity = capacity;
    }
    wgmma_product *p = &q->products[q->count];
    *p = {{}, {}, {first->part[0], first->part[1]}, *first->shape, q->group, first->site};
    for (int lane = 0; lane < WARP_LANES; lane++) {
        const wgmma_call *c = (const wgmma_call *)w->in[lane];
        p->d[lane] = c->d;
        if (c->a) memcpy(p->a[lane], c->a, sizeof p->a[lane]);
    }
    q->count++;
}

/* Fails if an operand is not where a product can read it. Lane l looks at rows l, l + 32 and so on. */
static void check_part(const worker *self, const simt_wgmma_part *part, const void *site)
{
    const uint64_t BASE_OFFSET = UINT64_C(7) << 49, b = part->operand;
    if (!part->rows) return;
    if (b >> 62 == 0 || b & BASE_OFFSET)
        simt_fail(cudaErrorInvalidValue, site,
                  "wgmma: descriptor 0x%016llx is not one of swizzled rows", (unsigned long long)b);
    /* Bits that count rows within eight of them. */
    if (b & UINT64_C(7) << (4 - (b >> 62)))
        simt_fail(cudaErrorInvalidValue, site,
                  "wgmma: descriptor 0x%016llx begins within a group of eight rows",
                  (unsigned long long)b);
    for (int row = (int)self->running->index; row < part->rows; row += WARP_LANES)
        for (int piece = 0; piece < part->pieces; piece++)
            if (!simt_shared_holds(self, simt_wgmma_piece(self, part, row, part->first + piece),
                                   16))
                simt_fail(
                    cudaErrorInvalidAddressSpace, site,
                    "wgmma: row %d of descriptor 0x%016llx is not in the block's shared memory",
                    row, (unsigned long long)b);
}

void simt_wgmma_at(float *d, const simt_wgmma_operands *operands, const simt_wgmma_shape *shape,
                   const void *site)
{
    static const collective start = {"wgmma", combine_start};
    worker *self = simt_worker;
    lane *me = self->running;
    simt_wgmma_part parts[SIMT_WGMMA_OPERANDS];
    if (simt_settings.capability != 90)
        simt_fail(cudaErrorLaunchFailure, site, "wgmma is of compute capability 9.0 alone");
    if (!(queue_of(self, me->home)->fenced & me->bit))
        simt_fail(cudaErrorLaunchFailure, site,
                  "wgmma: no wgmma.fence since the last wait: registers may still be on their way");
    simt_wgmma_parts(operands, shape, parts);
    for (const simt_wgmma_part &part : parts)
        check_part(self, &part, site);
    wgmma_call call = {d, operands->registers, parts, shape, site};
    simt_meet(~0u, (uint64_t)&call, &start, site);
}

static void combine_commit(warp *w, uint32_t lanes)
{
    simt_need_all_lanes(w, lanes, "wgmma.commit_group");
    queue_of(simt_worker, w)->group++;
}

static void combine_wait(warp *w, uint32_t lanes)
{
    simt_need_all_lanes(w, lanes, "wgmma.wait_group");
    wgmma_queue *q = queue_of(simt_worker, w);
    const unsigned left = (unsigned)w->in[lowest(lanes)];
    if (q->group > left) finish(simt_worker, q, q->group - left);
    q->fenced = 0;
}

void simt_wgmma_wait_at(int pending, const void *site)
{
    static const collective wait = {"wgmma.wait_group", combine_wait};
    simt_meet(~0u, (uint64_t)pending, &wait, site);
}

extern "C" {
void simt_wgmma(float *d, const uint32_t *a, uint64_t b, const simt_wgmma_shape *shape)
{
    const simt_wgmma_operands operands = {a, 0, b};
    simt_wgmma_at(d, &operands, shape, SIMT_CALLER);
}

void simt_wgmma_shared(float *d, uint64_t a, uint64_t b, const simt_wgmma_shape *shape)
{
    const simt_wgmma_operands operands = {nullptr, a, b};
    simt_wgmma_at(d, &operands, shape, SIMT_CALLER);
}

void simt_wgmma_fence(void)
{
    const lane *me = simt_worker->running;
    queue_of(simt_worker, me->home)->fenced |= me->bit;
}

void simt_wgmma_commit(void)
{
    static const collective commit = {"wgmma.commit_group", combine_commit};
    simt_meet(~0u, 0, &commit, SIMT_CALLER);
}

void simt_wgmma_wait(int pending)
{
    simt_wgmma_wait_at(pending, SIMT_CALLER);
}
}

/* ---- the end of a block ------------------------------------------------------------------------ */

bool simt_wgmma_finish(worker *self)
{
    if (!self->wgmma_queues) return true;
    for (unsigned i = 0; i < self->warps_used; i++) {
        const wgmma_queue *q = &self->wgmma_queues[i];
        if (!q->count) continue;
        self->failed.site = q->products[0].site;
        simt_note_failure(self, cudaErrorLaunchFailure,
                          "the block ends while a wgmma of warp %u is on its way, for which nobody "
                          "has waited",
                          i);
        return false;
    }
    simt_wgmma_forget(self);
    return true;
}

void simt_wgmma_forget(worker *self)
{
    for (unsigned i = 0; self->wgmma_queues && i < MAX_WARPS; i++) {
        wgmma_queue *q = &self->wgmma_queues[i];
        q->count = q->group = q->fenced = 0;
    }
}
