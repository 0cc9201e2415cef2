#include "device/graph.h"

#include "device/cuda_try.h"

#include <stdlib.h>

#ifdef BACKEND_CUDA

struct graph {
    cudaStream_t stream;
    cudaGraph_t nodes;
    cudaGraphExec_t ready;
};

static cudaError_t record(graph *g, graph_work *work, void *arg)
{
    CUDA_TRY(cudaStreamBeginCapture(g->stream, cudaStreamCaptureModeThreadLocal));
    const cudaError_t error = work(arg, g->stream);
    const cudaError_t ended = cudaStreamEndCapture(g->stream, &g->nodes); /* in any case */
    if (error != cudaSuccess) return error;
    CUDA_TRY(ended);
    CUDA_TRY(cudaGraphInstantiateWithFlags(&g->ready, g->nodes, 0));
    return cudaGraphUpload(g->ready, g->stream);
}

cudaError_t graph_launch(graph *g)
{
    return cudaGraphLaunch(g->ready, g->stream);
}

void graph_destroy(graph *g)
{
    if (!g) return;
    if (g->ready) cudaGraphExecDestroy(g->ready);
    if (g->nodes) cudaGraphDestroy(g->nodes);
    free(g);
}

#else

struct graph {
    cudaStream_t stream;
    graph_work *work;
    void *arg;
};

static cudaError_t record(graph *g, graph_work *work, void *arg)
{
    g->work = work;
    g->arg = arg;
    return cudaSuccess;
}

cudaError_t graph_launch(graph *g)
{
    return g->work(g->arg, g->stream);
}

void graph_destroy(graph *g)
{
    free(g);
}

#endif

cudaError_t graph_record(graph_work *work, void *arg, cudaStream_t stream, graph **made)
{
    graph *g = calloc(1, sizeof *g);
    *made = NULL;
    if (!g) return cudaErrorMemoryAllocation;
    g->stream = stream;
    const cudaError_t error = record(g, work, arg);
    if (error == cudaSuccess)
        *made = g;
    else
        graph_destroy(g);
    return error;
}
