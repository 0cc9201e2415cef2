/*
 * bucket.h - a stable parallel counting sort: the one step shared by building and transposing CSR.
 *
 * The entries 0 .. count-1, each with a key in [0, buckets), are cut into chunks of consecutive
 * entries, one chunk a thread. bucket_plan_make() counts the keys of every chunk and turns the
 * counts into positions; then each chunk, walked in order, may place its own entries:
 *
 *     #pragma omp parallel for
 *     for (int chunk = 0; chunk < plan.chunks; chunk++)
 *         for (k = bucket_begin(&plan, chunk); k < bucket_begin(&plan, chunk + 1); k++)
 *             out[bucket_place(&plan, chunk, key[k])] = payload of k;
 *
 * The result does not depend on the number of chunks: entries of one key stay in their order.
 */
#ifndef MATRIX_BUCKET_H
#define MATRIX_BUCKET_H

#include "matrix/status.h"

#include <stddef.h>
#include <stdint.h>

typedef struct bucket_plan {
    int chunks;
    int64_t count, buckets;
    int64_t *next; /* next[chunk * buckets + key]: where the chunk puts its next entry of `key` */
} bucket_plan;

/* Plans the sort of key[0 .. count-1], every key within [0, buckets). bucket_ptr[0 .. buckets]
 * receives the start of each bucket, and count at the end. STATUS_MEMORY when there is no room for
 * the positions (at most 8 bytes an entry or a bucket, whichever are more). */
enum status bucket_plan_make(bucket_plan *plan, const int32_t *key, int64_t count, int64_t buckets,
                             int64_t *bucket_ptr, error_text *error);
void bucket_plan_free(bucket_plan *plan);

/* The first entry of a chunk; bucket_begin(plan, plan->chunks) is the number of entries. */
static inline int64_t bucket_begin(const bucket_plan *plan, int chunk)
{
    int64_t share = plan->count / plan->chunks, rest = plan->count % plan->chunks;
    return share * chunk + (chunk < rest ? chunk : rest);
}

/* The position of the chunk's next entry with this key. */
static inline int64_t bucket_place(bucket_plan *plan, int chunk, int32_t key)
{
    return plan->next[chunk * plan->buckets + key]++;
}

#endif
