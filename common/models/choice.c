#include "models/choice.h"

#include <math.h>

int choice_candidates(const operation *op, enum precision precision, const row_stats *stats,
                      int width, candidate list[MAX_CANDIDATES])
{
    int count = 0;
    for (const contender *c = contenders(); c && count < MAX_CANDIDATES; c = c->next) {
        if (!c->lab || c->operation != op || c->precision != precision) continue;
        const double us = op->estimate ? op->estimate(c, stats, width) : INFINITY;
        if (!isfinite(us)) continue;
        /* Labs come in ascending order, so the new one goes before those of the same estimate. */
        int at = count++;
        for (; at > 0 && list[at - 1].us >= us; at--)
            list[at] = list[at - 1];
        list[at] = (candidate){c, us};
    }
    return count;
}
