/*
 * network.h - a MobileNet on the device, its 1x1 convolutions in one of several ways, and the whole of it as a CUDA graph.
 */
#ifndef MOBILENET_NETWORK_H
#define MOBILENET_NETWORK_H

#include "harness/timing.h"
#include "model.h"

#include <cuda_runtime_api.h>

/* Way of multiplying in 1x1 convolutions and the classifier. */
enum way {
    BY_PLANS,  /* of the suite, sparse; dense ones as BY_CUBLAS */
    BY_CUBLAS, /* a product, and a kernel for bias and ReLU: the source's baseline */
    BY_LT      /* cuBLASLt with its epilogue */
};

typedef struct variant {
    const char *name; /* "cuBLAS + kernel, TF32" */
    enum way way;
    enum precision precision;
    bool tf32;
    bool vendor; /* BY_PLANS: of cuSPARSE's kernels, not the suite's */
} variant;

typedef struct network network;

/* Sum of what a net takes on the device: images, two activations of the largest layers, weights, formats and workspaces. */
size_t network_bytes(const model *m, const variant *v);

/* STATUS_MEMORY: that is more than the device has free; the text has both sums. The model may be described alone. */
enum status network_fits(const model *m, const variant *v, error_text *error);

/* Makes arrays and plans. kernel: of the sparse layers; NULL: the rule of the library chooses for each; of a vendor, its
 * first. STATUS_MEMORY as network_fits, before anything is allocated. STATUS_SKIPPED: the
 * variant's library, or a kernel for a layer, is missing. *net is NULL on error. The model must outlive it. */
enum status network_open(const model *m, const variant *v, const char *kernel, network **net,
                         error_text *error);
void network_close(network *net);

/* Tries every kernel on each sparse layer, and keeps the fastest: the oracle of selection. Wants a device that keeps time,
 * and shows its progress. */
enum status network_select(network *net, error_text *error);

/* Enqueues one layer, or all of them. */
cudaError_t network_layer(network *net, int number, cudaStream_t stream);
cudaError_t network_run(network *net, cudaStream_t stream);

/* Milliseconds of the net as a graph: median and quartile distance of `runs`. And of each layer, from a graph that repeats
 * it alone, with its data in L2 where that is large enough. */
typedef struct net_times {
    spread whole;
    double layer_us[NUM_LAYERS];
} net_times;
enum status network_time(network *net, int runs, net_times *times, error_text *error);

/* Microseconds of a kernel that does nothing, in a graph of many: the floor under every launch. */
enum status launch_floor(double *us, error_text *error);

/* Who computes a layer, as "subwarp". */
const char *network_kernel(const network *net, int number);

/* The model; the device arrays that a layer reads and writes. */
const model *network_model(const network *net);
const variant *network_variant(const network *net);
const void *network_input(const network *net, int number);
const void *network_output(const network *net, int number);

#endif
