/*
 * tiled_csl.cu - from TCA-BME to Tiled-CSL: count each tile's words, scan, and deal out its nonzeros bank by bank.
 */
#include "formats/tiled_csl.h"

#include "device/bits.cuh"
#include "device/cuda_try.h"
#include "device/exec_space.cuh"

constexpr int BANKS = 32;

/* Index: a tile. size[i]: its words. */
struct count_words {
    const uint64_t *bitmap;
    int *size;

    __host__ __device__ void operator()(int64_t tile) const
    {
        int count = 0;
        for (int i = 0; i < GROUP_BITMAPS; i++)
            count += count_bits(bitmap[tile * GROUP_BITMAPS + i]);
        size[tile] = (count + TILE_ALIGNMENT - 1) / TILE_ALIGNMENT * TILE_ALIGNMENT;
    }
};

/* Index: a tile. */
struct deal_out {
    tca_bme from;
    tiled_csl m;

    __host__ __device__ void operator()(int64_t tile) const
    {
        const uint64_t *const bitmap = from.bitmap + tile * GROUP_BITMAPS;
        uint16_t before[GROUP_BITMAPS]; /* values of the tile that come before a bitmap's */
        unsigned char row[BANKS] = {};  /* the first of each bank that was not looked at */
        int at = m.offset[tile];
        const int end = m.offset[tile + 1];
        for (int i = 0, sum = 0; i < GROUP_BITMAPS; i++) {
            before[i] = (uint16_t)sum;
            sum += count_bits(bitmap[i]);
        }
        for (int dealt = -1; at != dealt;) {
            dealt = at; /* a round that deals out nothing is the last */
            for (int bank = 0; bank < BANKS; bank++)
                for (int before_bank = at; at == before_bank && row[bank] < GROUP_SIDE;)
                    take_pair(tile, bitmap, before, row[bank]++, bank, at);
        }
        for (int filling = 0; at < end; filling++)
            m.word[at++] = (uint32_t)(filling * TILE_PITCH + GROUP_SIDE);
    }

    /* Stores what exists of a row's two elements in a bank at `at`, which moves on. Rows are TILE_PITCH / 2 banks apart. */
    __host__ __device__ void take_pair(int64_t tile, const uint64_t *bitmap, const uint16_t *before,
                                       int row, int bank, int &at) const
    {
        const int left = 2 * ((bank + (BANKS - TILE_PITCH / 2 % BANKS) * row) % BANKS);
        const int which = row / MMA_SIDE * STRIP_BITMAPS + left / MMA_SIDE * 4 +
                          left % MMA_SIDE / BITMAP_SIDE * 2 + row % MMA_SIDE / BITMAP_SIDE;
        const int first = row % BITMAP_SIDE * BITMAP_SIDE + left % BITMAP_SIDE;
        const uint64_t bits = bitmap[which];
        for (int bit = first; bit < first + 2; bit++) {
            if (!(bits >> bit & 1)) continue;
            const int rank = before[which] + count_bits(bits & ((UINT64_C(1) << bit) - 1));
            const uint32_t value = from.values[from.offset[tile] + rank];
            m.word[at++] = value << 16 | (uint32_t)(row * TILE_PITCH + left + bit - first);
        }
    }
};
static_assert(GROUP_SIDE / 2 == BANKS && TILE_PITCH % 2 == 0, "a row has one word in each bank");

static cudaError_t fill(const tca_bme *from, tiled_csl *m)
{
    const exec_space where = m->where;
    const int64_t tiles = tca_bme_groups(from);
    CUDA_TRY(allocate(where, &m->offset, tiles + 1));
    CUDA_TRY(parallel_for(where, tiles, count_words{from->bitmap, m->offset}));
    CUDA_TRY(space_exclusive_scan(where, m->offset, (int)tiles + 1));
    CUDA_TRY(space_fetch(where, &m->num_words, m->offset + tiles, sizeof m->num_words));
    CUDA_TRY(allocate(where, &m->word, m->num_words));
    CUDA_TRY(parallel_for(where, tiles, deal_out{*from, *m}));
    return where == ON_DEVICE ? cudaDeviceSynchronize() : cudaSuccess;
}

cudaError_t tiled_csl_build(exec_space where, const tca_bme *from, tiled_csl *m)
{
    *m = tiled_csl{};
    m->where = where;
    m->rows = from->rows;
    m->cols = from->cols;
    m->down = from->down;
    m->across = from->across;
    m->longest = from->longest;
    const cudaError_t error = fill(from, m);
    if (error != cudaSuccess) tiled_csl_free(m);
    return error;
}

void tiled_csl_free(tiled_csl *m)
{
    space_free(m->where, m->offset);
    space_free(m->where, m->word);
    *m = tiled_csl{};
}
