/*
 * run.c - apps/mlp under the instruments: steps and a change of the pattern, with all kernels of the app, of the layers and
 * of the labs that plans choose. Nothing may be read that is not written, nothing outside of arrays, and nothing in a race.
 */
#include "apps/mlp/network.h"
#include "harness/instruments.h"
#include "tests/tap.h"

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
    const finding *found;
    outcome o = {0};
    error_text error = {""};
    all->forget_names();
    all->reset();
    all->begin(false, NULL);
    const enum status status = train(&p, kernels, blas, &o, &error);
    all->end();
    const size_t count = all->findings(&found);
    for (size_t i = 0; i < count; i++)
        tap_note("%s: %s, at %s in %s", found[i].kind, found[i].text, found[i].where,
                 found[i].kernel);
    tap_ok(status == STATUS_OK && count == 0 && o.changes == 1, "%s, %s growth: %s", what, grow,
           status != STATUS_OK ? error.text
           : count             ? "see above"
                               : "nothing found");
}

int main(void)
{
    const linear_kernels suite = {0}, named = {.spmm = "split_rows", .sddmm = "sddmm"},
                         dense = {.dense = true};
    const instrument_settings settings = {
        .which = INSTRUMENT_MEMCHECK | INSTRUMENT_RACECHECK, .model = "h200", .sample = 1};
    error_text error;
    cublasHandle_t blas;
    const instruments *all = instruments_here();
    if (!all || all->open(&settings, &error) != STATUS_OK ||
        cublasCreate(&blas) != CUBLAS_STATUS_SUCCESS) {
        printf("Bail out! no instruments or cuBLAS\n");
        return 1;
    }
    test_training(all, "the suite's kernels", &suite, "gradient", blas);
    test_training(all, "kernels by name", &named, "random", blas);
    test_training(all, "dense products", &dense, "gradient", blas);
    cublasDestroy(blas);
    return tap_done();
}
