#include "matrix/bucket.h"

#include "matrix/memory.h"

#include <omp.h>
#include <stdlib.h>

/* As many chunks as threads, but never more positions than entries: the sum over chunks x buckets
 * is sequential and must stay small beside the entries themselves. */
static int choose_chunks(int64_t count, int64_t buckets)
{
    int64_t most = buckets > 0 ? count / buckets : 1;
    int threads = omp_get_max_threads();
    if (most < 1) most = 1;
    return most < threads ? (int)most : threads;
}

enum status bucket_plan_make(bucket_plan *plan, const int32_t *key, int64_t count, int64_t buckets,
                             int64_t *bucket_ptr, error_text *error)
{
    *plan =
        (bucket_plan){.chunks = choose_chunks(count, buckets), .count = count, .buckets = buckets};
    int64_t positions = plan->chunks * buckets;
    enum status status =
        memory_check(positions * (int64_t)sizeof *plan->next, "sorting the entries", error);
    if (status != STATUS_OK) return status;
    plan->next = calloc((size_t)positions + 1, sizeof *plan->next);
    if (!plan->next) return fail(error, STATUS_MEMORY, "no memory to sort the entries");

#pragma omp parallel for
    for (int chunk = 0; chunk < plan->chunks; chunk++) {
        int64_t *counts = plan->next + chunk * buckets;
        int64_t end = bucket_begin(plan, chunk + 1);
        for (int64_t k = bucket_begin(plan, chunk); k < end; k++)
            counts[key[k]]++;
    }

    int64_t position = 0;
    for (int64_t bucket = 0; bucket < buckets; bucket++) {
        bucket_ptr[bucket] = position;
        for (int chunk = 0; chunk < plan->chunks; chunk++) {
            int64_t *next = &plan->next[chunk * buckets + bucket];
            int64_t entries = *next;
            *next = position;
            position += entries;
        }
    }
    bucket_ptr[buckets] = position;
    return STATUS_OK;
}

void bucket_plan_free(bucket_plan *plan)
{
    free(plan->next);
    plan->next = NULL;
}
