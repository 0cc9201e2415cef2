/* More templates than anybody can wait for. */
#include "honest.h"
#include "ops/spmm.h"

template <int DEPTH, long NUMBER> struct tree {
    static constexpr int leaves =
        tree<DEPTH - 1, 2 * NUMBER>::leaves + tree<DEPTH - 1, 2 * NUMBER + 1>::leaves;
};
template <long NUMBER> struct tree<0, NUMBER> {
    static constexpr int leaves = 1;
};
static_assert(tree<28, 0>::leaves == 1 << 28);

CHEAT(honest_run)
