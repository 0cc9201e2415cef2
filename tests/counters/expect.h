/*
 * expect.h - what the tests in this folder share: kernels whose counts are known beforehand, and the
 * comparison of those with what the instruments counted.
 *
 * A test writes down the requests that each warp of its kernel makes, lane by lane, as the CUDA
 * programming guide has them: lanes that took different ways meet again where the ways join. What
 * they cost is worked out here, by marking every byte that is touched, and not by common/profiler.
 *
 * The same program runs on a GPU, each kernel once. There it prints what is expected of it under the
 * names of Nsight Compute's metrics, so that the rules can be checked against the hardware:
 *
 *     scripts/ncu-patterns build/cuda/tests/counters/run
 */
#ifndef TESTS_COUNTERS_EXPECT_H
#define TESTS_COUNTERS_EXPECT_H

#include "harness/instruments.h"
#include "tests/primitives/primitives.h"

/* tap_ok and tap_note, counted for all files together; and the end of main. */
bool check(bool passed, const char *format, ...) __attribute__((format(printf, 2, 3)));
void note(const char *format, ...) __attribute__((format(printf, 1, 2)));
int checks_done(void);

const unsigned ALL_LANES = 0xffffffffu;

/* The lanes for which it is so. */
template <class F> uint32_t lanes_where(F condition)
{
    uint32_t lanes = 0;
    for (int lane = 0; lane < 32; lane++)
        lanes |= (uint32_t)(condition(lane) ? 1 : 0) << lane;
    return lanes;
}

/* Expected steps of the warps of a launch. */
class expectation
{
  public:
    counters n = {};

    /* The lanes in `lanes`, if any, access `size` bytes each. A lane's bytes are offset(lane) bytes
     * away from the beginning of an array that is aligned to 128. */
    template <class F> void access(access_kind kind, int size, uint32_t lanes, F offset)
    {
        int64_t at[32], count = 0;
        for (int lane = 0; lane < 32; lane++)
            if (lanes >> lane & 1) at[count++] = (int64_t)offset(lane);
        if (count) add(kind, size, lanes, at, count);
    }
    template <class F> void load(uint32_t lanes, F element)
    {
        access(GLOBAL_LOAD, 4, lanes, [&](int lane) { return 4 * (int64_t)element(lane); });
    }
    template <class F> void store(uint32_t lanes, F element)
    {
        access(GLOBAL_STORE, 4, lanes, [&](int lane) { return 4 * (int64_t)element(lane); });
    }
    /* A warp does it `times` times. */
    void operation(warp_operation what, int times = 1) { n.operations[what] += times; }

  private:
    void add(access_kind kind, int size, uint32_t lanes, const int64_t *at, int64_t count);
};

/* Around a launch: what happens in between is counted, from zero. */
void counting_begins(bool in_prepare = false);
void counting_ends(void);

/* The launch of `kernel` was counted as it should be: every access counter of every kind, every
 * operation, and the sums over them. */
void expect(const char *kernel, int blocks, int block_threads, const expectation &wanted);

/* One launch with all of that. A kernel's name is its own in this program: ncu knows it by that. The
 * CPU backend wants to see launches in a .cu file, so each has the macro LAUNCH for itself. */
#define EXPECT(KERNEL, BLOCKS, BLOCK_THREADS, ARGUMENTS, WANTED) \
    do {                                                         \
        counting_begins();                                       \
        LAUNCH(KERNEL, BLOCKS, BLOCK_THREADS, ARGUMENTS);        \
        counting_ends();                                         \
        expect(#KERNEL, BLOCKS, BLOCK_THREADS, WANTED);          \
    } while (0)

/* The profile of the only kernel counted since counting began; NULL, and a failed test, if there is
 * not one. Not to be called where there are no instruments. */
const kernel_profile *only_profile(const char *kernel);

/* A value to move, of any type. */
__device__ __forceinline__ void make(unsigned char &x, int i)
{
    x = (unsigned char)i;
}
__device__ __forceinline__ void make(unsigned short &x, int i)
{
    x = (unsigned short)i;
}
__device__ __forceinline__ void make(float &x, int i)
{
    x = (float)i;
}
__device__ __forceinline__ void make(float2 &x, int i)
{
    x = make_float2((float)i, 1);
}
__device__ __forceinline__ void make(float4 &x, int i)
{
    x = make_float4((float)i, 1, 2, 3);
}

/* The groups of tests, one a file. */
void global_patterns(void);
void shared_patterns(void);
void atomic_patterns(void);
void warp_operations(void);
void divergence(void);
void idioms(void);
void long_logs(void);
void source_lines(void);
void sums(void);
void same_every_time(char **argv);
/* Prints profiles, as same_every_time and sums start this program for; returns its exit status. */
int print_profiles(void);
int print_sample(void);

#endif
