#include "kernels.h"

#include "device/parallel_for.cuh"
#include "device/warp.cuh"
#include "ops/attention.h"

#include <math.h>

constexpr int BLOCK = 256;

static __device__ __forceinline__ float leaky(float x)
{
    return x > 0 ? x : x * ATTENTION_SLOPE;
}

/* ---- numbers of nonzeros ---------------------------------------------------------------------- */

/* A row and the threads that walk along it: LANES of them, a warp or the block. */
template <int LANES> struct row_walk {
    int row, at, end; /* `at`: this thread's first nonzero; its next one is LANES further */
    bool has_row,
        is_first; /* whether there is a row to walk along; whether this thread is the first of it */

    __device__ __forceinline__ explicit row_walk(const pattern &E)
    {
        const int thread = threadIdx.x % LANES;
        const int number = (int)(blockIdx.x * (BLOCK / LANES) + threadIdx.x / LANES);
        row = LANES == BLOCK ? E.long_rows[number] : number;
        has_row = row < E.rows;
        at = has_row ? E.row_ptr[row] + thread : 0;
        end = has_row ? E.row_ptr[row + 1] : 0;
        if (LANES < BLOCK && end - at + thread > LONG_ROW) has_row = false;
        is_first = thread == 0;
    }

    /* The sum of x over all threads of the row. */
    __device__ __forceinline__ float sum(float x) const
    {
        x = warp_sum(x);
        if (LANES == WARP_SIZE) return x;
        __shared__ float part[BLOCK / WARP_SIZE];
        __syncthreads(); /* the sum before is read */
        if (lane_id() == 0) part[warp_id()] = x;
        __syncthreads();
        x = 0;
        for (int w = 0; w < BLOCK / WARP_SIZE; w++)
            x += part[w];
        return x;
    }
};

template <int LANES>
static __global__ void edge_scores_kernel(pattern E, half_scores of, float *score)
{
    const row_walk<LANES> way(E);
    if (!way.has_row) return;
    const float left = of.left[way.row];
    for (int k = way.at; k < way.end; k += LANES)
        score[k] = leaky(left + of.right[E.col_idx[k]]);
}

/* Walks along its row twice: for D, and then for the gradients, which need it. */
template <int LANES>
static __global__ void edge_gradients_kernel(pattern E, half_scores of, const float *lse,
                                             float *gradient, float *share, float *of_left)
{
    const row_walk<LANES> way(E);
    if (!way.has_row) return;
    const float left = of.left[way.row], row_lse = lse[way.row];
    float D = 0, sum = 0;
    for (int k = way.at; k < way.end; k += LANES) {
        share[k] = expf(leaky(left + of.right[E.col_idx[k]]) - row_lse);
        D += share[k] * gradient[k];
    }
    D = way.sum(D);
    for (int k = way.at; k < way.end; k += LANES) {
        const float x = left + of.right[E.col_idx[k]];
        const float ds = share[k] * (gradient[k] - D);
        const float dx = x > 0 ? ds : ds * ATTENTION_SLOPE;
        gradient[k] = dx;
        sum += dx;
    }
    sum = way.sum(sum);
    if (way.is_first) of_left[way.row] = sum;
}

template <int LANES>
static __global__ void row_sums_kernel(pattern E, const float *value, float *sums)
{
    const row_walk<LANES> way(E);
    if (!way.has_row) return;
    float sum = 0;
    for (int k = way.at; k < way.end; k += LANES)
        sum += value[k];
    sum = way.sum(sum);
    if (way.is_first) sums[way.row] = sum;
}

/* Launches a warp for each row, and a block for each long one. */
template <class... A>
static cudaError_t along_rows(const pattern &E, void (*by_warps)(pattern, A...),
                              void (*by_blocks)(pattern, A...), cudaStream_t stream, A... arguments)
{
    const int rows_of_block = BLOCK / WARP_SIZE;
    if (E.rows == 0) return cudaSuccess;
    by_warps<<<(E.rows - 1) / rows_of_block + 1, BLOCK, 0, stream>>>(E, arguments...);
    if (E.num_long) by_blocks<<<E.num_long, BLOCK, 0, stream>>>(E, arguments...);
    return cudaGetLastError();
}

cudaError_t edge_scores(const pattern *E, const half_scores *of, float *score, cudaStream_t stream)
{
    return along_rows(*E, edge_scores_kernel<WARP_SIZE>, edge_scores_kernel<BLOCK>, stream, *of,
                      score);
}

cudaError_t edge_gradients(const pattern *E, const half_scores *of, const float *lse,
                           float *gradient, float *share, float *of_left, cudaStream_t stream)
{
    return along_rows(*E, edge_gradients_kernel<WARP_SIZE>, edge_gradients_kernel<BLOCK>, stream,
                      *of, lse, gradient, share, of_left);
}

cudaError_t row_sums(const pattern *E, const float *value, float *sums, cudaStream_t stream)
{
    return along_rows(*E, row_sums_kernel<WARP_SIZE>, row_sums_kernel<BLOCK>, stream, value, sums);
}

/* ---- numbers of vertices ---------------------------------------------------------------------- */

struct fill_matrix {
    int heads, d;
    const float *a;
    float *matrix;

    __device__ void operator()(int64_t i) const
    {
        const int at = (int)(i / heads), head = (int)(i % heads);
        matrix[i] = at / d == head ? a[at] : 0;
    }
};

struct read_matrix {
    int heads, d;
    const float *matrix;
    float *a;

    __device__ void operator()(int64_t at) const { a[at] = matrix[at * heads + at / d]; }
};

cudaError_t heads_to_matrix(int heads, int d, const float *a, float *matrix, cudaStream_t stream)
{
    const int64_t count = (int64_t)heads * d * heads;
    return device_parallel_for(count, fill_matrix{heads, d, a, matrix}, stream);
}

cudaError_t heads_from_matrix(int heads, int d, const float *matrix, float *a, cudaStream_t stream)
{
    return device_parallel_for((int64_t)heads * d, read_matrix{heads, d, matrix, a}, stream);
}

struct apply_activation {
    activation f;
    float *x;

    __device__ void operator()(int64_t i) const
    {
        if (x[i] < 0) x[i] = f == ACTIVATION_ELU ? expm1f(x[i]) : 0;
    }
};

/* A negative y of ELU is exp(x) - 1, whose derivative is exp(x) = y + 1. */
struct apply_derivative {
    activation f;
    const float *y;
    float *dy;

    __device__ void operator()(int64_t i) const
    {
        if (y[i] <= 0) dy[i] *= f == ACTIVATION_ELU ? y[i] + 1 : 0;
    }
};

cudaError_t activate(enum activation f, int64_t count, float *x, cudaStream_t stream)
{
    if (f == ACTIVATION_NONE) return cudaSuccess;
    return device_parallel_for(count, apply_activation{f, x}, stream);
}

cudaError_t activate_backward(enum activation f, int64_t count, const float *y, float *dy,
                              cudaStream_t stream)
{
    if (f == ACTIVATION_NONE) return cudaSuccess;
    return device_parallel_for(count, apply_derivative{f, y, dy}, stream);
}

struct vertex_loss {
    int classes;
    const float *logits;
    const int *label;
    float weight;
    float *loss, *gradient;

    __device__ void operator()(int64_t i) const
    {
        const float *const x = logits + i * classes;
        float *const dx = gradient + i * classes;
        const int own = label[i];
        float most = x[0], sum = 0;
        for (int c = 1; c < classes; c++)
            most = fmaxf(most, x[c]);
        for (int c = 0; c < classes; c++)
            sum += expf(x[c] - most);
        loss[i] = own < 0 ? 0 : weight * (most + logf(sum) - x[own]);
        for (int c = 0; c < classes; c++)
            dx[c] = own < 0 ? 0 : weight * (expf(x[c] - most) / sum - (c == own ? 1 : 0));
    }
};

cudaError_t cross_entropy(int vertices, int classes, const float *logits, const int *label,
                          float weight, float *loss, float *gradient, cudaStream_t stream)
{
    return device_parallel_for(vertices,
                               vertex_loss{classes, logits, label, weight, loss, gradient}, stream);
}

struct adam {
    float rate, of_first, of_second; /* the last two undo the moments' start at 0 */
    const float *gradient;
    float *first, *second, *parameter;

    __device__ void operator()(int64_t i) const
    {
        const float g = gradient[i];
        first[i] = 0.9f * first[i] + 0.1f * g;
        second[i] = 0.999f * second[i] + 0.001f * g * g;
        parameter[i] -= rate * first[i] * of_first / (sqrtf(second[i] * of_second) + 1e-8f);
    }
};

cudaError_t adam_step(int64_t count, int step, float rate, const float *gradient, float *first,
                      float *second, float *parameter, cudaStream_t stream)
{
    const float of_first = (float)(1 / (1 - pow(0.9, step)));
    const float of_second = (float)(1 / (1 - pow(0.999, step)));
    return device_parallel_for(
        count, adam{rate, of_first, of_second, gradient, first, second, parameter}, stream);
}
