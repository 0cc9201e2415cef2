/*
 * dense.cu - baselines/dense.h: B column after column, in 32 and 16 bits.
 */
#include "tests/primitives/primitives.h"

#include "baselines/dense.h"

#include <vector>

/* Twice, of other contents at the same address: the copy is renewed where it is. */
template <class T> static void copies(enum precision precision, int rows, int columns)
{
    spmm_contender c = {};
    spmm_plan plan = {};
    c.base.precision = precision;
    plan.contender = &c;
    plan.A.cols = rows;
    plan.N = columns;
    const size_t count = (size_t)rows * columns;
    std::vector<T> B(count), expected(count), got(count);
    T *d_B = NULL;
    void *d_columns = NULL, *first = NULL;
    bool right = true;
    CUDA(cudaMalloc((void **)&d_B, count * sizeof(T)));
    for (int time = 0; time < 2; time++) {
        for (int i = 0; i < rows; i++)
            for (int j = 0; j < columns; j++)
                B[(size_t)i * columns + j] = expected[(size_t)j * rows + i] =
                    (T)(1000003u * i + 7919u * j + time);
        CUDA(cudaMemcpy(d_B, B.data(), count * sizeof(T), cudaMemcpyHostToDevice));
        CUDA(dense_by_columns(&plan, d_B, &d_columns));
        if (time == 0) first = d_columns;
        CUDA(cudaMemcpy(got.data(), d_columns, count * sizeof(T), cudaMemcpyDeviceToHost));
        right = right && got == expected && d_columns == first;
    }
    tap_ok(right, "%d x %d of %d bytes, by columns", rows, columns, (int)sizeof(T));
    CUDA(cudaFree(d_B));
    CUDA(cudaFree(d_columns));
}

int main(void)
{
    copies<uint32_t>(PRECISION_FP32, 33, 8);
    copies<uint16_t>(PRECISION_FP16, 70, 5);
    copies<uint16_t>(PRECISION_BF16, 1, 17);
    copies<uint32_t>(PRECISION_FP32, 4099, 130); /* more elements than threads */
    return tap_done();
}
