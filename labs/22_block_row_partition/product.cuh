/*
 * product.cuh - what a warp does with an item of row_windows.h: 16 rows of A times WIDTH columns of B.
 *
 * With g = lane / 4 and t = lane % 4: a lane reads nonzeros 2 t and 2 t + 1 of a run, in one load of 8 bytes each array.
 * Eight lanes read the same, so a run is one sector. They are columns t and t + 4 of the mma: any order of columns will
 * do that is the order of B's rows, too.
 *
 * Of their two rows of B a lane loads four columns, 16 bytes each; a row's 128 bytes are eight lanes' loads. Product j
 * takes element j of each, so nothing is moved between lanes. Lane g loads piece g / 2, or g / 2 + 4 if g is odd: then
 * the sums that a lane gets are columns 4 t to 4 t + 3 and 16 + 4 t to 16 + 4 t + 3. So four lanes store whole sectors.
 *
 * So eight lanes that follow each other, whose loads are served together, name four rows. Staged, eight lanes copy one row to
 * shared memory, and each lane takes its pieces from there.
 */
#ifndef LAB22_PRODUCT_CUH
#define LAB22_PRODUCT_CUH

#include "device/async_copy.cuh"
#include "device/last_block.cuh"
#include "device/mma.cuh"
#include "device/occupancy.cuh"
#include "device/vec.cuh"
#include "device/warp.cuh"
#include "formats/row_windows.cuh"

#include <algorithm>

constexpr int WARPS = 4, BLOCK = WARPS * WARP_SIZE;
constexpr int BAND = 32;    /* columns that four products make */
constexpr int PRODUCTS = 4; /* of 8 columns */

/* Registers that a kernel should need: sums, rows of B on their way, this and the next nonzeros, addresses. A multiple of
 * eight; 64 K registers of an SM make its blocks, as far as it has room for their threads. Fewer registers mean more warps,
 * and so more loads on their way. */
template <bool EXACT, int Q, int DEPTH>
constexpr int REGISTERS = (16 * Q + 8 * Q * DEPTH + 8 * DEPTH + (EXACT ? 28 : 16) + 7) / 8 * 8;
template <bool EXACT, int Q, int DEPTH>
constexpr int BLOCKS_PER_SM = std::min(65536 / (BLOCK * REGISTERS<EXACT, Q, DEPTH>),
                                       THREADS_PER_SM / BLOCK);

/* Staged: runs whose rows of B are on their way. */
constexpr int STAGES = GROUP_RUNS;

/* A warp's runs in shared memory. Piece p of row r lies where staged_piece says. */
template <int Q> struct staged_rows {
    float row[STAGES][Q][RUN][BAND];
};

/* Where in row r piece p of 16 bytes lies. Lanes g and g + 1, t = 0 to 3, read pieces g / 2 and g / 2 + 4 of four rows at
 * once: pieces of either half turn with the row, so they meet all 32 banks. */
static __device__ __forceinline__ int staged_piece(int r, int p)
{
    return (p & 4) | ((p + r) & 3);
}

struct windows_product {
    row_windows w;
    int N;
    int item_blocks; /* of a slice of columns */
    bool atomics; /* shared windows are added to C, which was zeroed; else the last part adds up */
    const float *B;
    float *C;
    float *d_partial;    /* [part][slice][Q][4][lane] of four floats */
    unsigned *d_arrived; /* [shared window][slice] */
};

/* The left operand of a run: 16 x 8 with one nonzero a column. Register 2 h + i is column t + 4 h, row g + 8 i. */
template <bool EXACT> struct run_operand {
    uint32_t high[4], low[4]; /* low: EXACT alone */

    __device__ __forceinline__ explicit run_operand(const two_nonzeros &x)
    {
        const int g = lane_id() / 4;
#pragma unroll
        for (int h = 0; h < 2; h++) {
            uint32_t upper, lower;
            parts_tf32<EXACT>(x.value[h], upper, lower);
            const int row = x.key[h] % WINDOW_ROWS;
            /* BEGIN STUDENT: the nonzero stands in its own row, and zeros in the 15 others */
#pragma unroll
            for (int i = 0; i < 2; i++) {
                high[2 * h + i] = row == g + 8 * i ? upper : 0;
                low[2 * h + i] = row == g + 8 * i ? lower : 0;
            }
            /* END STUDENT */
        }
    }
};

/* The item of a warp, its columns, and its sums: element e of product j of band q. EXACT: three products of tf32 make one
 * of fp32. V: columns that one load takes, 4 or 1. */
template <bool EXACT, int Q, int V> struct item_product {
    const windows_product &p;
    const window_item m;
    const int slice, column0;
    float sum[Q][PRODUCTS][4];

    __device__ __forceinline__ item_product(const windows_product &p, int item, int slice)
        : p(p), m(p.w.d_item[item]), slice(slice), column0(slice * BAND * Q), sum{}
    {
    }

    /* Loads four columns of a row of B a band. Lanes beyond the last column load the last ones: their sums
     * are not stored. */
    __device__ __forceinline__ void load_row(float (&b)[Q][PRODUCTS], uint32_t key) const
    {
        const int g = lane_id() / 4, piece = g / 2 + g % 2 * 4;
        const float *const row = p.B + (size_t)(key / WINDOW_ROWS) * (unsigned)p.N;
#pragma unroll
        for (int q = 0; q < Q; q++) {
            const int column = column0 + q * BAND + piece * PRODUCTS;
            load_from_row<V>(b[q], row, column, p.N);
        }
    }

    /* Multiplies DEPTH runs at a time, whose rows of B are all on their way before the first is used. The nonzeros of
     * the next are loaded meanwhile: their keys are the addresses to come. FLUSH: sums go to C each time. */
    template <int DEPTH, bool FLUSH> __device__ __forceinline__ void multiply()
    {
        two_nonzeros next[DEPTH];
#pragma unroll
        for (int d = 0; d < DEPTH; d++)
            if (d < m.runs) next[d].load(p.w, m.first_run + d);
        for (int run = 0; run < m.runs; run += DEPTH) {
            two_nonzeros now[DEPTH];
            float b[DEPTH][2][Q][PRODUCTS];
#pragma unroll
            for (int d = 0; d < DEPTH; d++) {
                now[d] = next[d];
                if (run + d >= m.runs) continue;
                load_row(b[d][0], now[d].key[0]);
                load_row(b[d][1], now[d].key[1]);
            }
#pragma unroll
            for (int d = 0; d < DEPTH; d++)
                if (run + DEPTH + d < m.runs) next[d].load(p.w, m.first_run + run + DEPTH + d);
#pragma unroll
            for (int d = 0; d < DEPTH; d++) {
                if (run + d >= m.runs) continue;
                const run_operand<EXACT> a(now[d]);
#pragma unroll
                for (int q = 0; q < Q; q++)
#pragma unroll
                    for (int j = 0; j < PRODUCTS; j++)
                        mma_m16n8k8_parts<EXACT>(sum[q][j], a.high, a.low,
                                                 {b[d][0][q][j], b[d][1][q][j]});
            }
            if constexpr (FLUSH) {
                add_atomically();
                clear();
            }
        }
    }

    /* Where a lane's copies of a run begin, in every run alike: lanes 8 i to 8 i + 7 copy rows i and i + 4. Those two rows, which
     * turn alike, and the runs lie at constant distances. So a copy has one address to compute. */
    struct lane_copies {
        const float *from[Q]; /* of B's first row */
        float *to;            /* in the first run */
        unsigned row;         /* of a run */

        __device__ __forceinline__ lane_copies(const item_product &own, staged_rows<Q> &staged)
            : row((unsigned)lane_id() / 8)
        {
            const int piece = (unsigned)lane_id() % 8;
            to = &staged.row[0][0][row][staged_piece(row, piece) * 4];
#pragma unroll
            for (int q = 0; q < Q; q++)
                from[q] = own.p.B + min(own.column0 + q * BAND + piece * 4, own.p.N - 4);
        }
    };

    /* Starts copying the rows of B of run d of a group. */
    __device__ __forceinline__ void stage(const lane_copies &lane, const group_of_runs &x,
                                          int d) const
    {
#pragma unroll
        for (int h = 0; h < 2; h++) {
            const uint32_t key = __shfl_sync(~0u, x.key[0], d * RUN + lane.row + 4 * h);
            const size_t row = (size_t)(key / WINDOW_ROWS) * (unsigned)p.N;
#pragma unroll
            for (int q = 0; q < Q; q++)
                async_copy<16>(lane.to + ((d * Q + q) * RUN + 4 * h) * BAND, lane.from[q] + row);
        }
    }

    /* The same sums as multiply: a run's rows of B come by way of shared memory, STAGES runs ahead. */
    __device__ __forceinline__ void multiply_staged(staged_rows<Q> &staged)
    {
        const int t = lane_id() % 4, g = lane_id() / 4, piece = g / 2 + g % 2 * 4;
        const lane_copies lane(*this, staged);
        group_of_runs now = {}, next = {};
        now.load(p.w, m, 0);
        next.load(p.w, m, STAGES);
#pragma unroll
        for (int d = 0; d < STAGES; d++) {
            if (d < m.runs) stage(lane, now, d);
            async_commit();
        }
        for (int run = 0; run < m.runs; run += STAGES) {
            /* Loads them at the turn's beginning: at its end they are moved, which waits for them. */
            group_of_runs after = {};
            after.load(p.w, m, run + 2 * STAGES);
#pragma unroll
            for (int d = 0; d < STAGES; d++) {
                if (run + d >= m.runs) break;
                async_wait<STAGES - 1>();
                __syncwarp(); /* now the copies of all lanes have arrived */
                const run_operand<EXACT> a(now.of_run(d));
                float b[2][Q][PRODUCTS];
#pragma unroll
                for (int h = 0; h < 2; h++)
#pragma unroll
                    for (int q = 0; q < Q; q++)
                        load_vector_plain(b[h][q],
                                          &staged.row[d][q][t + 4 * h][staged_piece(t, piece) * 4]);
                __syncwarp(); /* all have read: the next run may come */
                if (run + STAGES + d < m.runs) stage(lane, next, d);
                async_commit();
#pragma unroll
                for (int q = 0; q < Q; q++)
#pragma unroll
                    for (int j = 0; j < PRODUCTS; j++)
                        mma_m16n8k8_parts<EXACT>(sum[q][j], a.high, a.low,
                                                 {b[0][q][j], b[1][q][j]});
            }
            now = next;
            next = after;
        }
    }

    __device__ __forceinline__ void clear()
    {
#pragma unroll
        for (int i = 0; i < Q * PRODUCTS * 4; i++)
            sum[i / PRODUCTS / 4][i / 4 % PRODUCTS][i % 4] = 0;
    }

    /* Calls f(place in C, four sums, how many of them C has). Element e: row g + 8 (e / 2) and half e % 2 of the
     * band. */
    template <class F> __device__ __forceinline__ void for_each_four(const F &f) const
    {
        const int g = lane_id() / 4, t = lane_id() % 4;
#pragma unroll
        for (int i = 0; i < 2; i++) {
            const int place = m.window * WINDOW_ROWS + g + 8 * i;
            if (place >= p.w.window_rows) continue;
            const int row = p.w.d_row ? p.w.d_row[place] : place;
#pragma unroll
            for (int q = 0; q < Q; q++)
#pragma unroll
                for (int half = 0; half < 2; half++) {
                    const int e = 2 * i + half, column = column0 + q * BAND + half * 16 + 4 * t;
                    const float x[4] = {sum[q][0][e], sum[q][1][e], sum[q][2][e], sum[q][3][e]};
                    if (column < p.N) f(&p.C[(size_t)row * p.N + column], x, min(p.N - column, 4));
                }
        }
    }

    __device__ __forceinline__ void store() const
    {
        for_each_four([](float *c, const float(&x)[4], int inside) {
            if constexpr (V == 4)
                store_vector_streaming(c, x);
            else
                for (int j = 0; j < inside; j++)
                    c[j] = x[j];
        });
    }

    __device__ __forceinline__ void add_atomically() const
    {
        for_each_four([](float *c, const float(&x)[4], int inside) {
            for (int j = 0; j < inside; j++)
                atomicAdd(c + j, x[j]);
        });
    }

    /* Brings the sums to C: the item's alone, or with those of the window's other items. */
    __device__ __forceinline__ void finish() const
    {
        if (m.shared < 0)
            store();
        else if (p.atomics)
            add_atomically();
        else
            share();
    }

    /* Leaves the sums for the part of this window that comes last, which adds up all parts in their order and stores: the
     * same bits in every run. A lane's sums are its own in each part. */
    __device__ __forceinline__ void share() const
    {
        const int slices = gridDim.x / p.item_blocks, lane = lane_id();
        const shared_window all = p.w.d_shared[m.shared];
        const int part = (m.first_run - all.first_run) / p.w.shape.longest;
        constexpr int FOURS = Q * 4 * WARP_SIZE;
        float4 *const first = reinterpret_cast<float4 *>(p.d_partial) +
                              ((size_t)all.first_part * slices + slice) * FOURS + lane;
        const size_t pitch = (size_t)slices * FOURS; /* from part to part */
#pragma unroll
        for (int q = 0; q < Q; q++)
#pragma unroll
            for (int e = 0; e < 4; e++)
                first[part * pitch + (q * 4 + e) * WARP_SIZE] =
                    make_float4(sum[q][0][e], sum[q][1][e], sum[q][2][e], sum[q][3][e]);
        if (!warp_comes_last(&p.d_arrived[(size_t)m.shared * slices + slice], all.parts)) return;
        item_product total(*this);
        total.clear();
        /* BEGIN STUDENT: add up the parts, in their order, from L2 */
#pragma unroll 2 /* loads on their way at once */
        for (int i = 0; i < all.parts; i++)
#pragma unroll
            for (int q = 0; q < Q; q++)
#pragma unroll
                for (int e = 0; e < 4; e++) {
                    const float4 x = __ldcg(&first[i * pitch + (q * 4 + e) * WARP_SIZE]);
                    total.sum[q][0][e] += x.x;
                    total.sum[q][1][e] += x.y;
                    total.sum[q][2][e] += x.z;
                    total.sum[q][3][e] += x.w;
                }
        /* END STUDENT */
        total.store();
    }
};

#endif
