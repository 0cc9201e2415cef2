#include "ops/spmm.h"

extern "C" {
__attribute__((used)) static int fork(void)
{
    return 1;
}
}
