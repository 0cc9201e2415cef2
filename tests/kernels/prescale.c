#include "prescale.h"

#include "ops/spmm.h"
#include "tests/tap.h"

#include <string.h>

/* Whether the lab leaves PRESCALE on for a B of cols x N floats. The matrix has no rows, so that
 * prepare has nothing to look at but its size. */
static bool stays_on(const spmm_contender *lab, int prescale, int cols, int N)
{
    const row_stats stats = {.cols = cols};
    const csr_matrix host = {.cols = cols};
    spmm_plan plan = {
        .A = {.cols = cols, .host = &host, .stats = &stats}, .N = N, .contender = lab};
    for (int i = 0; i < contender_num_tunables(&lab->base); i++)
        plan.tuning[i] = lab->base.tunables[i].initial;
    plan.tuning[prescale] = 1;
    if (lab->prepare(&plan) != cudaSuccess) return false;
    if (lab->release) lab->release(&plan);
    return plan.tuning[prescale] == 1;
}

void test_prescale(void)
{
    for (const contender *c = contenders(); c; c = c->next)
        for (int i = 0; i < contender_num_tunables(c); i++) {
            const spmm_contender *lab = (const spmm_contender *)c;
            if (strcmp(c->tunables[i].name, "PRESCALE") != 0) continue;
            tap_ok(stays_on(lab, i, 1, 1) && stays_on(lab, i, 1 << 25, 32) &&
                       stays_on(lab, i, 1 << 15, 1 << 15),
                   "lab%d %s: offsets into B are scaled up to 4 GiB", c->lab, c->name);
            tap_ok(!stays_on(lab, i, (1 << 25) + 1, 32) &&
                       !stays_on(lab, i, 1 << 15, (1 << 15) + 1) &&
                       !stays_on(lab, i, 2147483647, 2147483647),
                   "lab%d %s: and not beyond", c->lab, c->name);
        }
}
