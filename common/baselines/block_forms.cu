#include "baselines/block_forms.h"

#include "device/cuda_try.h"

#include <stdlib.h>

cudaError_t block_form_upload(const void *from, size_t bytes, void **d_to)
{
    CUDA_TRY(cudaMalloc(d_to, bytes + 1));
    return cudaMemcpy(*d_to, from, bytes, cudaMemcpyHostToDevice);
}

cudaError_t block_form_dense(const block_layout *layout, int side, size_t element, block_form *f)
{
    const int64_t K = (int64_t)layout->cols * side;
    *f = (block_form){element, layout->blocks, side, K, 1, nullptr};
    int64_t *base = (int64_t *)malloc(((size_t)layout->blocks + 1) * sizeof *base);
    if (!base) return cudaErrorMemoryAllocation;
    for (int b = 0; b < layout->blocks; b++)
        base[b] = layout->row[b] * side * K + (int64_t)layout->col[b] * side;
    const cudaError_t error =
        block_form_upload(base, (size_t)layout->blocks * sizeof *base, (void **)&f->d_base);
    free(base);
    return error;
}

/* Copies bits, whatever number they make: a thread for each element at a time. Nothing is divided, for cuBLAS has this copy
 * in its time: sides are powers of two, and elements fewer than 2^31. */
template <class T, bool GATHER>
static __global__ void block_form_kernel(const block_form f, T *W, T *form)
{
    const int bits = __ffs(f.side) - 1;
    const unsigned count = (unsigned)f.blocks << 2 * bits, stride = gridDim.x * blockDim.x;
    for (unsigned e = blockIdx.x * blockDim.x + threadIdx.x; e < count; e += stride) {
        const unsigned i = e >> bits & (f.side - 1), j = e & (f.side - 1);
        T *const place = form + f.d_base[e >> 2 * bits] + i * f.row_step + j * f.col_step;
        if (GATHER)
            W[e] = *place;
        else
            *place = W[e];
    }
}

template <bool GATHER>
static cudaError_t copy(const block_form *f, void *W, void *form, cudaStream_t stream)
{
    constexpr int BLOCKS = 1024, THREADS = 256;
    if (f->element == sizeof(uint32_t))
        block_form_kernel<uint32_t, GATHER>
            <<<BLOCKS, THREADS, 0, stream>>>(*f, (uint32_t *)W, (uint32_t *)form);
    else
        block_form_kernel<uint16_t, GATHER>
            <<<BLOCKS, THREADS, 0, stream>>>(*f, (uint16_t *)W, (uint16_t *)form);
    return cudaGetLastError();
}

cudaError_t block_form_scatter(const block_form *f, const void *W, void *to, cudaStream_t stream)
{
    return copy<false>(f, (void *)W, to, stream);
}

cudaError_t block_form_gather(const block_form *f, const void *from, void *W, cudaStream_t stream)
{
    return copy<true>(f, W, (void *)from, stream);
}

const char *block_dense_unsuited(const problem *p, int side, bool gated)
{
    const double MOST_BYTES = 0x1p32; /* 32768 x 32768 in fp32 */
    const double element = (double)precision_format(p->precision)->bytes;
    const double elements = (double)p->A->rows * (double)p->A->cols * side * side;
    if (gated) return "a dense product has no gates";
    if (elements * element > MOST_BYTES) return "too large to store densely (more than 4 GiB)";
    if (p->A->nnz == 0 || p->has_empty_column || p->stats.empty_rows)
        return "some features are read by no block and are no numbers: a dense product reads them";
    return nullptr;
}
