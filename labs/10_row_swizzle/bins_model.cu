/*
 * bins_model.cu - what bins should take on an H200, and how much a group of theirs walks. Lab 20's rule
 * asks the same.
 */
#include "bins.h"

/* Groups of 8 lanes that the GPU holds: 132 SMs, 40 warps. */
constexpr int RESIDENT_GROUPS = 132 * 40 * 4;

double bins_estimate(const row_stats *stats, int N)
{
    /* They cut a row, so that no row is long. Fitted to 512 to 8192 rows of 51 and 205 nonzeros at N = 128
     * and 256, within 14 %, and to ddi and protein at N = 32, within 3 %. */
    const double flops = 2.0 * stats->nnz * N;
    return 7 + flops / (N < 64 ? 5.4e6 : 6.6e6);
}

int bins_serial(const row_stats *stats, int N)
{
    /* Many for few sums to combine, but fewer where there is not enough work for all groups, for balance. */
    constexpr double SERIAL_128_FROM_MEAN = 32, SERIAL_256_FROM_MEAN = 256;
    const double each = (double)stats->nnz / RESIDENT_GROUPS * (N / 64 > 1 ? N / 64 : 1);
    return stats->mean >= SERIAL_256_FROM_MEAN && each >= 256   ? 256
           : stats->mean >= SERIAL_128_FROM_MEAN && each >= 128 ? 128
                                                                : 64;
}
