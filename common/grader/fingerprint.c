#include "grader/fingerprint.h"

#include "grader/fingerprint_lane.h"

#include <stdlib.h>

void fingerprint_finish(const uint64_t *rest, int64_t words, uint64_t key, fingerprint *f)
{
    fingerprint_lane(rest, words, 0, 1, key, f->half);
}

bool fingerprint_of(const void *array, size_t bytes, uint64_t key, fingerprint *f)
{
    const uint64_t *from = array;
    uint64_t *made = NULL;
    int64_t words = (int64_t)(bytes / sizeof *from);
    while (words > FINGERPRINT_REST) {
        const int64_t lanes = fingerprint_lanes(words);
        uint64_t *const to = malloc(2 * lanes * sizeof *to);
        if (to) {
#pragma omp parallel for
            for (int64_t lane = 0; lane < lanes; lane++)
                fingerprint_lane(from, words, lane, lanes, key, to + 2 * lane);
        }
        free(made);
        if (!to) return false;
        from = made = to;
        words = 2 * lanes;
    }
    fingerprint_finish(from, words, key, f);
    free(made);
    return true;
}
