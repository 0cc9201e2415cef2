/*
 * graph.h - work that is enqueued again and again, as a CUDA graph: one launch for all its kernels.
 *
 * Inside a graph the device starts the next kernel without the host. The CPU backend captures nothing: there a graph calls
 * the work anew each time, with the same results.
 */
#ifndef DEVICE_GRAPH_H
#define DEVICE_GRAPH_H

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct device_graph device_graph;

/* Enqueues the work on `stream`: the same kernels with the same arguments each time. It may not wait for the device, nor
 * allocate, nor use the legacy default stream. */
typedef cudaError_t graph_work(void *arg, cudaStream_t stream);

/* Captures one call of `work`. Libraries allocate at their first call: let the work run once before. `arg` must live as
 * long as the graph, which the caller destroys. On error *graph is NULL. */
cudaError_t graph_create(graph_work *work, void *arg, device_graph **graph);

/* Enqueues it on `stream`. */
cudaError_t graph_launch(const device_graph *graph, cudaStream_t stream);

/* Waits for nothing: its last run must have ended. NULL is allowed. */
void graph_destroy(device_graph *graph);

#ifdef __cplusplus
}
#endif
#endif
