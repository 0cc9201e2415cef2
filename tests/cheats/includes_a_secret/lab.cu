/* Wants the compiler to show a file of the machine. */
#include "honest.h"
#include "ops/spmm.h"

#define SECRET </etc/shadow>
#include SECRET

CHEAT(honest_run)
