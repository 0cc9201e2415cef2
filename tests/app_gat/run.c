/*
 * run.c - apps/gat under the instruments: a step of each network, with all kernels of the app and of the labs that its
 * plans choose. Nothing may be read that is not written, nothing outside of arrays, and nothing in a race.
 */
#include "apps/gat/network.h"
#include "tests/instrumented.h"

#include <stdlib.h>
#include <unistd.h>

enum { FEATURES = 5, CLASSES = 3, MOST_FLOATS = 1000 };

/* A star of so many vertices: the row of the first has a nonzero in each column. */
static bool write_star(char *path, int vertices)
{
    const int descriptor = mkstemps(path, 4);
    FILE *out = descriptor < 0 ? NULL : fdopen(descriptor, "w");
    if (!out) return false;
    fprintf(out, "%%%%MatrixMarket matrix coordinate pattern general\n%d %d %d\n", vertices,
            vertices, vertices - 1);
    for (int i = 2; i <= vertices; i++)
        fprintf(out, "1 %d\n", i);
    return fclose(out) == 0;
}

static enum status one_step(gat_problem *p, const linear_kernels *kernels, cublasHandle_t blas,
                            error_text *error)
{
    static float start[MOST_FLOATS];
    outcome o;
    void *net;
    if (p->m.floats > MOST_FLOATS) return fail(error, STATUS_MEMORY, "%s", "too many parameters");
    model_start(&p->m, 1, start);
    p->start = start;
    enum status status = gat_kind.create(p, kernels, blas, &net, error);
    if (status != STATUS_OK) return status;
    status = gat_kind.train(net, false, &o, error);
    gat_kind.destroy(net);
    return status;
}

static void test_step(const instruments *all, const char *spec, enum model_kind kind, int heads,
                      const linear_kernels *kernels, cublasHandle_t blas)
{
    gat_problem p = {.steps = 1, .rate = 0.01};
    error_text error = {""};
    enum status status = graph_open(spec, NULL, FEATURES, CLASSES, 1, &p.g, &error);
    p.m = model_make(kind, 2, heads, 4, FEATURES, CLASSES);
    instrumented_begin(all);
    if (status == STATUS_OK) status = one_step(&p, kernels, blas, &error);
    instrumented_end(all, status, &error, true, "%s of %d heads, %s kernels, %lld edges",
                     kind == MODEL_GAT ? "gat" : "gcn", heads,
                     kernels->spmm ? kernels->spmm : "the suite's", (long long)p.g.A.nnz);
    graph_close(&p.g);
}

int main(void)
{
    const linear_kernels suite = {NULL}, three = {.spmm = "split_rows", .sddmm = "sddmm"};
    const char *const random = "rand:rows=40,deg=4,skew=1";
    char star[] = "/tmp/star-XXXXXX.mtx";
    cublasHandle_t blas;
    const instruments *all = instrumented_open();
    if (!all) return 1;
    if (!write_star(star, 600) || cublasCreate(&blas) != CUBLAS_STATUS_SUCCESS) {
        printf("Bail out! no file or cuBLAS\n");
        return 1;
    }
    test_step(all, random, MODEL_GAT, 3, &suite, blas);
    test_step(all, random, MODEL_GAT, 3, &three, blas);
    test_step(all, random, MODEL_GCN, 3, &suite, blas);
    test_step(all, star, MODEL_GAT, 2, &suite, blas);
    test_step(all, star, MODEL_GAT, 1, &three, blas);
    cublasDestroy(blas);
    unlink(star);
    return tap_done();
}
