/*
 * graph.h - work that is enqueued once and launched many times: a CUDA graph. The CPU backend, which has none, enqueues
 * the work anew for each launch.
 *
 * What a recording enqueues must be the same every time: sizes and addresses are kept, contents are not. So a number that
 * changes from launch to launch is read from device memory.
 */
#ifndef DEVICE_GRAPH_H
#define DEVICE_GRAPH_H

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Work that graph_record captures: enqueues on `stream`, and on no other; allocates nothing and does not wait. */
typedef cudaError_t graph_work(void *arg, cudaStream_t stream);

/* Recorded work. */
typedef struct graph graph;

/* Captures work(arg, stream) on a stream that is not the default one. *made must not outlive `arg`, and the caller
 * destroys it; on error it is NULL. A GPU runs nothing meanwhile. */
cudaError_t graph_record(graph_work *work, void *arg, cudaStream_t stream, graph **made);

/* Enqueues one run of it on the stream on which it was recorded. */
cudaError_t graph_launch(graph *g);

/* Frees it; no launch may be on its way. NULL is allowed. */
void graph_destroy(graph *g);

#ifdef __cplusplus
}
#endif
#endif
