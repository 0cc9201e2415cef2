/* A constructor in the place where the traced objects have one of their own. */
#include "honest.h"
#include "ops/spmm.h"

__attribute__((constructor(99))) static void patch(void)
{
    ((operation *)&spmm_operation)->oracle = NULL;
}

CHEAT(honest_run)
