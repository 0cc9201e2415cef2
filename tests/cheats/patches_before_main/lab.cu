/* A constructor, which could rewrite the harness before it starts. */
#include "honest.h"
#include "ops/spmm.h"

__attribute__((constructor)) static void patch(void)
{
    ((operation *)&spmm_operation)->oracle = NULL;
}

CHEAT(honest_run)
