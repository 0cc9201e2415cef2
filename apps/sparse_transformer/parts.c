#include "parts.h"

#include "device/cuda_try.h"

static const char *const NAMES[NUM_PARTS] = {
    [PART_INPUT] = "input", [PART_NORM] = "norm",           [PART_QKV] = "qkv",
    [PART_CAST] = "cast",   [PART_LOGITS] = "logits",       [PART_SOFTMAX] = "softmax",
    [PART_SUM] = "sum",     [PART_ATTENTION] = "attention", [PART_PROJECTION] = "projection",
    [PART_UP] = "up",       [PART_BIAS] = "bias",           [PART_DOWN] = "down",
};

const char *part_name(enum part part)
{
    return NAMES[part];
}

cudaError_t part_done(watcher *w, enum part part)
{
    return w ? w->after(w, part) : cudaSuccess;
}

/* ---- the stopwatch ----------------------------------------------------------------------------- */

static cudaError_t lap(watcher *self, enum part part)
{
    stopwatch *w = (stopwatch *)self;
    if (w->count == MAX_LAPS) return cudaSuccess;
    w->part[w->count++] = part;
    return cudaEventRecord(w->event[w->count], NULL);
}

cudaError_t stopwatch_open(stopwatch *w)
{
    *w = (stopwatch){.base = {lap}};
    for (int i = 0; i <= MAX_LAPS; i++)
        CUDA_TRY(cudaEventCreate(&w->event[i]));
    return cudaSuccess;
}

void stopwatch_close(stopwatch *w)
{
    for (int i = 0; i <= MAX_LAPS; i++)
        if (w->event[i]) cudaEventDestroy(w->event[i]);
}

cudaError_t stopwatch_start(stopwatch *w)
{
    w->count = 0;
    return cudaEventRecord(w->event[0], NULL);
}

cudaError_t stopwatch_read(stopwatch *w, double *ms)
{
    CUDA_TRY(cudaEventSynchronize(w->event[w->count]));
    for (int i = 0; i < w->count; i++) {
        float passed;
        CUDA_TRY(cudaEventElapsedTime(&passed, w->event[i], w->event[i + 1]));
        ms[w->part[i]] += passed;
    }
    return cudaSuccess;
}
