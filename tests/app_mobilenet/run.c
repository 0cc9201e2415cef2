/*
 * run.c - apps/mobilenet under the instruments: runs of small nets, with all kernels of the app and those of the labs that
 * plans choose. Nothing may be read that is not written, nothing outside of arrays, and nothing in a race.
 */
#include "apps/mobilenet/network.h"
#include "tests/instrumented.h"

static enum status run(const model_shape *shape, const variant *v, const char *kernel,
                       error_text *error)
{
    model m;
    network *net = NULL;
    enum status status = model_open(shape, 1, &m, error);
    if (status == STATUS_OK) status = network_open(&m, v, kernel, &net, error);
    if (status == STATUS_OK && network_run(net, NULL) != cudaSuccess)
        status = fail(error, STATUS_RUNTIME, "a run failed");
    network_close(net);
    model_close(&m);
    return status;
}

static void test_net(const instruments *all, int image, const variant *v, const char *kernel)
{
    const model_shape shape = {.width = 0.15,
                               .image = image,
                               .batch = 2,
                               .classes = 3,
                               .sparsity = v->way == BY_PLANS ? 0.8 : 0,
                               .precision = v->precision};
    error_text error = {""};
    instrumented_begin(all);
    const enum status status = run(&shape, v, kernel, &error);
    instrumented_end(all, status, &error, true, "%d x %d, %s, %s", image, image, v->name,
                     kernel ? kernel : "the rule");
}

int main(void)
{
    const variant sparse = {.name = "sparse", .way = BY_PLANS},
                  half = {.name = "sparse, fp16", .way = BY_PLANS, .precision = PRECISION_FP16},
                  dense = {.name = "dense", .way = BY_CUBLAS};
    const instruments *all = instrumented_open();
    if (!all) return 1;
    test_net(all, 19, &sparse, NULL);
    test_net(all, 34, &sparse, "length_bins");
    test_net(all, 7, &sparse, "split_rows"); /* whose epilogue is a kernel behind it */
    test_net(all, 19, &half, NULL);
    test_net(all, 35, &dense, NULL);
    return tap_done();
}
