#include "prescale.h"

#include "ops/spmm.h"

#include <string.h>

int prescale_tunable(const contender *c)
{
    for (int i = 0; i < contender_num_tunables(c); i++)
        if (strcmp(c->tunables[i].name, "PRESCALE") == 0) return i;
    return -1;
}

bool prescale_stays_on(const contender *c, int cols, int N)
{
    const spmm_contender *lab = (const spmm_contender *)c;
    const int prescale = prescale_tunable(c);
    /* No rows, so that prepare has nothing to look at but the size of B. */
    const row_stats stats = {.cols = cols};
    const csr_matrix host = {.cols = cols};
    spmm_plan plan = {
        .A = {.cols = cols, .host = &host, .stats = &stats}, .N = N, .contender = lab};
    for (int i = 0; i < contender_num_tunables(c); i++)
        plan.tuning[i] = c->tunables[i].initial;
    plan.tuning[prescale] = 1;
    if (lab->prepare(&plan) != cudaSuccess) return false;
    if (lab->release) lab->release(&plan);
    return plan.tuning[prescale] == 1;
}
