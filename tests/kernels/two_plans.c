#include "two_plans.h"

#include "matrix/generate.h"

#include <string.h>

static const options CHECK_ONLY = {.check = true, .bench = false, .seed = 1};

/* A problem, its operands on the device, and a plan of it. */
typedef struct prepared {
    csr_matrix A;
    problem p;
    workbench w;
    bool has_operands;
    void *instance;
} prepared;

static enum status make(const contender *c, const device_info *device, const char *spec,
                        prepared *to, error_text *error)
{
    char spelled[200];
    const int most = c->operation->most_width;
    *to = (prepared){.A = {0}};
    enum status status = generate(spec, &to->A, spelled, sizeof spelled, error);
    to->p = (problem){.operation = c->operation,
                      .A = &to->A,
                      .width = most && most < 64 ? most : 64,
                      .seed = 1,
                      .precision = c->precision};
    if (status == STATUS_OK) status = row_stats_compute(&to->A, &to->p.stats, error);
    if (status == STATUS_OK) status = c->operation->create(&to->p, error);
    if (status == STATUS_OK) status = workbench_create(&to->w, &CHECK_ONLY, device, &to->p, error);
    to->has_operands = status == STATUS_OK;
    return status;
}

static void destroy(const contender *c, prepared *it)
{
    if (it->instance) c->operation->release(it->instance);
    if (it->has_operands) workbench_destroy(&it->w);
    c->operation->destroy(&it->p);
    csr_free(&it->A);
}

/* Prepares with settings of its own copy: prepare may change them. */
static cudaError_t prepare(const contender *c, prepared *it, const int *asked)
{
    int tuning[MAX_TUNABLES];
    void *d_inputs[MAX_OPERANDS];
    memcpy(tuning, asked, sizeof tuning);
    for (int i = 0; i < it->p.num_inputs; i++)
        d_inputs[i] = it->w.input[i].data;
    return c->operation->prepare(c, &it->p, d_inputs, tuning, &it->instance);
}

static cudaError_t run(const contender *c, prepared *it)
{
    void *d_outputs[MAX_OUTPUTS];
    workbench_outputs(&it->w, d_outputs);
    cudaError_t error = c->operation->run(it->instance, d_outputs, 0);
    if (error == cudaSuccess) error = cudaGetLastError();
    return error == cudaSuccess ? cudaDeviceSynchronize() : error;
}

const char *two_plans_failure(const contender *c, const device_info *device)
{
    prepared large = {.A = {0}}, small = {.A = {0}};
    static error_text error;
    error = (error_text){""};
    int tuning[MAX_TUNABLES] = {0};
    cudaError_t result = cudaErrorUnknown;
    bool refused = false;
    if (make(c, device, "weights:rows=70,cols=2500,sparsity=0.9", &large, &error) == STATUS_OK &&
        make(c, device, "weights:rows=70,cols=40,sparsity=0.5", &small, &error) == STATUS_OK) {
        c->operation->choose(c, &large.p, tuning);
        refused = c->unsuited && (c->unsuited(&large.p) || c->unsuited(&small.p));
        result = refused ? cudaSuccess : prepare(c, &large, tuning);
        if (result == cudaErrorNotSupported) refused = true;
        if (result == cudaSuccess && !refused) result = prepare(c, &small, tuning);
        if (result == cudaErrorNotSupported) refused = true;
        if (result == cudaSuccess && !refused) result = run(c, &large);
    }
    destroy(c, &small);
    destroy(c, &large);
    if (refused || result == cudaSuccess) return NULL;
    return *error.text ? error.text : cudaGetErrorName(result);
}
