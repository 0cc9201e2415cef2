#include "network.h"

#include "baselines/lt_layer.h"
#include "device/epilogue.h"
#include "device/graph.h"
#include "harness/progress.h"
#include "kernels.h"
#include "library/sparse_plan.h"
#include "training/arrays.h"
#include "training/try.h"

#include <cublas_v2.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WORKSPACE = 32 << 20, MOST_REPEATS = 20, WARM_RUNS = 5, SELECT_RUNS = 7 };

static const char VENDOR[] = "cuSPARSE";

/* A layer on the device. */
typedef struct device_layer {
    void *weights;
    float *bias;
    void *bias_of_type; /* for cuBLASLt: the same numbers in the net's precision */
    sparse_matrix *pattern;
    sparse_plan *plan;
    lt_layer *lt;
} device_layer;

struct network {
    const model *m;
    variant v;
    device_layer layers[NUM_LAYERS];
    void *images, *activation[2]; /* a layer reads one and writes the other */
    device_arrays arrays;
    cublasHandle_t blas;
    void *blas_room;     /* its workspace, without which it would allocate in a graph */
    cudaStream_t stream; /* of times and graphs */
};

/* ---- memory ------------------------------------------------------------------------------------ */

static size_t element(const model *m)
{
    return precision_format(m->shape.precision)->bytes;
}

/* Elements of the largest output among those of even, or odd, layers. */
static size_t largest_activation(const model *m, int parity)
{
    size_t most = 0;
    for (int i = parity; i < NUM_LAYERS; i += 2) {
        const layer *l = &m->layers[i];
        const size_t count = (size_t)l->out * layer_out_columns(l, m->shape.batch);
        if (count > most) most = count;
    }
    return most;
}

static size_t image_numbers(const model *m)
{
    return (size_t)COLORS * layer_in_columns(&m->layers[0], m->shape.batch);
}

/* A sparse layer has its pattern and values and, in a format of its own, each nonzero once more in 8 bytes. cuBLAS
 * has one workspace; of cuBLASLt each layer has one and, at worst, its bias as a matrix. */
size_t network_bytes(const model *m, const variant *v)
{
    const size_t e = element(m);
    size_t bytes = e * (image_numbers(m) + largest_activation(m, 0) + largest_activation(m, 1));
    if (v->way != BY_LT) bytes += WORKSPACE;
    for (int i = 0; i < NUM_LAYERS; i++) {
        const layer *l = &m->layers[i];
        bytes += e * l->num_weights + (sizeof(float) + e) * l->out;
        if (l->sparse) bytes += 12 * l->num_weights + 8 * (size_t)l->out;
        if (v->way == BY_LT && l->kind >= POINTWISE && l->kind != POOL)
            bytes += WORKSPACE + e * l->out * layer_out_columns(l, m->shape.batch);
    }
    return bytes;
}

enum status network_fits(const model *m, const variant *v, error_text *error)
{
    const size_t need = network_bytes(m, v);
    size_t available, total;
    TRY_CUDA(cudaMemGetInfo(&available, &total));
    if (need <= available) return STATUS_OK;
    return fail(error, STATUS_MEMORY,
                "%s takes %.2f GB of device memory and %.2f GB are free; try a smaller --batch",
                v->name, need * 1e-9, available * 1e-9);
}

/* An array of the net's precision: filled from the host, or NaN where `from` is NULL. */
static enum status upload(network *net, void *array, const float *from, size_t count,
                          error_text *error)
{
    const size_t floats = (count * element(net->m) + sizeof(float) - 1) / sizeof(float);
    if (!from) return arrays_allocate(&net->arrays, array, floats, error);
    if (net->m->shape.precision == PRECISION_FP32)
        return arrays_upload(&net->arrays, array, from, count, error);
    float *narrow = calloc(floats + 1, sizeof *narrow);
    if (!narrow) return fail(error, STATUS_MEMORY, "no memory for weights in 16 bits");
    precision_narrow(net->m->shape.precision, from, narrow, count);
    const enum status status = arrays_upload(&net->arrays, array, narrow, floats, error);
    free(narrow);
    return status;
}

/* ---- making it --------------------------------------------------------------------------------- */

static enum sparse_status make_plan(network *net, int number, const char *kernel,
                                    sparse_plan **plan)
{
    const layer *l = &net->m->layers[number];
    const device_layer *d = &net->layers[number];
    const sparse_request request = {
        .operation = "spmm",
        .kernel = kernel,
        .precision = (enum sparse_precision)net->m->shape.precision,
        .width = (int)layer_out_columns(l, net->m->shape.batch),
        .values = d->weights,
        .bias = d->bias,
        .relu = l->relu,
    };
    return sparse_plan_create(d->pattern, &request, plan);
}

/* The kernels that a variant's sparse layers may choose among. */
static const char *next_kernel(const network *net, int *at)
{
    const char *name;
    while ((
        name = sparse_kernel_name("spmm", (enum sparse_precision)net->m->shape.precision, (*at)++)))
        if (!strncmp(name, VENDOR, strlen(VENDOR)) == net->v.vendor) return name;
    return NULL;
}

static enum status make_sparse(network *net, int number, const char *kernel, error_text *error)
{
    const layer *l = &net->m->layers[number];
    device_layer *d = &net->layers[number];
    int at = 0;
    if (net->v.vendor && !kernel) kernel = next_kernel(net, &at);
    if (net->v.vendor && !kernel)
        return fail(error, STATUS_SKIPPED, "this program has no %s", VENDOR);
    TRY_PLAN(sparse_matrix_create(l->out, l->in, l->row_ptr, l->col_idx, &d->pattern));
    TRY_PLAN(make_plan(net, number, kernel, &d->plan));
    return STATUS_OK;
}

static cudaDataType type_of(const network *net)
{
    return net->m->shape.precision == PRECISION_FP16 ? CUDA_R_16F : CUDA_R_32F;
}

static enum status make_lt(network *net, int number, error_text *error)
{
    const layer *l = &net->m->layers[number];
    device_layer *d = &net->layers[number];
    TRY(upload(net, &d->bias_of_type, l->bias, l->out, error));
    const lt_layer_shape shape = {.rows = l->out,
                                  .cols = l->in,
                                  .N = (int)layer_out_columns(l, net->m->shape.batch),
                                  .type = type_of(net),
                                  .tf32 = net->v.tf32,
                                  .relu = l->relu,
                                  .d_W = d->weights,
                                  .d_bias = d->bias_of_type};
    TRY_CUDA(lt_layer_create(&shape, &d->lt));
    return STATUS_OK;
}

static enum status make_layer(network *net, int number, const char *kernel, error_text *error)
{
    const layer *l = &net->m->layers[number];
    device_layer *d = &net->layers[number];
    if (l->kind == POOL) return STATUS_OK;
    TRY(upload(net, &d->weights, l->weights, l->num_weights, error));
    TRY(arrays_upload(&net->arrays, &d->bias, l->bias, l->out, error));
    if (l->sparse) return make_sparse(net, number, kernel, error);
    if (net->v.way == BY_LT && l->kind >= POINTWISE) return make_lt(net, number, error);
    return STATUS_OK;
}

static enum status make(network *net, const char *kernel, error_text *error)
{
    const model *m = net->m;
    if (net->v.way == BY_LT && !lt_layer_exists())
        return fail(error, STATUS_SKIPPED, "this program has no cuBLASLt");
    TRY(network_fits(m, &net->v, error));
    TRY_CUDA(cudaStreamCreateWithFlags(&net->stream, cudaStreamNonBlocking));
    if (cublasCreate(&net->blas) != CUBLAS_STATUS_SUCCESS)
        return fail(error, STATUS_RUNTIME, "cublasCreate failed");
    if (net->v.way != BY_LT)
        TRY(arrays_allocate(&net->arrays, &net->blas_room, WORKSPACE / sizeof(float), error));
    TRY(upload(net, &net->images, m->images, image_numbers(m), error));
    for (int i = 0; i < 2; i++)
        TRY(upload(net, &net->activation[i], NULL, largest_activation(m, i), error));
    for (int i = 0; i < NUM_LAYERS; i++)
        TRY(make_layer(net, i, kernel, error));
    TRY_CUDA(
        cudaDeviceSynchronize()); /* its streams do not wait for the legacy one, on which plans are made */
    return STATUS_OK;
}

void network_close(network *net)
{
    if (!net) return;
    for (int i = 0; i < NUM_LAYERS; i++) {
        device_layer *d = &net->layers[i];
        sparse_plan_destroy(d->plan);
        sparse_matrix_destroy(d->pattern);
        if (d->lt) lt_layer_destroy(d->lt);
    }
    if (net->blas) cublasDestroy(net->blas);
    if (net->stream) cudaStreamDestroy(net->stream);
    arrays_free(&net->arrays);
    free(net);
}

enum status network_open(const model *m, const variant *v, const char *kernel, network **net,
                         error_text *error)
{
    *net = NULL;
    network *made = calloc(1, sizeof *made);
    if (!made) return fail(error, STATUS_MEMORY, "no memory for a net");
    made->m = m;
    made->v = *v;
    const enum status status = make(made, kernel, error);
    if (status == STATUS_OK)
        *net = made;
    else
        network_close(made);
    return status;
}

const model *network_model(const network *net)
{
    return net->m;
}

const variant *network_variant(const network *net)
{
    return &net->v;
}

const void *network_input(const network *net, int number)
{
    return number ? net->activation[(number - 1) % 2] : net->images;
}

const void *network_output(const network *net, int number)
{
    return net->activation[number % 2];
}

const char *network_kernel(const network *net, int number)
{
    const device_layer *d = &net->layers[number];
    const enum layer_kind kind = net->m->layers[number].kind;
    if (d->plan) return sparse_plan_kernel(d->plan);
    if (d->lt) return lt_layer_epilogue(d->lt);
    return kind == POINTWISE || kind == CLASSIFIER ? "cuBLAS + kernel" : "own";
}

/* ---- running it -------------------------------------------------------------------------------- */

/* Sets the stream, which takes the workspace back. */
static cublasStatus_t use_stream(const network *net, cudaStream_t stream)
{
    const cublasStatus_t status = cublasSetStream(net->blas, stream);
    return status == CUBLAS_STATUS_SUCCESS
               ? cublasSetWorkspace(net->blas, net->blas_room, WORKSPACE)
               : status;
}

/* C' = B' W' by columns, as the library stores, and a kernel for bias and ReLU. */
static cudaError_t run_cublas(network *net, int number, cudaStream_t stream)
{
    const float one = 1, zero = 0;
    const layer *l = &net->m->layers[number];
    const device_layer *d = &net->layers[number];
    const int N = (int)layer_out_columns(l, net->m->shape.batch);
    const cudaDataType type = type_of(net);
    void *const C = (void *)network_output(net, number);
    const row_epilogue epilogue = {d->bias, l->relu};
    if (use_stream(net, stream) != CUBLAS_STATUS_SUCCESS ||
        cublasGemmEx(net->blas, CUBLAS_OP_N, CUBLAS_OP_N, N, l->out, l->in, &one,
                     network_input(net, number), type, N, d->weights, type, l->in, &zero, C, type,
                     N, net->v.tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F,
                     CUBLAS_GEMM_DEFAULT) != CUBLAS_STATUS_SUCCESS)
        return cudaErrorUnknown;
    return epilogue_run(&epilogue, type, l->out, N, C, stream);
}

static cudaError_t run_plan(sparse_plan *plan, const void *B, void *C, cudaStream_t stream)
{
    const enum sparse_status status =
        sparse_plan_run(plan, (const void *[]){B}, (void *[]){C}, stream);
    return status == SPARSE_OK ? cudaSuccess : cudaErrorUnknown;
}

cudaError_t network_layer(network *net, int number, cudaStream_t stream)
{
    const layer *l = &net->m->layers[number];
    const device_layer *d = &net->layers[number];
    const void *const x = network_input(net, number);
    void *const y = (void *)network_output(net, number);
    const planes p = {.precision = net->m->shape.precision,
                      .in = l->in,
                      .out = l->out,
                      .batch = net->m->shape.batch,
                      .in_side = l->in_side,
                      .out_side = l->out_side,
                      .stride = l->stride,
                      .x = x,
                      .weights = d->weights,
                      .bias = d->bias,
                      .y = y};
    switch (l->kind) {
    case STEM:
        return stem_run(&p, stream);
    case DEPTHWISE:
        return depthwise_run(&p, stream);
    case POOL:
        return pool_run(&p, stream);
    default:
        if (d->plan) return run_plan(d->plan, x, y, stream);
        return d->lt ? lt_layer_run(d->lt, x, y, stream) : run_cublas(net, number, stream);
    }
}

cudaError_t network_run(network *net, cudaStream_t stream)
{
    cudaError_t error = cudaSuccess;
    for (int i = 0; i < NUM_LAYERS && error == cudaSuccess; i++)
        error = network_layer(net, i, stream);
    return error;
}

/* ---- times ------------------------------------------------------------------------------------- */

static enum status launch(void *arg, error_text *error)
{
    TRY_CUDA(graph_launch(arg));
    return STATUS_OK;
}

/* Runs the work once, so that libraries have what they allocate, then times its graph. */
static enum status time_as_graph(graph_work *work, void *arg, cudaStream_t stream, int runs,
                                 spread *result, error_text *error)
{
    graph *recorded;
    cudaError_t cuda = work(arg, stream);
    if (cuda == cudaSuccess) cuda = cudaStreamSynchronize(stream);
    if (cuda == cudaSuccess) cuda = graph_record(work, arg, stream, &recorded);
    if (cuda != cudaSuccess) return device_fail(cuda, "recording a graph", error);
    const enum status status = time_work(launch, recorded, stream, WARM_RUNS, runs, result, error);
    graph_destroy(recorded);
    return status;
}

static cudaError_t whole_net(void *arg, cudaStream_t stream)
{
    return network_run(arg, stream);
}

/* One layer, several times. */
typedef struct repeated {
    network *net;
    int number;
    sparse_plan *plan; /* instead of the layer's own; NULL: the layer */
    int times;
} repeated;

static cudaError_t one_layer(void *arg, cudaStream_t stream)
{
    const repeated *r = arg;
    cudaError_t error = cudaSuccess;
    for (int i = 0; i < r->times && error == cudaSuccess; i++)
        error = r->plan ? run_plan(r->plan, network_input(r->net, r->number),
                                   (void *)network_output(r->net, r->number), stream)
                        : network_layer(r->net, r->number, stream);
    return error;
}

static enum status launch_layer(void *arg, error_text *error)
{
    repeated *r = arg;
    TRY_CUDA(one_layer(r, r->net->stream));
    return STATUS_OK;
}

/* Times a layer. First the median of three single runs, after one that loads its kernels; the launch counts there. Beyond
 * limit_us that is the answer. Events are half a microsecond apart, so a graph then repeats a short layer. A long one needs few
 * repeats and has few, or a slow kernel would take minutes. */
static enum status time_layer(network *net, int number, sparse_plan *plan, double limit_us,
                              double *us, error_text *error)
{
    const double enough_us = 400;
    repeated r = {net, number, plan, 1};
    spread t;
    TRY(time_work(launch_layer, &r, net->stream, 1, 3, &t, error));
    *us = t.median_ms * 1e3;
    if (*us > limit_us) return STATUS_OK;
    const double wanted = ceil(enough_us / *us);
    r.times = wanted > MOST_REPEATS ? MOST_REPEATS : (int)wanted;
    TRY(time_as_graph(one_layer, &r, net->stream, SELECT_RUNS, &t, error));
    *us = t.median_ms * 1e3 / r.times;
    return STATUS_OK;
}

enum status network_time(network *net, int runs, net_times *times, error_text *error)
{
    TRY(time_as_graph(whole_net, net, net->stream, runs, &times->whole, error));
    for (int i = 0; i < NUM_LAYERS; i++) {
        progress_show(i, NUM_LAYERS, net->v.name);
        TRY(time_layer(net, i, NULL, INFINITY, &times->layer_us[i], error));
    }
    progress_clear();
    return STATUS_OK;
}

static cudaError_t nothing_often(void *arg, cudaStream_t stream)
{
    (void)arg;
    cudaError_t error = cudaSuccess;
    for (int i = 0; i < MOST_REPEATS && error == cudaSuccess; i++)
        error = nothing_run(stream);
    return error;
}

enum status launch_floor(double *us, error_text *error)
{
    cudaStream_t stream;
    spread t = {NAN, NAN};
    TRY_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    const enum status status = time_as_graph(nothing_often, NULL, stream, MOST_REPEATS, &t, error);
    cudaStreamDestroy(stream);
    *us = t.median_ms * 1e3 / MOST_REPEATS;
    return status;
}

/* ---- the oracle of selection ------------------------------------------------------------------- */

/* Passes over a kernel that cannot take the layer, or fails, or takes four times the best one's time in single runs. The launches
 * of several kernels are allowed for. The slowest kernels take a thousand times the best one's time. */
static enum status select_for(network *net, int number, error_text *error)
{
    device_layer *d = &net->layers[number];
    const double launches_us = 100;
    double best, us;
    const char *name;
    int at = 0;
    TRY(time_layer(net, number, NULL, INFINITY, &best, error));
    while ((name = next_kernel(net, &at))) {
        sparse_plan *plan;
        error_text why;
        progress_within(name, 0);
        if (make_plan(net, number, name, &plan) != SPARSE_OK) continue;
        if (cudaDeviceSynchronize() == cudaSuccess &&
            time_layer(net, number, plan, 4 * best + launches_us, &us, &why) == STATUS_OK &&
            us < best) {
            sparse_plan *const kept = d->plan;
            d->plan = plan;
            plan = kept;
            best = us;
        }
        sparse_plan_destroy(plan);
    }
    return STATUS_OK;
}

enum status network_select(network *net, error_text *error)
{
    for (int i = 0; i < NUM_LAYERS; i++) {
        if (!net->layers[i].plan) continue;
        progress_show(i, NUM_LAYERS, "kernels of each layer");
        TRY(select_for(net, i, error));
    }
    progress_clear();
    return STATUS_OK;
}
