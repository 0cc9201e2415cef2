#include "models/choice.h"

#include <math.h>

int choice_candidates(enum precision precision, const row_stats *stats, int N,
                      candidate list[MAX_CANDIDATES])
{
    int count = 0;
    for (const contender *c = contenders(); c && count < MAX_CANDIDATES; c = c->next) {
        if (!c->lab || c->operation != &spmm_operation || c->precision != precision) continue;
        const spmm_contender *own = (const spmm_contender *)c; /* of which c is the first member */
        if (!own->estimate) continue;
        const double us = own->estimate(stats, N);
        if (!isfinite(us)) continue;
        /* Labs come in ascending order, so the new one goes before those of the same estimate. */
        int at = count++;
        for (; at > 0 && list[at - 1].us >= us; at--)
            list[at] = list[at - 1];
        list[at] = (candidate){own, us};
    }
    return count;
}
