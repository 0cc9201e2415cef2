/*
 * fake_instruments.h - instruments that tell what a test has written down, and note what was asked of
 * them: for tests of what the harness makes of counters and findings.
 */
#ifndef TEST_FAKE_INSTRUMENTS_H
#define TEST_FAKE_INSTRUMENTS_H

#include "harness/instruments.h"

typedef struct fake_instruments {
    kernel_profile *profiles;
    size_t num_profiles;
    finding *findings;
    size_t num_findings;
    prediction prediction;
    char log[1024]; /* the calls, in order: "reset forget A.row_ptr:4 ... begin(run) end" */
} fake_instruments;

static fake_instruments fake;

static inline void fake_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
static inline void fake_note(const char *format, ...)
{
    va_list args;
    const size_t used = strlen(fake.log);
    va_start(args, format);
    vsnprintf(fake.log + used, sizeof fake.log - used, format, args);
    va_end(args);
}

static inline enum status fake_open(const instrument_settings *s, error_text *error)
{
    (void)error;
    fake_note("open(%d %s %g) ", s->which, s->model, s->sample);
    return STATUS_OK;
}

static inline void fake_name_array(const void *start, size_t bytes, size_t element,
                                   const char *name, bool read_only)
{
    (void)start;
    fake_note("%s:%zux%zu%s ", name, bytes / element, element, read_only ? "" : "(written)");
}

static inline void fake_forget_names(void)
{
    fake_note("forget ");
}

static inline void fake_forget_contents(const void *start, size_t bytes)
{
    (void)start;
    fake_note("fresh:%zu ", bytes);
}

static inline void fake_begin(bool in_prepare, void (*progress)(const char *, double))
{
    fake_note("begin(%s) ", in_prepare ? "prepare" : "run");
    if (progress) progress("kernel", 0.5);
}

static inline void fake_end(void)
{
    fake_note("end ");
}

static inline size_t fake_profiles(const kernel_profile **all)
{
    *all = fake.profiles;
    return fake.num_profiles;
}

static inline size_t fake_findings(const finding **all)
{
    *all = fake.findings;
    return fake.num_findings;
}

static inline void fake_predict(prediction *p)
{
    *p = fake.prediction;
}

static inline void fake_reset(void)
{
    fake_note("reset ");
}

static inline const char *fake_model_name(void)
{
    return "NVIDIA H200";
}

static inline const char *fake_model_text(void)
{
    return "132 SMs, an L2 of 60 MB";
}

static const instruments FAKE_INSTRUMENTS = {
    .open = fake_open,
    .name_array = fake_name_array,
    .forget_names = fake_forget_names,
    .forget_contents = fake_forget_contents,
    .begin = fake_begin,
    .end = fake_end,
    .profiles = fake_profiles,
    .findings = fake_findings,
    .predict = fake_predict,
    .reset = fake_reset,
    .model_name = fake_model_name,
    .model_text = fake_model_text,
};

/* ---- what a run may have done: one kernel of prepare, two of run ------------------------------ */

static line_profile fake_lines[] = {
    {"labs/09_fake/lab.cu:12", GLOBAL_LOAD, 4, {1000, 32000, 128000, 32000, 4000, 0}},
    {"labs/09_fake/lab.cu:13", SHARED_STORE, 8, {500, 16000, 128000, 2000, 1000, 0}},
    {"labs/09_fake/lab.cu:13", SHARED_LOAD, 8, {500, 16000, 128000, 1000, 1000, 0}},
    {"common/device/fake.cuh:7", GLOBAL_ATOMIC, 4, {100, 3200, 12800, 400, 400, 800}},
};

static kernel_profile fake_kernels[] = {
    {.name = "count_kernel",
     .in_prepare = true,
     .grid = {2, 1, 1},
     .block = {64, 1, 1},
     .sampled = 1,
     .total = {.launches = 2,
               .blocks = 4,
               .warps = 8,
               .threads = 256,
               .access = {[GLOBAL_LOAD] = {10, 320, 1280, 40, 40, 0}},
               .sms = 132}},
    {.name = "spmm_fake_kernel<4>",
     .grid = {100, 2, 1},
     .block = {32, 4, 1},
     .dynamic_shared_bytes = 2048,
     .sampled = 1,
     .lines = fake_lines,
     .num_lines = 4,
     .total = {.launches = 1,
               .blocks = 200,
               .warps = 800,
               .threads = 25600,
               .access = {[GLOBAL_LOAD] = {1000, 32000, 128000, 32000, 4000, 0},
                          [GLOBAL_ATOMIC] = {100, 3200, 12800, 400, 400, 800},
                          [SHARED_LOAD] = {500, 16000, 128000, 1000, 1000, 0},
                          [SHARED_STORE] = {500, 16000, 128000, 2000, 1000, 0}},
               .operations = {[OP_BARRIER] = 800, [OP_SHUFFLE] = 1234567},
               .steps = 1000,
               .lane_steps = 16000,
               .memory_steps = 400,
               .memory_lanes = 3200,
               .work = 80000,
               .longest_warp = 500,
               .longest_block = 600,
               .busiest_sm = 1212,
               .sms = 132,
               .l1_hit_sectors = 8000,
               .l2_read_bytes = 9007199254740993, /* more digits than a double has */
               .l2_write_bytes = 6400,
               .dram_read_bytes = 512,
               .dram_write_bytes = 0}},
    {.name = "spmm_rest_kernel",
     .grid = {1, 1, 1},
     .block = {32, 1, 1},
     .sampled = 1,
     .total = {.launches = 1,
               .blocks = 1,
               .warps = 1,
               .threads = 32,
               .access = {[GLOBAL_STORE] = {1, 32, 128, 4, 4, 0}},
               .steps = 1,
               .lane_steps = 32,
               .memory_steps = 1,
               .memory_lanes = 32,
               .work = 1,
               .longest_warp = 1,
               .longest_block = 1,
               .busiest_sm = 1,
               .sms = 132}},
};

static finding fake_finding_list[] = {
    {.kind = "race",
     .text = "thread 3 of warp 1 reads shared tile[3], which thread 7 of warp 0 wrote, and nothing "
             "orders the two",
     .where = "labs/09_fake/lab.cu:13",
     .other = "labs/09_fake/lab.cu:12",
     .kernel = "spmm_fake_kernel<4>",
     .block = {5, 0, 0},
     .thread = {3, 1, 0},
     .advice = "__syncthreads() between the two",
     .count = 96},
    {.kind = "out of bounds",
     .text = "reads B[400], of 400 elements",
     .where = "labs/09_fake/lab.cu:12",
     .kernel = "spmm_fake_kernel<4>",
     .block = {0, 0, 0},
     .thread = {31, 0, 0},
     .advice = "",
     .count = 1},
};

static const prediction fake_prediction = {
    .ms = 0.25,
    .resource_ms = {0.01, 0.2, 0.03, 0.04, 0, 0.005, 0.0049},
    .limit = LIMIT_L2,
};

/* Sets the findings of later calls: `profiles` and `findings` of the lists above. */
static inline void fake_set(size_t profiles, size_t findings)
{
    fake = (fake_instruments){.profiles = fake_kernels,
                              .num_profiles = profiles,
                              .findings = fake_finding_list,
                              .num_findings = findings,
                              .prediction = fake_prediction};
}

#endif
