/*
 * mutant.h - a kernel that is wrong on purpose, and what the harness must say of it.
 */
#ifndef TESTS_MUTANTS_MUTANT_H
#define TESTS_MUTANTS_MUTANT_H

#include "ops/attention.h"
#include "ops/sddmm.h"
#include "ops/softmax.h"
#include "ops/spmm.h"

/* A contender whose `summary` is the diagnosis that the harness must give, or NULL for the healthy
 * twin, which must pass. SHOWS_ALWAYS: on any device; SHOWS_ON_SIMT: a race, which a GPU may win by
 * luck, whereas the CPU backend's fixed order of lanes always loses it. SHOWS_ON_NEIGHBOURS: where
 * neighbouring columns are used, which the matrix of the others has not, so on another one;
 * SHOWS_ON_LONG_ROWS: in sums of thousands, likewise; SHOWS_ON_VALUES: where nonzeros have values, of
 * which SDDMM needs none. ON_FEW_BLOCKS is added to one of the first two where a few blocks are
 * enough. ON_UNEVEN_BLOCKS is added where some lists must have many blocks a step and most have
 * one. Lab numbers, to tell mutants from labs. `after` is the number of the combination of knobs
 * that a mutant is tried with, where its operation has any (problem_turn_knobs). */
enum {
    SHOWS_ALWAYS = 100,
    SHOWS_ON_SIMT = 200,
    SHOWS_ON_NEIGHBOURS = 300,
    SHOWS_ON_LONG_ROWS = 400,
    SHOWS_ON_VALUES = 500,
    ON_FEW_BLOCKS = 1000,
    ON_UNEVEN_BLOCKS = 2000
};

/* Registers the kernel that run<bug> launches, of those that show always and prepare nothing. */
#define MUTANT(bug, diagnosis)                                             \
    static spmm_contender mutant_##bug = {                                 \
        .base = {.lab = SHOWS_ALWAYS, .name = #bug, .summary = diagnosis}, \
        .run = run<bug>,                                                   \
    };                                                                     \
    SPMM_REGISTER(mutant_##bug)

/* The same of SDDMM, and of those that show elsewhere. */
#define SDDMM_MUTANT(bug, diagnosis) SDDMM_MUTANT_ON(SHOWS_ALWAYS, bug, diagnosis)
#define SDDMM_MUTANT_ON(shows, bug, diagnosis)                      \
    static sddmm_contender mutant_##bug = {                         \
        .base = {.lab = shows, .name = #bug, .summary = diagnosis}, \
        .run = run<bug>,                                            \
    };                                                              \
    SDDMM_REGISTER(mutant_##bug)

/* The same of block-sparse products in fp16, which prepare and release a plan: with a combination of knobs, and with more
 * members of the contender, if some are given. */
#define BSMM_MUTANT(bug, shows, knobs, diagnosis, ...)                    \
    static bsmm_contender mutant_##bug##knobs = {                         \
        .base = {.lab = shows,                                            \
                 .after = knobs,                                          \
                 .name = #bug,                                            \
                 .summary = diagnosis,                                    \
                 .precision = PRECISION_FP16 __VA_OPT__(, ) __VA_ARGS__}, \
        .prepare = prepare,                                               \
        .run = run16<bug>,                                                \
        .release = release,                                               \
    };                                                                    \
    BSMM_REGISTER(mutant_##bug##knobs)

#endif
