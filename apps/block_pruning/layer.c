#include "layer.h"

#include "harness/timing.h"
#include "training/topology.h"
#include "training/try.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int64_t block_layer_weights(const block_layer *l)
{
    return (int64_t)l->layout.blocks * l->block * l->block;
}

/* ---- layouts and plans ---------------------------------------------------------------------------- */

static void free_plans(block_layer *l)
{
    sparse_plan_destroy(l->fprop);
    sparse_plan_destroy(l->bprop);
    sparse_plan_destroy(l->update);
    sparse_plan_destroy(l->importance);
    sparse_matrix_destroy(l->matrix);
    l->fprop = l->bprop = l->update = l->importance = NULL;
    l->matrix = NULL;
}

static enum status make_plan(const block_layer *l, const char *operation, const char *setting,
                             sparse_plan **plan, error_text *error)
{
    char settings[64];
    snprintf(settings, sizeof settings, "BLOCK=%d%s", l->block, setting);
    const sparse_request r = {.operation = operation, .settings = settings, .width = l->N};
    TRY_PLAN(sparse_plan_create(l->matrix, &r, plan));
    return STATUS_OK;
}

/* Makes what depends on the layout: blocks' numbers and plans. */
static enum status take_layout(block_layer *l, error_text *error)
{
    const char *const norm = !strcmp(l->norm, "l2") ? ",NORM=l2" : ",NORM=max";
    TRY(block_layout_make(&l->pattern, &l->layout, error));
    TRY_PLAN(sparse_matrix_create(l->pattern.rows, l->pattern.cols, l->pattern.row_ptr,
                                  l->pattern.col_idx, &l->matrix));
    TRY(make_plan(l, "bsmm", "", &l->fprop, error));
    TRY(make_plan(l, "bsmm", ",PASS=bprop", &l->bprop, error));
    TRY(make_plan(l, "bsmm_update", "", &l->update, error));
    return make_plan(l, "block_importance", norm, &l->importance, error);
}

enum status block_layer_make(block_layer *l, const csr_matrix *pattern, int block, int N,
                             const char *norm, const float *W, error_text *error)
{
    const int64_t nnz = pattern->nnz, weights = nnz * block * block;
    *l = (block_layer){.block = block, .N = N, .norm = norm};
    TRY(csr_alloc(&l->pattern, pattern->rows, pattern->cols, nnz, true, error));
    memcpy(l->pattern.row_ptr, pattern->row_ptr, (pattern->rows + 1) * sizeof *pattern->row_ptr);
    memcpy(l->pattern.col_idx, pattern->col_idx, nnz * sizeof *pattern->col_idx);
    TRY(take_layout(l, error));
    TRY(arrays_upload(&l->arrays, &l->W, W, weights, error));
    TRY(arrays_allocate(&l->arrays, &l->dW, weights, error));
    TRY(arrays_allocate(&l->arrays, &l->d_norm, nnz, error));
    return arrays_allocate(&l->arrays, &l->d_importance, pattern->rows * pattern->cols, error);
}

void block_layer_free(block_layer *l)
{
    free_plans(l);
    block_layout_free(&l->layout);
    csr_free(&l->pattern);
    arrays_free(&l->arrays);
}

/* ---- products --------------------------------------------------------------------------------------- */

enum status block_layer_forward(const block_layer *l, const float *X, float *Y, error_text *error)
{
    TRY_PLAN(sparse_plan_run(l->fprop, (const void *[]){l->W, X}, (void *[]){Y}, NULL));
    return STATUS_OK;
}

enum status block_layer_input_gradient(const block_layer *l, const float *dY, float *dX,
                                       error_text *error)
{
    TRY_PLAN(sparse_plan_run(l->bprop, (const void *[]){l->W, dY}, (void *[]){dX}, NULL));
    return STATUS_OK;
}

enum status block_layer_weight_gradient(const block_layer *l, const float *X, const float *dY,
                                        error_text *error)
{
    TRY_PLAN(sparse_plan_run(l->update, (const void *[]){X, dY}, (void *[]){l->dW}, NULL));
    return STATUS_OK;
}

/* ---- another layout ----------------------------------------------------------------------------------- */

/* Arrays on the host that a change needs. number: of each place's block, or -1. */
typedef struct change_room {
    float *norm, *importance, *old, *next;
    int *number;
} change_room;

static void free_room(change_room *r)
{
    free(r->norm);
    free(r->importance);
    free(r->old);
    free(r->next);
    free(r->number);
}

static enum status make_room(const block_layer *l, const block_change *c, change_room *r,
                             error_text *error)
{
    const int64_t all = l->pattern.rows * l->pattern.cols, weights = block_layer_weights(l);
    const int64_t after = (l->layout.blocks - c->drops + c->grows) * l->block * l->block;
    r->norm = malloc((l->layout.blocks + 1) * sizeof *r->norm);
    r->importance = malloc((all + 1) * sizeof *r->importance);
    r->old = malloc((weights + 1) * sizeof *r->old);
    r->next = calloc(after + 1, sizeof *r->next);
    r->number = malloc((all + 1) * sizeof *r->number);
    const bool made = r->norm && r->importance && r->old && r->next && r->number;
    return made ? STATUS_OK : fail(error, STATUS_MEMORY, "no memory for another layout");
}

/* Norms of blocks and importance of all, and brings them to the host, as the values of the pattern. */
static enum status measure(block_layer *l, const float *X, const float *dY, change_room *r,
                           error_text *error)
{
    const block_layout *now = &l->layout;
    const int64_t all = l->pattern.rows * l->pattern.cols;
    TRY_PLAN(sparse_plan_run(l->importance, (const void *[]){X, dY, l->W},
                             (void *[]){l->d_importance, l->d_norm}, NULL));
    TRY_CUDA(cudaMemcpy(r->norm, l->d_norm, now->blocks * sizeof *r->norm, cudaMemcpyDeviceToHost));
    TRY_CUDA(cudaMemcpy(r->importance, l->d_importance, all * sizeof *r->importance,
                        cudaMemcpyDeviceToHost));
    for (int b = 0; b < now->blocks; b++)
        l->pattern.values[now->entry[b]] = r->norm[b];
    return STATUS_OK;
}

/* Weights of blocks that stay move to their new numbers; those of blocks that grew are 0. */
static enum status move_weights(block_layer *l, change_room *r, error_text *error)
{
    const block_layout *next = &l->layout;
    const size_t each = (size_t)l->block * l->block;
    for (int b = 0; b < next->blocks; b++) {
        const int before = r->number[(int64_t)next->row[b] * next->cols + next->col[b]];
        if (before >= 0) memcpy(r->next + b * each, r->old + before * each, each * sizeof *r->next);
    }
    TRY_CUDA(
        cudaMemcpy(l->W, r->next, next->blocks * each * sizeof *r->next, cudaMemcpyHostToDevice));
    return STATUS_OK;
}

static enum status change(block_layer *l, const float *X, const float *dY, block_change *c,
                          change_room *r, error_text *error)
{
    csr_matrix next;
    const int64_t all = l->pattern.rows * l->pattern.cols;
    TRY_CUDA(cudaDeviceSynchronize());
    const double began = wall_ms();
    TRY(measure(l, X, dY, r, error));
    const double measured = wall_ms();
    TRY(topology_change(&l->pattern, c->drops, c->grows, c->by_importance ? r->importance : NULL,
                        c->seed, &next, error));
    const double chosen = wall_ms();
    for (int64_t place = 0; place < all; place++)
        r->number[place] = -1;
    for (int b = 0; b < l->layout.blocks; b++)
        r->number[(int64_t)l->layout.row[b] * l->layout.cols + l->layout.col[b]] = b;
    enum status status = STATUS_OK;
    const cudaError_t cuda =
        cudaMemcpy(r->old, l->W, block_layer_weights(l) * sizeof *r->old, cudaMemcpyDeviceToHost);
    if (cuda != cudaSuccess) status = device_fail(cuda, "fetching weights", error);
    free_plans(l);
    block_layout_free(&l->layout);
    csr_free(&l->pattern);
    l->pattern = next;
    if (status == STATUS_OK) status = take_layout(l, error);
    if (status == STATUS_OK) status = move_weights(l, r, error);
    c->measure_ms += measured - began;
    c->choose_ms += chosen - measured;
    c->plans_ms += wall_ms() - chosen;
    return status;
}

enum status block_layer_change(block_layer *l, const float *X, const float *dY, block_change *c,
                               error_text *error)
{
    change_room r = {0};
    enum status status = make_room(l, c, &r, error);
    if (status == STATUS_OK) status = change(l, X, dY, c, &r, error);
    free_room(&r);
    return status;
}
