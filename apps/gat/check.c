#include "check.h"

#include "training/try.h"

#include <stdio.h>
#include <stdlib.h>

/* The loss as training/differences.h asks for it. Of a vertex with one neighbour the share is 1, whatever its score, and
 * the gradient by `left` is 0: the floor of the bounds is for such tensors. */
typedef struct problem_of_loss {
    const model *m;
    const graph *g;
} problem_of_loss;

static double loss_at(const void *context, const double *at)
{
    const problem_of_loss *p = context;
    return model_loss(p->m, p->g, at);
}

/* Fills the gradient; the point `at` is that of the parameters. */
static enum status compare(network *net, const model *m, const graph *g, const float *parameters,
                           double *at, float *gradient, amount how_much, uint64_t seed, verdict *v,
                           error_text *error)
{
    const problem_of_loss p = {m, g};
    tensor_range tensors[MAX_TENSORS];
    double loss, held_out;
    for (int t = 0; t < m->num_tensors; t++) {
        const tensor *own = &m->tensors[t];
        tensors[t] = (tensor_range){.first = own->first, .count = own->count};
        snprintf(tensors[t].name, sizeof tensors[t].name, "%s of layer %d", own->name,
                 own->layer + 1);
    }
    for (int64_t i = 0; i < m->floats; i++)
        at[i] = parameters[i];
    TRY(network_set(net, parameters, error));
    TRY(network_gradients(net, error));
    TRY(network_fetch_loss(net, &loss, &held_out, error));
    TRY(network_fetch_gradient(net, gradient, error));
    const differences d = {loss_at, &p, tensors, m->num_tensors, at, gradient, loss};
    differences_check(&d, how_much, seed, v);
    return STATUS_OK;
}

enum status check_gradient(network *net, const model *m, const graph *g, const float *parameters,
                           amount how_much, uint64_t seed, verdict *v, error_text *error)
{
    float *gradient = malloc(m->floats * sizeof *gradient);
    double *at = malloc(m->floats * sizeof *at);
    const enum status status =
        gradient && at ? compare(net, m, g, parameters, at, gradient, how_much, seed, v, error)
                       : fail(error, STATUS_MEMORY, "no memory for a gradient");
    free(gradient);
    free(at);
    return status;
}
