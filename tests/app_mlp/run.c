/*
 * run.c - apps/mlp under the instruments: steps and a change of the pattern, with all kernels of the app, of the layers and
 * of the labs that plans choose. Nothing may be read that is not written, nothing outside of arrays, and nothing in a race.
 */
#include "apps/mlp/network.h"
#include "tests/instrumented.h"

#include <stdlib.h>

static enum status train(mlp_problem *p, const linear_kernels *kernels, cublasHandle_t blas,
                         outcome *o, error_text *error)
{
    void *net = NULL;
    const int batches = p->samples / p->batch;
    enum status status = model_make(p->hidden, p->sparsity, p->seed, &p->m, error);
    if (status == STATUS_OK) status = model_images(p->batch, batches, 1, p->seed, &p->d, error);
    if (status == STATUS_OK) {
        p->start = malloc(p->m.parameters * sizeof *p->start);
        if (!p->start) return fail(error, STATUS_MEMORY, "no memory");
        model_start(&p->m, p->seed, p->start);
        status = mlp_kind.create(p, kernels, blas, &net, error);
    }
    if (status == STATUS_OK) status = mlp_kind.train(net, false, o, error);
    mlp_kind.destroy(net);
    free(p->start);
    images_free(&p->d);
    model_free(&p->m);
    return status;
}

static void test_training(const instruments *all, const char *what, const linear_kernels *kernels,
                          const char *grow, cublasHandle_t blas)
{
    mlp_problem p = {.hidden = 9,
                     .batch = 5,
                     .samples = 10,
                     .steps = 5,
                     .change = 2,
                     .sparsity = 0.8,
                     .rate = 0.1,
                     .share = 0.3,
                     .grow = grow,
                     .seed = 1};
    outcome o = {0};
    error_text error = {""};
    instrumented_begin(all);
    const enum status status = train(&p, kernels, blas, &o, &error);
    instrumented_end(all, status, &error, o.changes == 1, "%s, %s growth", what, grow);
}

int main(void)
{
    const linear_kernels suite = {0}, named = {.spmm = "split_rows", .sddmm = "sddmm"},
                         dense = {.dense = true};
    cublasHandle_t blas;
    const instruments *all = instrumented_open();
    if (!all) return 1;
    if (cublasCreate(&blas) != CUBLAS_STATUS_SUCCESS) {
        printf("Bail out! no cuBLAS\n");
        return 1;
    }
    test_training(all, "the suite's kernels", &suite, "gradient", blas);
    test_training(all, "kernels by name", &named, "random", blas);
    test_training(all, "dense products", &dense, "gradient", blas);
    cublasDestroy(blas);
    return tap_done();
}
