#include "cell.h"

#include "device/parallel_for.cuh"

#include <math.h>

static __device__ __forceinline__ float logistic(float x)
{
    return 1 / (1 + expf(-x));
}

/* A thread a unit and column: it finds gate g at at + g * count. */
struct forward_cell {
    cell_step s;
    const float *P;
    float *next_h, *next_c;

    __device__ __forceinline__ float gate(int64_t at, int g) const
    {
        return P[at + g * s.count] + s.D[at + g * s.count];
    }

    __device__ void operator()(int64_t at) const
    {
        if (s.kind == CELL_RNN) {
            next_h[at] = tanhf(gate(at, 0));
        } else if (s.kind == CELL_GRU) {
            const float r = logistic(gate(at, 0)), z = logistic(gate(at, 1));
            const float n = tanhf(r * P[at + 2 * s.count] + s.D[at + 2 * s.count]);
            next_h[at] = (1 - z) * n + z * s.h[at];
        } else {
            const float i = logistic(gate(at, 0)), f = logistic(gate(at, 1));
            const float g = tanhf(gate(at, 2)), o = logistic(gate(at, 3));
            const float c = f * s.c[at] + i * g;
            next_c[at] = c;
            next_h[at] = o * tanhf(c);
        }
    }
};

cudaError_t cell_forward(const cell_step *s, const float *P, float *next_h, float *next_c,
                         cudaStream_t stream)
{
    return device_parallel_for(s->count, forward_cell{*s, P, next_h, next_c}, stream);
}

/* The gates are formed again: no pass keeps them. */
struct backward_cell {
    cell_step s;
    float *P;
    const float *dh;
    float *dc, *direct_dh;

    __device__ __forceinline__ float gate(int64_t at, int g) const
    {
        return P[at + g * s.count] + s.D[at + g * s.count];
    }

    __device__ __forceinline__ void simple(int64_t at) const
    {
        const float h = tanhf(gate(at, 0));
        P[at] = dh[at] * (1 - h * h);
        direct_dh[at] = 0;
    }

    __device__ __forceinline__ void gru(int64_t at) const
    {
        const float r = logistic(gate(at, 0)), z = logistic(gate(at, 1));
        const float product = P[at + 2 * s.count];
        const float n = tanhf(r * product + s.D[at + 2 * s.count]);
        const float through_n = dh[at] * (1 - z) * (1 - n * n);
        P[at] = through_n * product * r * (1 - r);
        P[at + s.count] = dh[at] * (s.h[at] - n) * z * (1 - z);
        P[at + 2 * s.count] = through_n * r;
        direct_dh[at] = dh[at] * z;
    }

    __device__ __forceinline__ void lstm(int64_t at) const
    {
        const float i = logistic(gate(at, 0)), f = logistic(gate(at, 1));
        const float g = tanhf(gate(at, 2)), o = logistic(gate(at, 3));
        const float bent = tanhf(f * s.c[at] + i * g);
        const float by_c = dc[at] + dh[at] * o * (1 - bent * bent);
        P[at] = by_c * g * i * (1 - i);
        P[at + s.count] = by_c * s.c[at] * f * (1 - f);
        P[at + 2 * s.count] = by_c * i * (1 - g * g);
        P[at + 3 * s.count] = dh[at] * bent * o * (1 - o);
        dc[at] = by_c * f;
        direct_dh[at] = 0;
    }

    __device__ void operator()(int64_t at) const
    {
        if (s.kind == CELL_RNN)
            simple(at);
        else if (s.kind == CELL_GRU)
            gru(at);
        else
            lstm(at);
    }
};

cudaError_t cell_backward(const cell_step *s, float *P, const float *dh, float *dc,
                          float *direct_dh, cudaStream_t stream)
{
    return device_parallel_for(s->count, backward_cell{*s, P, dh, dc, direct_dh}, stream);
}

struct square {
    int N, columns;
    const float *h, *target;
    float *error, *dh;

    __device__ void operator()(int64_t at) const
    {
        const float off = at % N < columns ? h[at] - target[at] : 0;
        error[at] = off * off / (2 * columns);
        dh[at] = off / columns;
    }
};

cudaError_t squared_loss(int64_t count, int N, int columns, const float *h, const float *target,
                         float *error, float *dh, cudaStream_t stream)
{
    return device_parallel_for(count, square{N, columns, h, target, error, dh}, stream);
}

struct piece_sum {
    int64_t count;
    int threads;
    const float *x;
    float *sums;

    __device__ void operator()(int64_t j) const
    {
        float sum = 0;
        for (int64_t i = j; i < count; i += threads)
            sum += x[i];
        sums[j] = sum;
    }
};

cudaError_t strided_sums(int64_t count, int threads, const float *x, float *sums,
                         cudaStream_t stream)
{
    return device_parallel_for(threads, piece_sum{count, threads, x, sums}, stream);
}
