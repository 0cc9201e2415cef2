/*
 * block_lock.cu - locks that blocks hold in turn (device/block_lock.cuh): no change under a lock is lost, and each block
 * finds what all threads of the one before have written.
 */
#include "tests/primitives/primitives.h"

#include "device/block_lock.cuh"

enum { MOST_LOCKS = 7, MOST_THREADS = 256, SHIFT = 37 };

/* Each block takes a lock, and moves the row that belongs to it by SHIFT places, one added: so a thread needs what another
 * thread of another block wrote. Between its loads and its stores the row must be nobody else's. */
static __global__ void shift_kernel(int *lock, int locks, int *rows)
{
    const int t = threadIdx.x, mine = blockIdx.x % locks;
    int *const row = rows + mine * blockDim.x;
    block_lock(lock + mine);
    const int x = __ldcg(row + (t + SHIFT) % blockDim.x);
    __syncthreads(); /* all have loaded */
    row[t] = x + 1;
    block_unlock(lock + mine);
}

/* Launches twice on the same locks: the second launch must find them as the first did. */
static void shifts(int blocks, int threads, int locks)
{
    static int got[MOST_LOCKS * MOST_THREADS];
    int held[MOST_LOCKS], wrong = 0;
    int *d_lock = device_zeros<int>(locks), *d_rows;
    for (int i = 0; i < locks * threads; i++)
        got[i] = 1000 * (i % threads);
    d_rows = to_device(got, locks * threads);
    for (int launch = 0; launch < 2; launch++)
        shift_kernel<<<blocks, threads>>>(d_lock, locks, d_rows);
    FINISH();
    to_host(got, d_rows, locks * threads);
    to_host(held, d_lock, locks);
    for (int l = 0; l < locks; l++) {
        const int times = 2 * ((blocks - l + locks - 1) / locks);
        for (int t = 0; t < threads; t++)
            wrong += got[l * threads + t] != 1000 * ((t + times * SHIFT) % threads) + times;
        wrong += held[l] != 0;
    }
    tap_ok(wrong == 0, "%d blocks of %d threads at %d locks, twice", blocks, threads, locks);
}

int main(void)
{
    shifts(1, 32, 1);
    shifts(400, 32, 1);
    shifts(400, MOST_THREADS, 1);
    shifts(1000, 96, MOST_LOCKS);
    return tap_done();
}
