/*
 * weights.h - random weights, of which every row keeps equally many. The device makes them all in a moment. The host makes
 * single ones, where the checks want them.
 *
 * Which columns a row keeps: a permutation of its columns, seeded by the row, says it; kept are the columns that it sends
 * below `kept`. So the number is exact, no element waits for another, and nothing is stored or sorted.
 */
#ifndef LLM_DECODE_WEIGHTS_H
#define LLM_DECODE_WEIGHTS_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
#define ON_BOTH __host__ __device__
extern "C" {
#else
#define ON_BOTH
#endif

/* A weight matrix before it is made. */
typedef struct weight_spec {
    int rows, cols;
    int kept;    /* elements of a row that are not pruned */
    float scale; /* of the largest weight */
    uint64_t seed;
} weight_spec;

/* Number `index` of a stream of 64 random bits: as matrix/random.h has it for the host. */
ON_BOTH static inline uint64_t weights_bits(uint64_t seed, uint64_t index)
{
    uint64_t z = seed + (index + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* An odd multiple of 2^-11 in (-1, 1): 2048 numbers, none of them 0. */
ON_BOTH static inline float weights_symmetric(uint64_t bits)
{
    return (float)(2 * (int)(bits >> 53) - 2047) * (1.0f / 2048);
}

/* Where the row's permutation sends column c. Each line maps the numbers of `bits` bits one to one; what leaves the matrix
 * goes round again, until it is one of its columns: less than twice on average. */
ON_BOTH static inline uint32_t weights_place(uint64_t key, uint32_t cols, uint32_t c)
{
    uint32_t bits = 1;
    while (cols > 1u << bits)
        bits++;
    const uint32_t mask = (1u << bits) - 1, half = (bits + 1) / 2;
    do {
        c = ((c ^ (uint32_t)key) * 0x2c1b3c6du) & mask;
        c ^= c >> half;
        c = ((c + (uint32_t)(key >> 32)) * 0x297a2d39u) & mask;
        c ^= c >> half;
        c = (c * 0x5851f42du) & mask;
        c ^= c >> half;
    } while (c >= cols);
    return c;
}

/* The weight before it is rounded to fp16; 0: it is pruned. A kept weight is never 0. */
ON_BOTH static inline float weights_element(const weight_spec *w, int row, int col)
{
    const uint64_t key = weights_bits(w->seed, (uint64_t)row);
    if (weights_place(key, (uint32_t)w->cols, (uint32_t)col) >= (uint32_t)w->kept) return 0;
    return w->scale * weights_symmetric(weights_bits(key, (uint64_t)col));
}

/* Number `index` of an array of small parameters: around `centre`, off by `spread` at most. */
ON_BOTH static inline float weights_parameter(uint64_t seed, uint64_t index, float centre,
                                              float spread)
{
    return centre + spread * weights_symmetric(weights_bits(seed, index));
}

/* Elements of a row that are kept where a share of them is pruned: at least one. */
int weights_kept(int cols, double sparsity);

/* Enqueues on the default stream: the CSR arrays of w, whose values are fp16; columns ascend in each row. */
cudaError_t weights_make_csr(const weight_spec *w, int *d_row_ptr, int *d_col_idx, void *d_values);

/* The same matrix with its zeros, row-major in fp16. */
cudaError_t weights_make_dense(const weight_spec *w, void *d_dense);

/* d[i] = weights_parameter(seed, i, centre, spread) in fp16. */
cudaError_t weights_make_parameters(uint64_t seed, int64_t count, float centre, float spread,
                                    void *d);

/* The same in fp32, without rounding: a bias for epilogues. */
cudaError_t weights_make_bias(uint64_t seed, int64_t count, float centre, float spread, float *d);

#ifdef __cplusplus
}
#endif
#endif
