#include "grader/fingerprint.h"

#include "device/parallel_for.cuh"
#include "grader/fingerprint_lane.h"

#include <stdlib.h>

struct fold_words {
    const uint64_t *from;
    int64_t words, lanes;
    uint64_t key, *to;
    __host__ __device__ void operator()(int64_t lane) const
    {
        fingerprint_lane(from, words, lane, lanes, key, to + 2 * lane);
    }
};

/* Words that folding leaves of each array, FINGERPRINT_REST words apart, on the device and on the host. */
static struct {
    uint64_t *d_workspace, *d_rests, *rests;
    int64_t *words; /* of each rest */
} room;

constexpr size_t REST_BYTES = FINGERPRINT_REST * sizeof(uint64_t);

cudaError_t fingerprints_open(int most)
{
    if (room.words) return cudaSuccess;
    CUDA_TRY(cudaMalloc(&room.d_workspace, 2 * 2 * FINGERPRINT_LANES * sizeof(uint64_t)));
    CUDA_TRY(cudaMalloc(&room.d_rests, most * REST_BYTES));
    room.rests = (uint64_t *)malloc(most * REST_BYTES);
    room.words = (int64_t *)malloc(most * sizeof *room.words);
    return room.rests && room.words ? cudaSuccess : cudaErrorMemoryAllocation;
}

/* Enqueues the folding of one array, until FINGERPRINT_REST words or fewer are left. */
static cudaError_t fold_array(const device_array &array, uint64_t key, uint64_t *d_rest,
                              int64_t *words)
{
    const uint64_t *from = (const uint64_t *)array.d_array;
    uint64_t *to = room.d_workspace, *other = to + 2 * FINGERPRINT_LANES;
    *words = (int64_t)(array.bytes / sizeof *from);
    while (*words > FINGERPRINT_REST) {
        const int64_t lanes = fingerprint_lanes(*words);
        CUDA_TRY(device_parallel_for(lanes, fold_words{from, *words, lanes, key, to}, 0));
        from = to;
        to = other;
        other = (uint64_t *)from;
        *words = 2 * lanes;
    }
    return cudaMemcpyAsync(d_rest, from, *words * sizeof *from, cudaMemcpyDeviceToDevice, 0);
}

cudaError_t fingerprints_take(const device_array *arrays, int count, uint64_t key)
{
    for (int i = 0; i < count; i++)
        CUDA_TRY(fold_array(arrays[i], key, room.d_rests + i * FINGERPRINT_REST, &room.words[i]));
    CUDA_TRY(cudaMemcpy(room.rests, room.d_rests, count * REST_BYTES, cudaMemcpyDeviceToHost));
    for (int i = 0; i < count; i++)
        fingerprint_finish(room.rests + i * FINGERPRINT_REST, room.words[i], key, arrays[i].made);
    return cudaSuccess;
}
