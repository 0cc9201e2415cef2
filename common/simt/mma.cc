/*
 * mma.cc - matrix instructions of a warp: ldmatrix, mma.sync and mma.sp. PTX ISA, "Warp Level Matrix Instructions";
 * common/device/mma.cuh and mma_sparse.cuh draw the fragments.
 */
#include "simt/tensor_core.h"

static const int M = 16, N = 8;

void simt_need_all_lanes(const warp *w, uint32_t lanes, const char *what)
{
    if (lanes == ~0u) return;
    simt_fail_lane(cudaErrorLaunchFailure, w->lanes[lowest(lanes)],
                   "%s by lanes 0x%08x only: all 32 lanes of the warp must take part", what, lanes);
}

/* ---- mma.sync ------------------------------------------------------------------------------ */

struct mma_operands {
    float *d;
    const uint32_t *a, *b;
    const float *c;
};

/* Each 32-bit register of a fragment holds PER_WORD neighbours along k. With lane = 4 * g + t:
 * word w of A holds row g + 8 * (w & 1), columns PER_WORD * (t + 4 * (w >> 1)) and up;
 * word w of B holds column g, rows PER_WORD * (t + 4 * w) and up;
 * element e of C and D is at row g + 8 * (e >> 1), column 2 * t + (e & 1). */
template <simt_mma_kind KIND, int K, int PER_WORD> static void combine_mma(warp *w, uint32_t lanes)
{
    simt_need_all_lanes(w, lanes, "mma.sync");
    const int a_words = M * K / (WARP_LANES * PER_WORD), b_words = a_words / 2;
    uint32_t a_bits[M][K], b_bits[K][N];
    float A[M][K], B[K][N], D[M][N];
    for (int lane = 0; lane < WARP_LANES; lane++) {
        const mma_operands *o = (const mma_operands *)w->in[lane];
        const int g = lane / 4, t = lane % 4;
#pragma GCC unroll 4
        for (int i = 0; i < a_words; i++)
#pragma GCC unroll 2
            for (int j = 0; j < PER_WORD; j++)
                a_bits[g + 8 * (i & 1)][PER_WORD * (t + 4 * (i >> 1)) + j] = o->a[i] >> 16 * j;
#pragma GCC unroll 2
        for (int i = 0; i < b_words; i++)
#pragma GCC unroll 2
            for (int j = 0; j < PER_WORD; j++)
                b_bits[PER_WORD * (t + 4 * i) + j][g] = o->b[i] >> 16 * j;
        memcpy(&D[g][2 * t], o->c, 2 * sizeof(float));
        memcpy(&D[g + 8][2 * t], o->c + 2, 2 * sizeof(float));
    }
    simt_widen(KIND, a_bits[0], A[0], M * K);
    simt_widen(KIND, b_bits[0], B[0], K * N);
    simt_multiply(M, N, K, A[0], B[0], D[0]);
    for (int lane = 0; lane < WARP_LANES; lane++) {
        const mma_operands *o = (const mma_operands *)w->in[lane];
        const int g = lane / 4, t = lane % 4;
        memcpy(o->d, &D[g][2 * t], 2 * sizeof(float));
        memcpy(o->d + 2, &D[g + 8][2 * t], 2 * sizeof(float));
    }
}

void simt_mma_at(simt_mma_kind kind, float d[4], const uint32_t *a, const uint32_t *b,
                 const float c[4], const void *site)
{
    /* In the order of enum simt_mma_kind. */
    static const collective kinds[] = {
        {"mma.sync.m16n8k8 (tf32)", combine_mma<SIMT_MMA_K8_TF32, 8, 1>},
        {"mma.sync.m16n8k8 (fp16)", combine_mma<SIMT_MMA_K8_F16, 8, 2>},
        {"mma.sync.m16n8k16 (fp16)", combine_mma<SIMT_MMA_K16_F16, 16, 2>},
        {"mma.sync.m16n8k16 (bf16)", combine_mma<SIMT_MMA_K16_BF16, 16, 2>},
    };
    mma_operands operands = {d, a, b, c};
    simt_need_capability(kind == SIMT_MMA_K8_F16 ? 75 : 80, site, kinds[kind].name);
    simt_meet(~0u, (uint64_t)&operands, &kinds[kind], site);
}

extern "C" void simt_mma(simt_mma_kind kind, float d[4], const uint32_t *a, const uint32_t *b,
                         const float c[4])
{
    simt_mma_at(kind, d, a, b, c, SIMT_CALLER);
}

/* ---- mma.sp -------------------------------------------------------------------------------- */

struct mma_sp_operands {
    float *d;
    const uint32_t *a, *b;
    uint32_t metadata;
    int selector;
};

static const int SP_K = 32, STORED_K = 16, FOURS = SP_K / 4;

/* Returns the place in its four of stored element s of a row, 0 to 3. The word of lane 4 * g + 2 * selector + half
 * has a row's bits of 16 columns, rows g and g + 8. */
static int sp_place(const warp *w, int row, int four, int s)
{
    const mma_sp_operands *own = (const mma_sp_operands *)w->in[0];
    const int lane = row % 8 * 4 + 2 * own->selector + four / 4;
    const uint32_t word = ((const mma_sp_operands *)w->in[lane])->metadata;
    return (int)(word >> (16 * (row / 8) + 4 * (four % 4) + 2 * s) & 3);
}

/* Hardware promises nothing for places that do not ascend. */
static void need_ascending_places(const warp *w)
{
    for (int row = 0; row < M; row++)
        for (int four = 0; four < FOURS; four++)
            if (sp_place(w, row, four, 0) >= sp_place(w, row, four, 1))
                simt_fail_lane(
                    cudaErrorIllegalInstruction, w->lanes[0],
                    "mma.sp: row %d, columns %d to %d: metadata name place %d and then %d, "
                    "which do not ascend",
                    row, 4 * four, 4 * four + 3, sp_place(w, row, four, 0),
                    sp_place(w, row, four, 1));
}

/* Word w of A holds stored elements of row g + 8 * (w & 1), those of four t + 4 * (w >> 1). */
template <simt_mma_kind KIND> static void combine_mma_sp(warp *w, uint32_t lanes)
{
    simt_need_all_lanes(w, lanes, "mma.sp");
    need_ascending_places(w);
    uint32_t a_bits[M][STORED_K], b_bits[SP_K][N];
    float A[M][STORED_K], B[SP_K][N];
    auto operands = [&](int lane) { return (const mma_sp_operands *)w->in[lane]; };
    for (int lane = 0; lane < WARP_LANES; lane++) {
        const int g = lane / 4, t = lane % 4;
        for (int i = 0; i < 4; i++)
            for (int j = 0; j < 2; j++) {
                a_bits[g + 8 * (i & 1)][2 * (t + 4 * (i >> 1)) + j] =
                    operands(lane)->a[i] >> 16 * j;
                b_bits[8 * i + 2 * t + j][g] = operands(lane)->b[i] >> 16 * j;
            }
    }
    simt_widen(KIND, a_bits[0], A[0], M * STORED_K);
    simt_widen(KIND, b_bits[0], B[0], SP_K * N);
    for (int row = 0; row < M; row++) {
        float met[STORED_K][N], D[N]; /* the lines of B that the row meets */
        for (int k = 0; k < STORED_K; k++)
            memcpy(met[k], B[k / 2 * 4 + sp_place(w, row, k / 2, k % 2)], sizeof met[k]);
        auto sums = [&](int t) { return operands(row % 8 * 4 + t)->d + row / 8 * 2; };
        for (int t = 0; t < 4; t++)
            memcpy(D + 2 * t, sums(t), 2 * sizeof(float));
        simt_multiply(1, N, STORED_K, A[row], met[0], D);
        for (int t = 0; t < 4; t++)
            memcpy(sums(t), D + 2 * t, 2 * sizeof(float));
    }
}

void simt_mma_sp_at(simt_mma_kind kind, float d[4], const uint32_t *a, const uint32_t *b,
                    uint32_t metadata, int selector, const void *site)
{
    static const collective fp16 = {"mma.sp.m16n8k32 (fp16)", combine_mma_sp<SIMT_MMA_K16_F16>};
    static const collective bf16 = {"mma.sp.m16n8k32 (bf16)", combine_mma_sp<SIMT_MMA_K16_BF16>};
    mma_sp_operands operands = {d, a, b, metadata, selector};
    simt_need_capability(80, site, fp16.name);
    simt_meet(~0u, (uint64_t)&operands, kind == SIMT_MMA_K16_BF16 ? &bf16 : &fp16, site);
}

extern "C" void simt_mma_sp(simt_mma_kind kind, float d[4], const uint32_t *a, const uint32_t *b,
                            uint32_t metadata, int selector)
{
    simt_mma_sp_at(kind, d, a, b, metadata, selector, SIMT_CALLER);
}

/* ---- ldmatrix ------------------------------------------------------------------------------ */

struct ldmatrix_operands {
    uint32_t *fragments;
    const uint16_t *row;
    int count;
    bool transposed;
};

/* Lane 4 * g + t receives elements 2t and 2t + 1 of row g of each matrix; transposed, of column g.
 */
static void combine_ldmatrix(warp *w, uint32_t lanes)
{
    simt_need_all_lanes(w, lanes, "ldmatrix");
    auto operands = [&](int lane) { return (const ldmatrix_operands *)w->in[lane]; };
    for (int lane = 0; lane < WARP_LANES; lane++) {
        const ldmatrix_operands *o = operands(lane);
        int g = lane / 4, t = lane % 4;
        for (int i = 0; i < o->count; i++) {
            const uint16_t *first = operands(8 * i + 2 * t)->row;
            const uint16_t *second = operands(8 * i + 2 * t + 1)->row;
            const uint16_t *row = operands(8 * i + g)->row;
            o->fragments[i] = o->transposed ? first[g] | (uint32_t)second[g] << 16
                                            : row[2 * t] | (uint32_t)row[2 * t + 1] << 16;
        }
    }
}

void simt_ldmatrix_at(uint32_t *fragments, const void *row, int count, bool transposed,
                      const void *site)
{
    static const collective load = {"ldmatrix", combine_ldmatrix};
    worker *self = simt_worker;
    /* The rows come from the first 8 * count lanes; the others' addresses are not looked at. */
    if ((int)self->running->index < 8 * count) {
        if ((uintptr_t)row % 16)
            simt_fail(cudaErrorMisalignedAddress, site,
                      "ldmatrix: row address %p is not a multiple of 16", row);
        if (!simt_shared_holds(self, row, 16))
            simt_fail(cudaErrorInvalidAddressSpace, site,
                      "ldmatrix: row address %p is not in the block's shared memory", row);
    }
    ldmatrix_operands operands = {fragments, (const uint16_t *)row, count, transposed};
    simt_meet(~0u, (uint64_t)&operands, &load, site);
}

extern "C" void simt_ldmatrix(uint32_t *fragments, const void *row, int count, bool transposed)
{
    simt_ldmatrix_at(fragments, row, count, transposed, SIMT_CALLER);
}
