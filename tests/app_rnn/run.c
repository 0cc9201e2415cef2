/*
 * run.c - apps/rnn under the instruments: steps of every cell, with all kernels of the app, of the layer and of the labs that
 * plans choose. Nothing may be read that is not written, nothing outside of arrays, and nothing in a race.
 */
#include "apps/rnn/network.h"
#include "tests/instrumented.h"

static enum status train(rnn_problem *p, const char *spec, const linear_kernels *kernels,
                         cublasHandle_t blas, error_text *error)
{
    void *net = NULL;
    outcome o;
    enum status status = recurrent_open(spec, NULL, 5, 3, p->seed, &p->r, error);
    if (status == STATUS_OK) status = rnn_kind.create(p, kernels, blas, &net, error);
    if (status == STATUS_OK) status = rnn_kind.train(net, false, &o, error);
    rnn_kind.destroy(net);
    recurrent_close(&p->r);
    return status;
}

static void test_training(const instruments *all, const char *spec, const linear_kernels *kernels,
                          cublasHandle_t blas)
{
    rnn_problem p = {.updates = 2, .rate = 0.01, .seed = 1};
    error_text error = {""};
    instrumented_begin(all);
    const enum status status = train(&p, spec, kernels, blas, &error);
    instrumented_end(all, status, &error, true, "%s, %s", spec,
                     kernels->dense  ? "dense products"
                     : kernels->spmm ? kernels->spmm
                                     : "the suite's kernels");
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
    test_training(all, "weights:rows=11,cols=11,sparsity=0.6", &suite, blas);
    test_training(all, "weights:rows=33,cols=11,sparsity=0.6", &suite, blas);
    test_training(all, "weights:rows=44,cols=11,sparsity=0.6", &named, blas);
    test_training(all, "weights:rows=44,cols=11,sparsity=0.6", &dense, blas);
    cublasDestroy(blas);
    return tap_done();
}
