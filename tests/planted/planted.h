/*
 * planted.h - what the kernels of this folder and run.cu share.
 *
 * A kernel here is wrong in one way if RIGHT is false, and right if it is true: the two differ by
 * the fix. Each has a function of its name without _kernel that makes its arrays and launches it.
 */
#ifndef PLANTED_H
#define PLANTED_H

#include "harness/instruments.h"
#include "tests/primitives/primitives.h"

/* Mark the line that a finding must name, and the other line of a race. The store is made out of the
 * instruments' sight (mark.c): all threads make it. */
extern int here_line, there_line;
extern "C" void mark(int *line, int number);
#define HERE mark(&here_line, __LINE__)
#define THERE mark(&there_line, __LINE__)

/* Bug that must be found, and its first place. */
struct planted_bug {
    const char *name, *file;
    void (*wrong)(void), (*right)(void);
    int instrument; /* that finds it; 0: the runtime does, whichever is on */
    const char *kind;
    const char *says; /* a part of the text */
    uint3 block, thread;
    bool whole; /* no thread makes it, but a copy */
};
void expect_bug(const planted_bug &bug);
#define BUG(NAME, ...) expect_bug({#NAME, __FILE__, NAME<false>, NAME<true>, __VA_ARGS__})

/* Nothing must be found, by any instrument. */
void expect_clean(const char *name, void (*run)(void));
#define CLEAN(NAME) expect_clean(#NAME, NAME)

/* One function for each file. */
void plant_addresses(void);
void plant_places(void);
void plant_contents(void);
void plant_shared_races(void);
void plant_global_races(void);
void plant_volatile_races(void);
void plant_synchronisation(void);
void plant_async(void);
void plant_streams(void);
void plant_clean(void);

/* An array of `count` zeros that findings call `name`. */
template <class T> static T *named(const char *name, size_t count, bool read_only = false)
{
    T *d = device_zeros<T>(count);
    instruments_here()->name_array(d, count * sizeof(T), sizeof(T), name, read_only);
    return d;
}

/* Hides a number from the compiler, which would warn of the bug. */
template <class T> static T opaque(T x)
{
    volatile T y = x;
    return y;
}

#endif
