/*
 * run.c - apps/block_pruning under the instruments: steps and changes of layouts, with all kernels of the app and of the labs
 * that its plans choose. Nothing may be read that is not written, nothing outside of arrays, and nothing in a race.
 */
#include "apps/block_pruning/network.h"
#include "tests/instrumented.h"

#include <stdlib.h>

static enum status train(pruning_problem *p, training_result *r, error_text *error)
{
    network *net = NULL;
    enum status status = model_make(p->hidden, p->block, p->start, p->seed, &p->m, error);
    if (status == STATUS_OK)
        status = images_make(p->batch, p->m.features[0], p->samples / p->batch, 1, p->seed, &p->d,
                             error);
    if (status == STATUS_OK) status = network_make(p, &net, error);
    if (status == STATUS_OK) status = network_train(net, NULL, r, error);
    network_destroy(net);
    images_free(&p->d);
    model_free(&p->m);
    return status;
}

static void test_training(const instruments *all, int block, const char *grow, const char *norm)
{
    pruning_problem p = {.hidden = 2 * block,
                         .block = block,
                         .batch = 5,
                         .samples = 10,
                         .steps = 5,
                         .change = 2,
                         .start = 0.6,
                         .target = 0.3,
                         .share = 0.3,
                         .rate = 0.1,
                         .grow = grow,
                         .norm = norm,
                         .seed = 1};
    training_result r = {0};
    error_text error = {""};
    instrumented_begin(all);
    const enum status status = train(&p, &r, &error);
    instrumented_end(all, status, &error, r.changes == 1, "blocks of %d, %s growth, %s", block,
                     grow, norm);
}

int main(void)
{
    const instruments *all = instrumented_open();
    if (!all) return 1;
    test_training(all, 8, "importance", "max");
    test_training(all, 16, "random", "l2");
    test_training(all, 32, "importance", "l2");
    return tap_done();
}
