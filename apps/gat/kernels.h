/*
 * kernels.h - what a network does to its arrays beside sparse and dense products. All arrays lie on the device; every
 * function enqueues on `stream` and returns what the launch said.
 *
 * E is the pattern of all heads: row i * H + h has the columns j * H + h of A's row i. So a number of each vertex and
 * head, stored as [vertex][H], is a number of each row of E; and V [vertices][H][d] is a matrix with E's columns as rows.
 */
#ifndef GAT_KERNELS_H
#define GAT_KERNELS_H

#include <cuda_runtime_api.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Rows of more nonzeros are long: a block walks along each, where others have a warp. */
enum { LONG_ROW = 512 };

/* A pattern, and the numbers of long_rows of its rows: those that are long. */
typedef struct pattern {
    int rows, num_long;
    const int *row_ptr, *col_idx, *long_rows;
} pattern;

/* The numbers of rows and columns that a score is made of: s = leaky(left[row] + right[column]). */
typedef struct half_scores {
    const float *left, *right;
} half_scores;

enum activation { ACTIVATION_NONE, ACTIVATION_ELU, ACTIVATION_RELU };

/* score[k] = s of nonzero k. */
cudaError_t edge_scores(const pattern *E, const half_scores *of, float *score, cudaStream_t stream);

/* The gradients of a softmax of scores. In: lse of each row, and in `gradient` dp, the loss's gradient by each share.
 * Writes share[k] = p, gradient[k] = dx, and of_left[row] = the sum of dx over the row. Here p = exp(s - lse), and D is
 * the sum of p dp over the row. The gradient by a score is ds = p (dp - D). Then dx = ds, or 0.2 ds where the argument
 * of leaky is negative. */
cudaError_t edge_gradients(const pattern *E, const half_scores *of, const float *lse,
                           float *gradient, float *share, float *of_left, cudaStream_t stream);

/* sums[i] = the sum of value over row i's nonzeros. */
cudaError_t row_sums(const pattern *E, const float *value, float *sums, cudaStream_t stream);

/* A vector for each head as a matrix, so that <Z[i][h], a[h]> of all heads is a dense product: matrix [H * d][H] has
 * a[h][f] in row h * d + f and column h, else 0. And back: a[h][f] from that place of the matrix. */
cudaError_t heads_to_matrix(int heads, int d, const float *a, float *matrix, cudaStream_t stream);
cudaError_t heads_from_matrix(int heads, int d, const float *matrix, float *a, cudaStream_t stream);

/* x = f(x). And with y = f(x): dy = dy f'(x), in place. */
cudaError_t activate(enum activation f, int64_t count, float *x, cudaStream_t stream);
cudaError_t activate_backward(enum activation f, int64_t count, const float *y, float *dy,
                              cudaStream_t stream);

/* Cross entropy of each vertex that is trained, times `weight`: loss, and the gradient by its logits. Of others both
 * are 0. label[i] is below `classes`, or negative: not trained. */
cudaError_t cross_entropy(int vertices, int classes, const float *logits, const int *label,
                          float weight, float *loss, float *gradient, cudaStream_t stream);

/* One step of Adam (D. Kingma, J. Ba, 2015) with its usual constants. step: 1, 2, ... */
cudaError_t adam_step(int64_t count, int step, float rate, const float *gradient, float *first,
                      float *second, float *parameter, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
