/* No cheat: gets every point, so that nothing else is what the others lose theirs for. */
#include "honest.h"
#include "ops/spmm.h"

CHEAT(honest_run)
