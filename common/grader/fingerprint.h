/*
 * fingerprint.h - 128 bits that tell whether an array is still what it was, made on the device and on the host.
 *
 * A runner answers "done" with the fingerprints of all results. Who says so earlier does not know them yet. To make
 * results for fingerprints that were made up, right to within rounding, takes some 2^64 trials.
 *
 * The array is read as words of 8 bytes. Lane i chains words i, i + lanes, ... by the mixing of splitmix64
 * (matrix/random.h), and the states of the lanes are folded again until few are left.
 */
#ifndef GRADER_FINGERPRINT_H
#define GRADER_FINGERPRINT_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fingerprint {
    uint64_t half[2];
} fingerprint;

enum {
    FINGERPRINT_RATIO = 16,      /* words a lane, at least */
    FINGERPRINT_LANES = 1 << 18, /* at most: as many threads as keep a GPU's memory busy */
    FINGERPRINT_REST = 256       /* as few words are chained by the host */
};

/* The lanes that `words` words are folded to: two words each. */
static inline int64_t fingerprint_lanes(int64_t words)
{
    const int64_t lanes = words / FINGERPRINT_RATIO, most = FINGERPRINT_LANES;
    return lanes < most ? lanes : most;
}

/* fingerprint.c: of the host's array, whose last bytes % 8 do not count. False: no memory. */
bool fingerprint_of(const void *array, size_t bytes, uint64_t key, fingerprint *f);

/* The last step: of the words that folding left, *f becomes the fingerprint. */
void fingerprint_finish(const uint64_t *rest, int64_t words, uint64_t key, fingerprint *f);

/* An array on the device, and where its fingerprint goes. */
typedef struct device_array {
    const void *d_array;
    size_t bytes;
    fingerprint *made;
} device_array;

/* fingerprint.cu: takes room on the device, once, for fingerprints of as many arrays as `most`. It stays until the
 * program ends: how long that takes must not be counted as a submission's. */
cudaError_t fingerprints_open(int most);

/* Fingerprints of `count` arrays, behind all that was enqueued on the default stream. */
cudaError_t fingerprints_take(const device_array *arrays, int count, uint64_t key);

#ifdef __cplusplus
}
#endif
#endif
