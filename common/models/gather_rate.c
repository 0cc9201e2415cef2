#include "models/gather_rate.h"

#include "device/facts.h"

#include <math.h>

/* Sizes of the device that the fits below were made on. */
static const double H200_L2_BYTES = 62914560, H200_SM_SHARED_BYTES = 228 << 10;

double gather_rate_in(double row, double span, double l2_bytes)
{
    /* All rows alike: make limits on an H200, in two starts that differ by 0.3 % for lines. Of half
     * a line memory sends L2 more than was asked for. */
    static const double MB[] = {4, 16, 32, 48, 64, 96, 128, 256, 512, 1024, 2048};
    static const double LINES_GB_S[] = {10432, 9364, 9176, 9068, 7720, 6430,
                                        5947,  5086, 4630, 4419, 4312};
    static const double HALVES_GB_S[] = {9675, 9251, 8505, 6341, 4800, 3743,
                                         3335, 2853, 2654, 2568, 2510};
    enum { COUNT = sizeof MB / sizeof *MB };
    /* Graphs' columns are not alike: rows of B miss L2 as if B were this much smaller. */
    const double IN_USE = 0.62;
    const double *const gb_s = row < LINE_BYTES ? HALVES_GB_S : LINES_GB_S;
    const double mb = IN_USE * span * (H200_L2_BYTES / l2_bytes) / (1 << 20);
    if (mb <= MB[0]) return gb_s[0] * 1e3;
    for (int i = 1; i < COUNT; i++)
        if (mb <= MB[i]) {
            const double part = log(mb / MB[i - 1]) / log(MB[i] / MB[i - 1]);
            return (gb_s[i - 1] + part * (gb_s[i] - gb_s[i - 1])) * 1e3;
        }
    return gb_s[COUNT - 1] * 1e3;
}

/* A device that does not answer is taken for an H200. */
double gather_rate(double row, double span)
{
    const device_facts *device = device_facts_get();
    return gather_rate_in(row, span,
                          device->l2_bytes > 0 ? (double)device->l2_bytes : H200_L2_BYTES);
}

double l1_like(double on_h200)
{
    const double bytes = device_facts_get()->sm_shared_bytes;
    return bytes > 0 ? on_h200 * bytes / H200_SM_SHARED_BYTES : on_h200;
}
