/* An object file of 16 GB. */
#include "honest.h"
#include "ops/spmm.h"

char ballast[(size_t)16 << 30] = {1};

CHEAT(honest_run)
