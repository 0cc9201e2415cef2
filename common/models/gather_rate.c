#include "models/gather_rate.h"

#include <math.h>

/* Turns gb_s of an H200 into bytes a microsecond of another device. Memory's part grows from 0 at the fastest of the table
 * to 1 at the slowest. */
static double of_device(double gb_s, double fastest, double slowest, const device_rates *here)
{
    const double from_memory = (fastest / gb_s - 1) / (fastest / slowest - 1);
    return gb_s * 1e3 * (here->l2 + from_memory * (here->memory - here->l2));
}

double gather_rate_in(double row, double span, const device_rates *here)
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
    const double mb = IN_USE * span / here->l2_bytes / (1 << 20);
    double rate = mb <= MB[0] ? gb_s[0] : gb_s[COUNT - 1];
    for (int i = 1; i < COUNT; i++)
        if (mb > MB[i - 1] && mb <= MB[i]) {
            const double part = log(mb / MB[i - 1]) / log(MB[i] / MB[i - 1]);
            rate = gb_s[i - 1] + part * (gb_s[i] - gb_s[i - 1]);
        }
    return of_device(rate, gb_s[0], gb_s[COUNT - 1], here);
}

double gather_rate(double row, double span)
{
    return gather_rate_in(row, span, device_rates_get());
}

double l1_like(double on_h200)
{
    return on_h200 * device_rates_get()->l1_bytes;
}
