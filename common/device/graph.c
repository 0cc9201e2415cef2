#include "device/graph.h"

#include "device/cuda_try.h"

#include <stdlib.h>

struct device_graph {
    graph_work *work;
    void *arg;
#ifdef BACKEND_CUDA
    cudaGraphExec_t ready;
#endif
};

#ifdef BACKEND_CUDA
/* Ends the capture also where the work failed: the stream would stay in it. */
static cudaError_t capture(device_graph *g, cudaStream_t stream)
{
    cudaGraph_t graph = NULL;
    CUDA_TRY(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    const cudaError_t worked = g->work(g->arg, stream);
    const cudaError_t ended = cudaStreamEndCapture(stream, &graph);
    cudaError_t error = worked != cudaSuccess ? worked : ended;
    if (error == cudaSuccess) error = cudaGraphInstantiate(&g->ready, graph, 0);
    if (graph) cudaGraphDestroy(graph);
    return error;
}

static cudaError_t fill(device_graph *g)
{
    cudaStream_t stream;
    CUDA_TRY(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    const cudaError_t error = capture(g, stream);
    cudaStreamDestroy(stream);
    return error;
}

cudaError_t graph_launch(const device_graph *graph, cudaStream_t stream)
{
    return cudaGraphLaunch(graph->ready, stream);
}

void graph_destroy(device_graph *graph)
{
    if (graph && graph->ready) cudaGraphExecDestroy(graph->ready);
    free(graph);
}
#else
static cudaError_t fill(device_graph *g)
{
    (void)g;
    return cudaSuccess;
}

cudaError_t graph_launch(const device_graph *graph, cudaStream_t stream)
{
    return graph->work(graph->arg, stream);
}

void graph_destroy(device_graph *graph)
{
    free(graph);
}
#endif

cudaError_t graph_create(graph_work *work, void *arg, device_graph **graph)
{
    *graph = NULL;
    device_graph *made = calloc(1, sizeof *made);
    if (!made) return cudaErrorMemoryAllocation;
    made->work = work;
    made->arg = arg;
    const cudaError_t error = fill(made);
    if (error == cudaSuccess)
        *graph = made;
    else
        graph_destroy(made);
    return error;
}
