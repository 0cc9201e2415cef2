#include "results/bound.h"

#include <math.h>
#include <stdio.h>

/*
 * The bound is the largest of three times, since memory, L2 and the units work side by side.
 *
 * Memory. A run reads R bytes and writes W, each once at least. L2 holds S bytes. Cold, all R come from
 * memory. Warm, L2 holds at most S of them when the run begins, so R - S at least come from memory. Of
 * what is written, at most S still lie in L2 when the run ends. So W - S at least have gone to memory,
 * warm or cold. Memory reads and writes over the same wires, so the two add up:
 *
 *     (max(0, R - (warm ? S : 0)) + max(0, W - S)) / rate of memory
 *
 * It would be wrong to take R + W - S. A clean line that the run reads and a dirty one that it leaves
 * may share a place in L2, one after the other.
 *
 * L2. Nothing in a multiprocessor outlives a kernel (L1 is emptied when one begins), so all R bytes come
 * out of L2 in every run: R / rate of reading L2. Bytes written go the other way, at the same time.
 *
 * Units. flops / peak of the unit on that precision.
 */
double bound_ms(const machine_limits *l, const least_work *w, enum precision precision, bool warm)
{
    const double R = w->read_bytes, W = w->write_bytes,
                 S = l->l2_bytes > 0 ? l->l2_bytes : INFINITY;
    const double peak = limits_gflops(l, w->unit, precision);
    double ns = (fmax(0, R - (warm ? S : 0)) + fmax(0, W - S)) / limits_memory_gbs(l);
    if (l->l2_read_gbs > 0) ns = fmax(ns, R / l->l2_read_gbs);
    if (peak > 0) ns = fmax(ns, w->flops / peak);
    return ns > 0 ? ns * 1e-6 : NAN;
}

void bound_lacks(const machine_limits *l, const least_work *w, enum precision precision, char *text,
                 size_t bytes)
{
    static const char *const TENSOR_PEAKS[NUM_PRECISIONS] = {"tf32 peak", "fp16 peak", "bf16 peak"};
    const bool no_l2 = l->l2_read_gbs <= 0, no_peak = limits_gflops(l, w->unit, precision) <= 0;
    const char *peak = w->unit == UNIT_CUDA_CORES ? "fp32 peak" : TENSOR_PEAKS[precision];
    snprintf(text, bytes, "%s%s%s", no_l2 ? "L2 read" : "", no_l2 && no_peak ? ", " : "",
             no_peak ? peak : "");
}

double gather_ms(const machine_limits *l, const cost_model *m)
{
    double ms = 0;
    for (int i = 0; i < m->num_gathers; i++) {
        const gather_cost *g = &m->gathers[i];
        ms += g->bytes / limits_gather_gbs(l, g->row, g->span) * 1e-6;
    }
    return ms;
}
