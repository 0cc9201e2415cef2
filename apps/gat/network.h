/*
 * network.h - a network on the device: forward and backward pass, and a step of training. Dense products are cuBLAS's;
 * sparse ones are plans of library/sparse_plan.h. All of it runs in fp32, on the legacy default stream.
 */
#ifndef GAT_NETWORK_H
#define GAT_NETWORK_H

#include "model.h"

#include <cublas_v2.h>

/* Kernels of a network. Those of the suite are each its operation's best by rule. Others are a pipeline of three: an SpMM
 * and an SDDMM by name, and between them the softmax of the suite, which cuSPARSE lacks. */
typedef struct kernel_choice {
    const char *spmm;  /* NULL: the suite's network */
    const char *sddmm; /* NULL: by rule */
} kernel_choice;

typedef struct network network;

/* Makes plans and arrays. The graph, the model and the handle must outlive it. The caller destroys *made; on error it
 * is NULL. STATUS_SKIPPED: a kernel by name cannot take the graph. */
enum status network_create(const graph *g, const model *m, const kernel_choice *kernels,
                           cublasHandle_t blas, network **made, error_text *error);
void network_destroy(network *net);

/* Starts again from these parameters. */
enum status network_set(network *net, const float *parameters, error_text *error);

/* Enqueues a forward and a backward pass: the loss of each vertex, and the gradient of their sum. */
enum status network_gradients(network *net, error_text *error);

/* Enqueues the same, and a step of Adam with that learning rate. */
enum status network_step(network *net, float rate, error_text *error);

/* Waits for the last pass, and fetches its loss, and the share of the vertices held out that it labels right; or the
 * gradient, an array as that of the parameters. */
enum status network_fetch_loss(const network *net, double *loss, double *held_out,
                               error_text *error);
enum status network_fetch_gradient(const network *net, float *gradient, error_text *error);

/* The kernels of the sparse products, each once: "fused_attention, sddmm_balanced, length_bins". */
void network_kernels(const network *net, char *text, size_t bytes);

#endif
