#include "layer.h"

#include "baselines/cublas_status.h"
#include "device/graph.h"
#include "product.h"
#include "training/try.h"

#include <math.h>
#include <stdlib.h>

enum { WORKSPACE = 32 << 20, WARM_UPS = 3 };

static const char *const WAYS[NUM_WAYS] = {"blocks, wgmma", "blocks, mma.sync", "cuBLAS, loop",
                                           "cuBLAS, grouped", "cuBLAS, batched"};
static const char *const PARTS[NUM_PARTS] = {"router", "choose", "layout", "gather", "counts",
                                             "up",     "relu",   "down",   "combine"};

const char *way_name(enum way w)
{
    return WAYS[w];
}

const char *part_name(enum part p)
{
    return PARTS[p];
}

static bool is_blocks(enum way w)
{
    return w == WAY_WGMMA || w == WAY_MMA;
}

bool way_has(enum way w, enum part p)
{
    return !is_blocks(w) || (p != PART_COUNTS && p != PART_RELU);
}

/* ---- making ------------------------------------------------------------------------------------ */

/* The power of two next to x. */
static float power_near(double x)
{
    return (float)exp2(round(log2(x)));
}

/* Weights that leave the mean square of hidden numbers, outputs and logits near 1: symmetric numbers have 1/3, and relu halves
 * it. */
static number_source source_of(const moe_shape *s, enum numbers kind)
{
    return (number_source){.kind = kind,
                           .seed = s->seed,
                           .features = s->features,
                           .hidden = s->hidden,
                           .experts = s->experts,
                           .scale_up = power_near(3 / sqrt(s->features)),
                           .scale_down = power_near(sqrt(6.0 / s->hidden)),
                           .scale_router = power_near(3 / sqrt(s->features))};
}

/* Bytes of the arrays that have an element or more for each row. */
static double bytes_of_rows(const moe_shape *s, int64_t rows)
{
    return (double)rows * (2. * (2. * s->features + s->hidden) + 4);
}

double layer_bytes(const moe_shape *s, enum way w, int64_t rows)
{
    const double slots = shape_slots(s), tokens = s->tokens;
    const double inputs = 2 * tokens * s->features + 2. * s->features * s->experts +
                          4. * s->experts + shape_weight_bytes(s);
    const double arranged = 4 * tokens * s->experts + 4 * slots * 4 +
                            4. * (double)arrange_workspace(shape_slots(s)) +
                            sizeof(row_tile) * (double)shape_most_tiles(s);
    const double operands = w == WAY_GROUPED ? 6. * sizeof(void *) * s->experts : 0;
    return inputs + arranged + bytes_of_rows(s, rows) + 2 * tokens * s->features + operands +
           WORKSPACE;
}

/* STATUS_MEMORY: the device has not so many bytes left. */
static enum status fits(const layer *l, double need, error_text *error)
{
    size_t available, total;
    TRY_CUDA(cudaMemGetInfo(&available, &total));
    if (need <= (double)available) return STATUS_OK;
    return fail(error, STATUS_MEMORY,
                "%s takes %.2f GB more of device memory and %.2f GB are free; try fewer --tokens",
                way_name(l->way), need * 1e-9, (double)available * 1e-9);
}

/* An array of 16-bit numbers. */
static enum status halves(layer *l, void *array, int64_t count, error_text *error)
{
    return arrays_allocate(&l->arrays, array, (size_t)(count + 1) / 2, error);
}

static enum status make_bias(layer *l, error_text *error)
{
    float bias[MOST_EXPERTS];
    for (int e = 0; e < l->shape.experts; e++)
        bias[e] = (float)(-l->shape.skew * log(e + 1));
    return arrays_upload(&l->arrays, &l->bias, bias, (size_t)l->shape.experts, error);
}

static enum status make_arrangement(layer *l, error_text *error)
{
    const moe_shape *s = &l->shape;
    const size_t slots = (size_t)shape_slots(s), tiles = (size_t)shape_most_tiles(s);
    arrangement *a = &l->a;
    device_arrays *own = &l->arrays;
    TRY(arrays_allocate(own, &l->logits, (size_t)s->tokens * s->experts, error));
    TRY(arrays_allocate(own, &a->expert, slots, error));
    TRY(arrays_allocate(own, &a->gate, slots, error));
    TRY(arrays_allocate(own, &a->order, slots, error));
    TRY(arrays_allocate(own, &a->row_of, slots, error));
    TRY(arrays_allocate(own, &a->start, 2 * ((size_t)s->experts + 1), error));
    a->first = a->start + s->experts + 1; /* one copy brings both */
    TRY(arrays_allocate(own, &a->tile, tiles * sizeof(row_tile) / sizeof(int), error));
    TRY(arrays_allocate(own, &a->tiles, 1, error));
    TRY_CUDA(cudaMallocHost((void **)&l->start, 2 * ((size_t)s->experts + 1) * sizeof(int)));
    l->first = l->start + s->experts + 1;
    return arrays_allocate(own, &a->workspace, arrange_workspace((int)slots), error);
}

static enum status make_inputs(layer *l, error_text *error)
{
    const moe_shape *s = &l->shape;
    const int64_t matrix = (int64_t)s->features * s->hidden;
    TRY(halves(l, &l->x, (int64_t)s->tokens * s->features, error));
    TRY(halves(l, &l->router, (int64_t)s->features * s->experts, error));
    TRY(halves(l, &l->up, s->experts * matrix, error));
    TRY(halves(l, &l->down, s->experts * matrix, error));
    return make_bias(l, error);
}

/* Rows for any routing; of WAY_BATCHED for the routing of both kinds of numbers, which must be seen first. */
static enum status find_rows(layer *l, error_text *error)
{
    l->rows = shape_most_rows(&l->shape);
    if (l->way != WAY_BATCHED) return STATUS_OK;
    int most = 0;
    for (int kind = NUMBERS_RANDOM; kind <= NUMBERS_EXACT; kind++) {
        TRY(layer_fill(l, (enum numbers)kind, error));
        TRY(layer_run(l,
                      PART(PART_ROUTER) | PART(PART_CHOOSE) | PART(PART_LAYOUT) | PART(PART_COUNTS),
                      error));
        if (layer_largest(l) > most) most = layer_largest(l);
    }
    l->capacity = (most + l->shape.block - 1) / l->shape.block * l->shape.block;
    if ((int64_t)l->capacity * l->shape.experts > INT32_MAX)
        return fail(error, STATUS_MEMORY, "%s: %d experts of %d rows each are more than 2^31",
                    way_name(l->way), l->shape.experts, l->capacity);
    l->rows = (int64_t)l->capacity * l->shape.experts;
    return fits(l, bytes_of_rows(&l->shape, l->rows), error);
}

static enum status make_rows(layer *l, error_text *error)
{
    const moe_shape *s = &l->shape;
    TRY(halves(l, &l->of_rows, l->rows * s->features, error));
    TRY(halves(l, &l->hidden, l->rows * s->hidden, error));
    TRY(halves(l, &l->y, l->rows * s->features, error));
    TRY(halves(l, &l->out, (int64_t)s->tokens * s->features, error));
    if (l->way == WAY_GROUPED)
        TRY(arrays_allocate(&l->arrays, &l->operands, 6 * (size_t)s->experts * sizeof(void *) / 4,
                            error));
    return arrays_allocate(&l->arrays, &l->a.slot_of, (size_t)l->rows, error);
}

static enum status make(layer *l, error_text *error)
{
    if (is_blocks(l->way) && !product_runs_here(l->way == WAY_WGMMA ? PRODUCT_WGMMA : PRODUCT_MMA))
        return fail(error, STATUS_SKIPPED, "%s: not on this GPU, or not in this program",
                    way_name(l->way));
    TRY(fits(l, layer_bytes(&l->shape, l->way, shape_most_rows(&l->shape)), error));
    TRY_CUDA(cudaStreamCreateWithFlags(&l->stream, cudaStreamNonBlocking));
    if (cublasCreate(&l->blas) != CUBLAS_STATUS_SUCCESS)
        return fail(error, STATUS_RUNTIME, "cublasCreate failed");
    TRY(arrays_allocate(&l->arrays, &l->blas_room, WORKSPACE / sizeof(float), error));
    TRY_CUDA(cublas_as_cuda_error(cublasSetStream(l->blas, l->stream)));
    TRY_CUDA(cublas_as_cuda_error(cublasSetWorkspace(l->blas, l->blas_room, WORKSPACE)));
    TRY(make_inputs(l, error));
    TRY(make_arrangement(l, error));
    TRY_CUDA(cudaDeviceSynchronize()); /* l's stream does not wait for the default one */
    TRY(find_rows(l, error));
    TRY(make_rows(l, error));
    TRY_CUDA(cudaDeviceSynchronize());
    return layer_fill(l, NUMBERS_RANDOM, error);
}

enum status layer_open(const moe_shape *s, enum way w, layer **made, error_text *error)
{
    *made = NULL;
    layer *l = calloc(1, sizeof *l);
    if (!l) return fail(error, STATUS_MEMORY, "no memory for a layer");
    l->shape = *s;
    l->way = w;
    const enum status status = make(l, error);
    if (status == STATUS_OK)
        *made = l;
    else
        layer_close(l);
    return status;
}

void layer_close(layer *l)
{
    if (!l) return;
    if (l->stream) cudaStreamSynchronize(l->stream);
    if (l->blas) cublasDestroy(l->blas);
    if (l->stream) cudaStreamDestroy(l->stream);
    if (l->start) cudaFreeHost(l->start);
    arrays_free(&l->arrays);
    free(l);
}

enum status layer_fill(layer *l, enum numbers kind, error_text *error)
{
    const moe_shape *s = &l->shape;
    const int64_t weights = (int64_t)s->experts * s->features * s->hidden;
    l->numbers = source_of(s, kind);
    const number_source *n = &l->numbers;
    TRY_CUDA(numbers_fill(n, FILL_X, (int64_t)s->tokens * s->features, l->x, l->stream));
    TRY_CUDA(numbers_fill(n, FILL_ROUTER, (int64_t)s->features * s->experts, l->router, l->stream));
    TRY_CUDA(numbers_fill(n, FILL_UP, weights, l->up, l->stream));
    TRY_CUDA(numbers_fill(n, FILL_DOWN, weights, l->down, l->stream));
    TRY_CUDA(cudaStreamSynchronize(l->stream));
    return STATUS_OK;
}

enum status layer_poison(layer *l, error_text *error)
{
    const moe_shape *s = &l->shape;
    const size_t slots = (size_t)shape_slots(s), rows = (size_t)l->rows;
    const struct {
        void *at;
        size_t bytes;
    } all[] = {{l->logits, (size_t)s->tokens * s->experts * sizeof(float)},
               {l->a.expert, slots * sizeof(int)},
               {l->a.gate, slots * sizeof(float)},
               {l->a.order, slots * sizeof(int)},
               {l->a.row_of, slots * sizeof(int)},
               {l->a.start, 2 * ((size_t)s->experts + 1) * sizeof(int)},
               {l->a.tile, (size_t)shape_most_tiles(s) * sizeof(row_tile)},
               {l->a.tiles, sizeof(int)},
               {l->a.slot_of, rows * sizeof(int)},
               {l->of_rows, rows * s->features * 2},
               {l->hidden, rows * s->hidden * 2},
               {l->y, rows * s->features * 2},
               {l->out, (size_t)s->tokens * s->features * 2}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        TRY_CUDA(cudaMemsetAsync(all[i].at, 0xff, all[i].bytes, l->stream));
    return STATUS_OK;
}

/* ---- a step ------------------------------------------------------------------------------------ */

static const float ONE = 1, ZERO = 0;

/* Operands of one of the two products. */
typedef struct operands {
    const void *rows, *W;
    void *out;
    int deep, outs;
    bool is_down;
} operands;

static operands operands_of(const layer *l, bool is_down)
{
    const moe_shape *s = &l->shape;
    if (is_down) return (operands){l->hidden, l->down, l->y, s->hidden, s->features, is_down};
    return (operands){l->of_rows, l->up, l->hidden, s->features, s->hidden, is_down};
}

/* The address of number `i` of an array of fp16. */
static void *half_at(const void *array, int64_t i)
{
    return (char *)array + 2 * i;
}

/* Row-major matrices are cuBLAS's transposed ones: out' = W' rows'. */
static cudaError_t run_router(layer *l)
{
    const moe_shape *s = &l->shape;
    CUBLAS_TRY(cublasGemmEx(l->blas, CUBLAS_OP_N, CUBLAS_OP_N, s->experts, s->tokens, s->features,
                            &ONE, l->router, CUDA_R_16F, s->experts, l->x, CUDA_R_16F, s->features,
                            &ZERO, l->logits, CUDA_R_32F, s->experts, CUBLAS_COMPUTE_32F,
                            CUBLAS_GEMM_DEFAULT));
    return cudaSuccess;
}

static cudaError_t run_blocks(layer *l, const operands *o)
{
    const product p = {.rows = o->rows,
                       .W = o->W,
                       .out = o->out,
                       .tile = l->a.tile,
                       .tiles = l->a.tiles,
                       .most_rows = l->rows,
                       .experts = l->shape.experts,
                       .deep = o->deep,
                       .outs = o->outs,
                       .relu = !o->is_down};
    return product_run(l->way == WAY_WGMMA ? PRODUCT_WGMMA : PRODUCT_MMA, &p, l->stream);
}

static int rows_of(const layer *l, int expert)
{
    return l->start[expert + 1] - l->start[expert];
}

static cudaError_t run_loop(layer *l, const operands *o)
{
    for (int e = 0; e < l->shape.experts; e++) {
        const int64_t first = l->first[e];
        if (rows_of(l, e) == 0) continue;
        CUBLAS_TRY(cublasGemmEx(l->blas, CUBLAS_OP_N, CUBLAS_OP_N, o->outs, rows_of(l, e), o->deep,
                                &ONE, half_at(o->W, (int64_t)e * o->deep * o->outs), CUDA_R_16F,
                                o->outs, half_at(o->rows, first * o->deep), CUDA_R_16F, o->deep,
                                &ZERO, half_at(o->out, first * o->outs), CUDA_R_16F, o->outs,
                                CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
    }
    return cudaSuccess;
}

/* A group is an expert that has tokens. Pointers go to the device with each call: they depend on the counts. */
static cudaError_t run_grouped(layer *l, const operands *o)
{
    cublasOperation_t no[MOST_EXPERTS];
    int m[MOST_EXPERTS], n[MOST_EXPERTS], k[MOST_EXPERTS], each[MOST_EXPERTS], groups = 0;
    float one[MOST_EXPERTS], zero[MOST_EXPERTS];
    const void *at[3][MOST_EXPERTS];
    for (int e = 0; e < l->shape.experts; e++) {
        const int64_t first = l->first[e];
        if (rows_of(l, e) == 0) continue;
        at[0][groups] = half_at(o->W, (int64_t)e * o->deep * o->outs);
        at[1][groups] = half_at(o->rows, first * o->deep);
        at[2][groups] = half_at(o->out, first * o->outs);
        no[groups] = CUBLAS_OP_N;
        m[groups] = o->outs;
        n[groups] = rows_of(l, e);
        k[groups] = o->deep;
        one[groups] = 1;
        zero[groups] = 0;
        each[groups++] = 1;
    }
    const void **d[3];
    for (int i = 0; i < 3; i++) {
        d[i] = l->operands + ((size_t)o->is_down * 3 + i) * l->shape.experts;
        CUDA_TRY(cudaMemcpyAsync((void *)d[i], at[i], groups * sizeof(void *),
                                 cudaMemcpyHostToDevice, l->stream));
    }
    CUBLAS_TRY(cublasGemmGroupedBatchedEx(l->blas, no, no, m, n, k, one, (const void *const *)d[0],
                                          CUDA_R_16F, m, (const void *const *)d[1], CUDA_R_16F, k,
                                          zero, (void *const *)d[2], CUDA_R_16F, m, groups, each,
                                          CUBLAS_COMPUTE_32F));
    return cudaSuccess;
}

static cudaError_t run_batched(layer *l, const operands *o)
{
    const int64_t capacity = l->capacity;
    CUBLAS_TRY(cublasGemmStridedBatchedEx(
        l->blas, CUBLAS_OP_N, CUBLAS_OP_N, o->outs, layer_largest(l), o->deep, &ONE, o->W,
        CUDA_R_16F, o->outs, (long long)o->deep * o->outs, o->rows, CUDA_R_16F, o->deep,
        capacity * o->deep, &ZERO, o->out, CUDA_R_16F, o->outs, capacity * o->outs,
        l->shape.experts, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
    return cudaSuccess;
}

static cudaError_t run_product(layer *l, bool is_down)
{
    const operands o = operands_of(l, is_down);
    switch (l->way) {
    case WAY_LOOP:
        return run_loop(l, &o);
    case WAY_GROUPED:
        return run_grouped(l, &o);
    case WAY_BATCHED:
        return run_batched(l, &o);
    default:
        return run_blocks(l, &o);
    }
}

static cudaError_t bring_counts(layer *l)
{
    CUDA_TRY(cudaMemcpyAsync(l->start, l->a.start, 2 * ((size_t)l->shape.experts + 1) * sizeof(int),
                             cudaMemcpyDeviceToHost, l->stream));
    return cudaStreamSynchronize(l->stream);
}

static cudaError_t run_part(layer *l, enum part part)
{
    const moe_shape *s = &l->shape;
    switch (part) {
    case PART_ROUTER:
        return run_router(l);
    case PART_CHOOSE:
        return arrange_choose(s, l->logits, l->bias, &l->a, l->stream);
    case PART_LAYOUT:
        return arrange_layout(s, l->capacity, &l->a, l->stream);
    case PART_GATHER:
        return arrange_gather(s, l->x, &l->a, l->of_rows, l->stream);
    case PART_COUNTS:
        return bring_counts(l);
    case PART_UP:
        return run_product(l, false);
    case PART_RELU:
        return relu_run((int64_t)l->first[s->experts] * s->hidden, l->hidden, l->stream);
    case PART_DOWN:
        return run_product(l, true);
    default:
        return arrange_combine(s, l->y, &l->a, l->out, l->stream);
    }
}

static cudaError_t run_parts(layer *l, unsigned parts)
{
    for (int p = 0; p < NUM_PARTS; p++)
        if (parts & PART(p) && way_has(l->way, (enum part)p)) CUDA_TRY(run_part(l, (enum part)p));
    return cudaSuccess;
}

enum status layer_run(layer *l, unsigned parts, error_text *error)
{
    TRY_CUDA(run_parts(l, parts));
    return STATUS_OK;
}

int layer_largest(const layer *l)
{
    int most = 0;
    for (int e = 0; e < l->shape.experts; e++)
        if (rows_of(l, e) > most) most = rows_of(l, e);
    return most;
}

int layer_without_tokens(const layer *l)
{
    int none = 0;
    for (int e = 0; e < l->shape.experts; e++)
        none += rows_of(l, e) == 0;
    return none;
}

/* ---- times ------------------------------------------------------------------------------------- */

layer_times layer_not_timed(void)
{
    layer_times t = {.step = {NAN, NAN}};
    for (int p = 0; p < NUM_PARTS; p++)
        t.part_ms[p] = NAN;
    return t;
}

/* Parts of a step, and their graph; NULL: kernel by kernel. */
typedef struct timed {
    layer *l;
    unsigned parts;
    graph *work;
} timed;

static cudaError_t record_parts(void *arg, cudaStream_t stream)
{
    const timed *t = arg;
    (void)stream; /* the layer's own */
    return run_parts(t->l, t->parts);
}

static enum status one_run(void *arg, error_text *error)
{
    timed *t = arg;
    TRY_CUDA(t->work ? graph_launch(t->work) : run_parts(t->l, t->parts));
    return STATUS_OK;
}

/* Whether these parts of the way can be a graph: they neither wait nor depend on counts of the host. */
static bool is_recordable(enum way w, unsigned parts)
{
    return is_blocks(w) ||
           !(parts & (PART(PART_COUNTS) | PART(PART_UP) | PART(PART_RELU) | PART(PART_DOWN)));
}

static enum status time_parts(layer *l, unsigned parts, int runs, spread *result, error_text *error)
{
    timed t = {.l = l, .parts = parts};
    if (is_recordable(l->way, parts)) TRY_CUDA(graph_record(record_parts, &t, l->stream, &t.work));
    const enum status status = time_work(one_run, &t, l->stream, WARM_UPS, runs, result, error);
    graph_destroy(t.work);
    return status;
}

/* Subtracts the time of a graph without kernels from that of a part in a graph: a step has its launch once. */
enum status layer_time(layer *l, int runs, layer_times *t, error_text *error)
{
    spread empty, part;
    TRY(time_parts(l, ALL_PARTS, runs, &t->step, error));
    TRY(time_parts(l, 0, runs, &empty, error));
    for (int p = 0; p < NUM_PARTS; p++) {
        if (!way_has(l->way, (enum part)p)) continue;
        TRY(time_parts(l, PART(p), runs, &part, error));
        t->part_ms[p] = is_recordable(l->way, PART(p)) ? fmax(part.median_ms - empty.median_ms, 0)
                                                       : part.median_ms;
    }
    return STATUS_OK;
}
