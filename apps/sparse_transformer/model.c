#include "model.h"

#include "baselines/cublas_status.h"
#include "harness/device.h"
#include "kernels.h"
#include "matrix/memory.h"
#include "matrix/random.h"

#include <math.h>
#include <stdlib.h>

/* ---- numbers ----------------------------------------------------------------------------------- */

size_t layer_floats(const model_shape *s)
{
    const size_t h = (size_t)s->hidden, f = (size_t)s->filter;
    return 4 * h * h + 2 * h * f + f + 5 * h;
}

layer_weights layer_in(const model_shape *s, const float *weights)
{
    const size_t h = (size_t)s->hidden, f = (size_t)s->filter;
    layer_weights w = {.qkv = weights};
    w.out = w.qkv + 3 * h * h;
    w.up = w.out + h * h;
    w.down = w.up + h * f;
    w.up_bias = w.down + f * h;
    w.down_bias = w.up_bias + f;
    w.gain[0] = w.down_bias + h;
    w.shift[0] = w.gain[0] + h;
    w.gain[1] = w.shift[0] + h;
    w.shift[1] = w.gain[1] + h;
    return w;
}

/* Uniform numbers around `middle`, of that deviation. */
static void fill(float *to, size_t count, float middle, double deviation, uint64_t stream)
{
    const float largest = (float)(deviation * sqrt(3.0));
#pragma omp parallel for
    for (size_t i = 0; i < count; i++)
        to[i] = middle + largest * random_symmetric(stream, i);
}

static const double SMALL = 0.1; /* deviation of biases, and of gains from 1 */

void layer_fill(const model_shape *s, uint64_t seed, int layer, float *weights)
{
    const size_t h = (size_t)s->hidden, f = (size_t)s->filter;
    const uint64_t own = random_substream(seed, 1 + (uint64_t)layer);
    const layer_weights at = layer_in(s, weights);
    const double of_hidden = 1 / sqrt((double)h), of_filter = 1 / sqrt((double)f);
    const struct {
        const float *array;
        size_t count;
        float middle;
        double deviation;
    } all[] = {{at.qkv, 3 * h * h, 0, of_hidden}, {at.out, h * h, 0, of_hidden},
               {at.up, h * f, 0, of_hidden},      {at.down, f * h, 0, of_filter},
               {at.up_bias, f, 0, SMALL},         {at.down_bias, h, 0, SMALL},
               {at.gain[0], h, 1, SMALL},         {at.shift[0], h, 0, SMALL},
               {at.gain[1], h, 1, SMALL},         {at.shift[1], h, 0, SMALL}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        fill(weights + (all[i].array - weights), all[i].count, all[i].middle, all[i].deviation,
             random_substream(own, i));
}

void input_fill(const model_shape *s, uint64_t seed, float *input)
{
    fill(input, (size_t)s->rows * s->hidden, 0, 1, random_substream(seed, 0));
}

/* ---- building ---------------------------------------------------------------------------------- */

static enum status upload(const model *m, uint64_t seed, float *host, error_text *error)
{
    const model_shape *s = &m->shape;
    const size_t h = (size_t)s->hidden, of_layer = layer_floats(s);
    cudaError_t e = cudaSuccess;
    for (int l = 0; l < s->layers && e == cudaSuccess; l++) {
        layer_fill(s, seed, l, host);
        e = cudaMemcpy(m->d_weights + l * of_layer, host, of_layer * sizeof *host,
                       cudaMemcpyHostToDevice);
    }
    if (e == cudaSuccess) {
        const uint64_t last = random_substream(seed, 1 + (uint64_t)s->layers);
        fill(host, h, 1, SMALL, random_substream(last, 0));
        fill(host + h, h, 0, SMALL, random_substream(last, 1));
        e = cudaMemcpy(m->d_weights + s->layers * of_layer, host, 2 * h * sizeof *host,
                       cudaMemcpyHostToDevice);
    }
    if (e == cudaSuccess) {
        input_fill(s, seed, host);
        e = cudaMemcpy(m->d_input, host, s->rows * h * sizeof *host, cudaMemcpyHostToDevice);
    }
    return e == cudaSuccess ? STATUS_OK : device_fail(e, "uploading the model", error);
}

static enum status upload_numbers(const model *m, uint64_t seed, error_text *error)
{
    const size_t input = (size_t)m->shape.rows * m->shape.hidden;
    const size_t layer = layer_floats(&m->shape), most = input > layer ? input : layer;
    enum status status = memory_check((int64_t)(most * sizeof(float)), "the weights", error);
    if (status != STATUS_OK) return status;
    float *host = malloc(most * sizeof *host);
    if (!host) return fail(error, STATUS_MEMORY, "no memory for the weights");
    status = upload(m, seed, host, error);
    free(host);
    return status;
}

static void plan_rooms(model *m, const attend_settings *attention)
{
    const model_shape *s = &m->shape;
    const size_t n = (size_t)s->rows, x = n * s->hidden;
    const size_t qkv = 3 * attend_stride(s->rows, s->heads, s->hidden / s->heads);
    const size_t inside = n * s->filter, scratch = qkv > inside ? qkv : inside;
    const size_t weights = s->layers * layer_floats(s) + 2 * (size_t)s->hidden;
    rooms_add(&m->rooms, "weights", weights * sizeof(float), (void **)&m->d_weights);
    rooms_add(&m->rooms, "input", x * sizeof(float), (void **)&m->d_input);
    rooms_add(&m->rooms, "activations", x * sizeof(float), (void **)&m->d_x);
    rooms_add(&m->rooms, "activations", x * sizeof(float), (void **)&m->d_normed);
    rooms_add(&m->rooms, "activations", scratch * sizeof(float), (void **)&m->d_scratch);
    attend_plan_rooms(&m->attention, attention, &m->rooms);
}

enum status model_open(model *m, const model_shape *s, const attend_settings *attention,
                       uint64_t seed, const char *whose, error_text *error)
{
    *m = (model){.shape = *s};
    plan_rooms(m, attention);
    enum status status = rooms_open(&m->rooms, whose, "fewer rows of the mask", error);
    if (status != STATUS_OK) return status;
    status = upload_numbers(m, seed, error);
    if (status == STATUS_OK) status = attend_open(&m->attention, error);
    if (status == STATUS_OK && cublasCreate(&m->cublas) != CUBLAS_STATUS_SUCCESS)
        status = fail(error, STATUS_RUNTIME, "cuBLAS does not start");
    if (status != STATUS_OK) model_close(m);
    return status;
}

void model_close(model *m)
{
    if (m->cublas) cublasDestroy(m->cublas);
    attend_close(&m->attention);
    rooms_close(&m->rooms);
    m->cublas = NULL;
}

size_t model_bytes(const model *m)
{
    return rooms_bytes(&m->rooms) + attend_plan_bytes(&m->attention);
}

/* ---- a pass ------------------------------------------------------------------------------------ */

/* y = x W, or y += x W; row-major x [rows][in], W [in][out]. For cuBLAS each is its transpose, so the factors change
 * places. */
static cudaError_t multiply(model *m, const float *x, int in, const float *W, int out, bool adds,
                            float *y)
{
    const float one = 1, zero = 0;
    CUBLAS_TRY(cublasSgemm(m->cublas, CUBLAS_OP_N, CUBLAS_OP_N, out, m->shape.rows, in, &one, W,
                           out, x, in, adds ? &one : &zero, y, out));
    return cudaSuccess;
}

static cudaError_t norm(model *m, const float *gain, const float *shift, watcher *w)
{
    CUDA_TRY(layer_norm(m->shape.rows, m->shape.hidden, m->d_x, gain, shift, m->d_normed));
    return part_done(w, PART_NORM);
}

/* Three products of one left factor. */
static cudaError_t project_qkv(model *m, const float *qkv, watcher *w)
{
    const int h = m->shape.hidden, n = m->shape.rows;
    const long long apart = (long long)attend_stride(n, m->shape.heads, h / m->shape.heads);
    const float one = 1, zero = 0;
    CUBLAS_TRY(cublasSgemmStridedBatched(m->cublas, CUBLAS_OP_N, CUBLAS_OP_N, h, n, h, &one, qkv, h,
                                         (long long)h * h, m->d_normed, h, 0, &zero, m->d_scratch,
                                         h, apart, 3));
    return part_done(w, PART_QKV);
}

cudaError_t model_layer(model *m, int layer, watcher *w)
{
    const model_shape *s = &m->shape;
    const layer_weights own = layer_in(s, m->d_weights + layer * layer_floats(s));
    CUDA_TRY(norm(m, own.gain[0], own.shift[0], w));
    CUDA_TRY(project_qkv(m, own.qkv, w));
    CUDA_TRY(attend_run(&m->attention, m->cublas, m->d_scratch, m->d_normed, w));
    CUDA_TRY(multiply(m, m->d_normed, s->hidden, own.out, s->hidden, true, m->d_x));
    CUDA_TRY(part_done(w, PART_PROJECTION));
    CUDA_TRY(norm(m, own.gain[1], own.shift[1], w));
    CUDA_TRY(multiply(m, m->d_normed, s->hidden, own.up, s->filter, false, m->d_scratch));
    CUDA_TRY(part_done(w, PART_UP));
    CUDA_TRY(add_bias(s->rows, s->filter, own.up_bias, true, m->d_scratch));
    CUDA_TRY(add_bias(s->rows, s->hidden, own.down_bias, false, m->d_x));
    CUDA_TRY(part_done(w, PART_BIAS));
    CUDA_TRY(multiply(m, m->d_scratch, s->filter, own.down, s->hidden, true, m->d_x));
    return part_done(w, PART_DOWN);
}

cudaError_t model_input(model *m, watcher *w)
{
    const size_t bytes = (size_t)m->shape.rows * m->shape.hidden * sizeof(float);
    CUDA_TRY(cudaMemcpyAsync(m->d_x, m->d_input, bytes, cudaMemcpyDeviceToDevice, NULL));
    return part_done(w, PART_INPUT);
}

cudaError_t model_pass(model *m, watcher *w)
{
    const size_t of_layers = m->shape.layers * layer_floats(&m->shape);
    CUDA_TRY(model_input(m, w));
    for (int l = 0; l < m->shape.layers; l++)
        CUDA_TRY(model_layer(m, l, w));
    const float *gain = m->d_weights + of_layers;
    return norm(m, gain, gain + m->shape.hidden, w);
}
