/*
 * cell.h - the three recurrent cells on the device, beside their product P = W h: [rows][N], rows being 1, 3 or 4 times the
 * H units. The input's share of the gates is D, as large; s is the logistic function.
 *
 *   rnn    h' = tanh(P + D)
 *   gru    r = s(Pr + Dr)   z = s(Pz + Dz)   n = tanh(r Pn + Dn)                h' = (1 - z) n + z h
 *   lstm   i, f, o = s(P + D)   g = tanh(Pg + Dg)   c' = f c + i g              h' = o tanh(c')
 *
 * Gates lie one below the other, H rows each, in the order r z n and i f g o. Functions enqueue on `stream`.
 *
 * Source: K. Cho et al., 2014, with r behind the product, as cuDNN has it; S. Hochreiter, J. Schmidhuber, 1997.
 */
#ifndef RNN_CELL_H
#define RNN_CELL_H

#include <cuda_runtime_api.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The numbers of gates are their values. */
enum cell_kind { CELL_RNN = 1, CELL_GRU = 3, CELL_LSTM = 4 };

/* One time step: arrays of units * N numbers, [unit][N]; c of an LSTM alone. P and D are [gate * unit][N]. */
typedef struct cell_step {
    enum cell_kind kind;
    int64_t count; /* units * N */
    const float *D, *h, *c;
} cell_step;

/* next_h and next_c of P. */
cudaError_t cell_forward(const cell_step *s, const float *P, float *next_h, float *next_c,
                         cudaStream_t stream);

/* Given the loss's gradients by next_h and next_c: leaves that by P in P's place, that by c in dc's place, and in
 * direct_dh that by h around the product. */
cudaError_t cell_backward(const cell_step *s, float *P, const float *dh, float *dc,
                          float *direct_dh, cudaStream_t stream);

/* The gradient of 1 / (2 columns) times the sum of (h - target)^2 over the first `columns` of N columns; 0 in the others.
 * error gets the square, halved and divided by `columns`, of each element. */
cudaError_t squared_loss(int64_t count, int N, int columns, const float *h, const float *target,
                         float *error, float *dh, cudaStream_t stream);

/* sums[j] = the sum of x[j], x[j + threads], ... of count numbers: a loss in `threads` pieces. */
cudaError_t strided_sums(int64_t count, int threads, const float *x, float *sums,
                         cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
