#include "network.h"

#include "results/csv.h"
#include "training/arrays.h"
#include "training/linear_kernels.h"
#include "training/try.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LINES_OF_LOSS = 10, PIECES = 1024, CHECKED_COLUMNS = 4 };

/* Arrays of all time steps lie behind each other, each step's at a multiple of 64 floats, as plans want it. */
typedef struct network {
    const rnn_problem *p;
    linear *layer;
    int64_t units_stride, gates_stride; /* of h, c and of P, D */
    int64_t count;                      /* units * N */
    int columns;                        /* that the loss counts */
    float *D, *target;
    float *h, *c;            /* [T + 1]; the first is 0 */
    float *P;                /* [T]: products, and on the way back their gradients */
    float *dh, *dc, *direct; /* of one time step */
    float *squares, *pieces;
    device_arrays arrays;
} network;

/* ---- making it --------------------------------------------------------------------------------- */

static enum status upload(float *to, const float *from, size_t count, error_text *error)
{
    TRY_CUDA(cudaMemcpy(to, from, count * sizeof *to, cudaMemcpyHostToDevice));
    return STATUS_OK;
}

static int64_t round_up(int64_t count)
{
    return (count + 63) / 64 * 64;
}

static enum status make(network *net, const linear_kernels *kernels, cublasHandle_t blas,
                        error_text *error)
{
    const recurrent *r = &net->p->r;
    const int64_t T = r->steps, of_gates = r->kind * net->count;
    net->units_stride = round_up(net->count);
    net->gates_stride = round_up(of_gates);
    TRY(linear_create(&r->data.matrix, r->W, r->N, kernels, blas, &net->layer, NULL, error));
    TRY(arrays_allocate(&net->arrays, &net->D, T * net->gates_stride, error));
    TRY(arrays_allocate(&net->arrays, &net->P, T * net->gates_stride, error));
    TRY(arrays_allocate(&net->arrays, &net->h, (T + 1) * net->units_stride, error));
    TRY(arrays_allocate(&net->arrays, &net->c, (T + 1) * net->units_stride, error));
    TRY(arrays_allocate(&net->arrays, &net->target, net->count, error));
    TRY(arrays_allocate(&net->arrays, &net->dh, net->count, error));
    TRY(arrays_allocate(&net->arrays, &net->dc, net->count, error));
    TRY(arrays_allocate(&net->arrays, &net->direct, net->count, error));
    TRY(arrays_allocate(&net->arrays, &net->squares, net->count, error));
    TRY(arrays_allocate(&net->arrays, &net->pieces, PIECES, error));
    TRY_CUDA(cudaMemset(net->h, 0, net->count * sizeof(float)));
    TRY_CUDA(cudaMemset(net->c, 0, net->count * sizeof(float)));
    for (int64_t t = 0; t < T; t++)
        TRY(upload(net->D + t * net->gates_stride, r->D + t * of_gates, of_gates, error));
    return upload(net->target, r->target, net->count, error);
}

static void destroy(void *made)
{
    network *net = made;
    if (!net) return;
    linear_destroy(net->layer);
    arrays_free(&net->arrays);
    free(net);
}

static enum status create(const void *context, const linear_kernels *kernels, cublasHandle_t blas,
                          void **made, error_text *error)
{
    network *net = calloc(1, sizeof *net);
    *made = NULL;
    if (!net) return fail(error, STATUS_MEMORY, "no memory for a network");
    net->p = context;
    net->columns = net->p->r.N;
    net->count = net->p->r.units * net->p->r.N;
    const enum status status = make(net, kernels, blas, error);
    if (status == STATUS_OK)
        *made = net;
    else
        destroy(net);
    return status;
}

/* ---- passes ------------------------------------------------------------------------------------ */

static cell_step step_at(const network *net, int t)
{
    return (cell_step){.kind = net->p->r.kind,
                       .count = net->count,
                       .D = net->D + t * net->gates_stride,
                       .h = net->h + t * net->units_stride,
                       .c = net->c + t * net->units_stride};
}

static enum status forward(network *net, parts *p, error_text *error)
{
    const int T = net->p->r.steps;
    for (int t = 0; t < T; t++) {
        const cell_step s = step_at(net, t);
        float *const P = net->P + t * net->gates_stride;
        const int64_t next = (t + 1) * net->units_stride;
        TRY(linear_forward(net->layer, s.h, P, error));
        TRY_CUDA(parts_mark(p, PART_FORWARD));
        TRY_CUDA(cell_forward(&s, P, net->h + next, net->c + next, NULL));
        TRY_CUDA(parts_mark(p, PART_OTHER));
    }
    TRY_CUDA(squared_loss(net->count, net->p->r.N, net->columns, net->h + T * net->units_stride,
                          net->target, net->squares, net->dh, NULL));
    return STATUS_OK;
}

/* Back through time: each step adds its gradient by W. Nobody asks for that by the first h. */
static enum status gradients(network *net, parts *p, error_text *error)
{
    const int last = net->p->r.steps - 1;
    TRY(forward(net, p, error));
    TRY_CUDA(cudaMemsetAsync(net->dc, 0, net->count * sizeof(float), NULL));
    for (int t = last; t >= 0; t--) {
        const cell_step s = step_at(net, t);
        float *const P = net->P + t * net->gates_stride;
        TRY_CUDA(cell_backward(&s, P, net->dh, net->dc, net->direct, NULL));
        TRY_CUDA(parts_mark(p, PART_OTHER));
        TRY(linear_weight_gradient(net->layer, P, s.h, t < last, error));
        TRY_CUDA(parts_mark(p, PART_WEIGHT_GRADIENT));
        if (t == 0) break;
        TRY(linear_input_gradient(net->layer, P, net->dh, error));
        TRY_CUDA(parts_mark(p, PART_INPUT_GRADIENT));
        if (s.kind == CELL_GRU) TRY_CUDA(weights_add(net->count, net->direct, net->dh, NULL));
    }
    return STATUS_OK;
}

static enum status step(void *made, parts *p, error_text *error)
{
    network *net = made;
    TRY(gradients(net, p, error));
    TRY(linear_update(net->layer, (float)net->p->rate, error));
    TRY_CUDA(parts_mark(p, PART_UPDATE));
    return STATUS_OK;
}

/* ---- check and training ------------------------------------------------------------------------ */

static enum status fetch_loss(const network *net, double *loss, error_text *error)
{
    float pieces[PIECES];
    TRY_CUDA(strided_sums(net->count, PIECES, net->squares, net->pieces, NULL));
    TRY_CUDA(cudaMemcpy(pieces, net->pieces, sizeof pieces, cudaMemcpyDeviceToHost));
    *loss = 0;
    for (int i = 0; i < PIECES; i++)
        *loss += pieces[i];
    return STATUS_OK;
}

static double loss_at(const void *context, const double *at)
{
    const network *net = context;
    return recurrent_loss(&net->p->r, net->columns, at);
}

static enum status compare(network *net, float *numbers, double *at, amount how_much, verdict *v,
                           error_text *error)
{
    const int64_t nnz = net->p->r.data.matrix.nnz;
    const tensor_range W = {"W", 0, nnz};
    double loss;
    TRY(linear_fetch_values(net->layer, numbers, error));
    for (int64_t z = 0; z < nnz; z++)
        at[z] = numbers[z];
    TRY(gradients(net, NULL, error));
    TRY(fetch_loss(net, &loss, error));
    TRY(linear_fetch_gradient(net->layer, numbers, error));
    const differences d = {loss_at, net, &W, 1, at, numbers, loss};
    differences_check(&d, how_much, net->p->seed, v);
    return STATUS_OK;
}

/* Columns do not meet, so that a few tell as much as all, and the loss in fp64 is cheaper. */
static enum status check(void *made, amount how_much, verdict *v, error_text *error)
{
    network *net = made;
    const int N = net->p->r.N;
    const int64_t nnz = net->p->r.data.matrix.nnz;
    float *numbers = malloc((nnz + 1) * sizeof *numbers);
    double *at = malloc((nnz + 1) * sizeof *at);
    net->columns = N < CHECKED_COLUMNS ? N : CHECKED_COLUMNS;
    const enum status status = numbers && at
                                   ? compare(net, numbers, at, how_much, v, error)
                                   : fail(error, STATUS_MEMORY, "no memory for a gradient");
    net->columns = N;
    free(numbers);
    free(at);
    return status;
}

static enum status train(void *made, bool show, outcome *o, error_text *error)
{
    network *net = made;
    const int updates = net->p->updates, every = updates / LINES_OF_LOSS + 1;
    if (show && updates) printf("\n  step       loss\n");
    for (int u = 0; u <= updates && updates; u++) {
        const bool looks = u % every == 0 || u == updates;
        TRY(u < updates ? step(net, NULL, error) : forward(net, NULL, error));
        if (!looks) continue;
        TRY(fetch_loss(net, &o->last_loss, error));
        if (u == 0) o->first_loss = o->last_loss;
        if (show) printf("%6d %10.5f\n", u, o->last_loss);
    }
    return STATUS_OK;
}

static linear *turned_layer(void *made, int *times)
{
    network *net = made;
    *times = net->p->r.steps - 1;
    return net->layer;
}

static void kernel_names(const void *made, char *text, size_t bytes)
{
    linear_kernel_names(((const network *)made)->layer, text, bytes);
}

static void write_columns(const void *context, FILE *out)
{
    const rnn_problem *p = context;
    const dataset *d = &p->r.data;
    const double places = (double)d->matrix.rows * (double)d->matrix.cols;
    fprintf(out, "%s,%.2g,", cell_name(p->r.kind), 1 - (double)d->matrix.nnz / places);
    csv_text(out, d->name);
    fputc(',', out);
    csv_text(out, dataset_origin_name(d->origin));
    fputc(',', out);
    csv_text(out, d->source);
    fprintf(out, ",%lld,%lld,%lld,%d,%d,%d,%.7g", (long long)d->matrix.rows,
            (long long)d->matrix.cols, (long long)d->matrix.nnz, p->r.N, p->r.steps, p->updates,
            p->rate);
}

const trained_kind rnn_kind = {
    .app = "rnn",
    .columns = "cell,sparsity,dataset,origin,source,rows,cols,nnz,N,time_steps,updates,rate",
    .write_columns = write_columns,
    .parts = PARTS_OF_LAYERS,
    .pipelines = "transposed_spmm",
    .first_pipeline = "cuSPARSE T CSR_DEFAULT",
    .has_dense = true,
    .create = create,
    .destroy = destroy,
    .check = check,
    .train = train,
    .step = step,
    .turned_layer = turned_layer,
    .kernel_names = kernel_names,
};
