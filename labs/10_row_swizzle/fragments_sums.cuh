/*
 * fragments_sums.cuh - where the sums of a block of the product with fragments go: to C, and before that through
 * a workspace if blocks share a panel.
 */
#ifndef LAB10_FRAGMENTS_SUMS_CUH
#define LAB10_FRAGMENTS_SUMS_CUH

#include "fragments_fetch.cuh"

/* Sums i * 4 to i * 4 + 3 of the rows of a panel and WIDTH columns, as far as C has them. */
template <int WIDTH, int V, class T>
static __device__ __forceinline__ void store_four(const fragment_product<T> &p, int panel,
                                                  int column, int i, const float (&x)[4])
{
    const int position = panel * p.a.shape.panel_rows + i / (WIDTH / 4);
    const int j = column + i % (WIDTH / 4) * 4;
    if (position >= p.a.long_rows || j >= p.N) return;
    T rounded[4];
    for (int k = 0; k < 4; k++)
        rounded[k] = narrow<T>(x[k]);
    T *const out = p.C + (size_t)p.a.d_order[position] * p.N + j;
    if constexpr (V >= 4) {
        store_vector_streaming(out, rounded);
    } else {
        for (int k = 0; k < 4; k++)
            if (j + k < p.N) out[k] = rounded[k];
    }
}

/* The last of the blocks that share a panel adds up what all of them have left, in their order. */
template <int WIDTH, int V, class T>
static __device__ __forceinline__ void add_splits(const fragment_product<T> &p, int panel,
                                                  int column, const float4 *partial)
{
    const int fours = p.a.shape.panel_rows * (WIDTH / 4);
    for (int i = threadIdx.x; i < fours; i += BLOCK) {
        float total[4] = {};
#pragma unroll 4 /* loads on their way at once */
        for (int split = 0; split < p.a.shape.splits; split++) {
            const float4 x = __ldcg(&partial[split * fours + i]);
            total[0] += x.x;
            total[1] += x.y;
            total[2] += x.z;
            total[3] += x.w;
        }
        store_four<WIDTH, V>(p, panel, column, i, total);
    }
}

#endif
