/*
 * operation.h - what the harness needs to know of an operation (SpMM, SDDMM, ...), and a contender
 * (a lab, or a vendor's library) of it.
 *
 * One file in common/ops defines each operation: its inputs, its fp64 oracle and error bound, its
 * flop and byte model, and how its contenders are called. The harness works on these two structs
 * alone and knows no operation by name.
 */
#ifndef OPS_OPERATION_H
#define OPS_OPERATION_H

#include "matrix/csr.h"
#include "matrix/stats.h"
#include "ops/precision.h"

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { MAX_TUNABLES = 12, MAX_TUNABLE_VALUES = 8, MAX_OPERANDS = 8 };

/* ---- contenders ------------------------------------------------------------------------------ */

/* A compile-time choice of a kernel that the command line (--set D=2) or the tuner may make. */
typedef struct tunable {
    const char *name;    /* "D" */
    const char *meaning; /* "batches of 32 nonzeros staged between two barriers" */
    int values[MAX_TUNABLE_VALUES];
    int num_values;
    int initial;       /* the value used where the contender has no rule of its own */
    bool prepare_only; /* changes how prepare works, not what run does: the tuner leaves it alone */
} tunable;

struct problem;

typedef struct contender {
    const struct operation *operation; /* set on registration */
    int lab;                           /* 1, 2, ...; 0 for a vendor's library */
    int part;                          /* of a lab with several kernels: 0, 1, ... */
    const char *name;                  /* "shared_tiles", "cuSPARSE CSR_ALG2" */
    const char *summary;               /* one line: what it adds to the lab before */
    enum precision precision;          /* of operands and result: fp32 unless it says otherwise */
    int min_compute_capability;        /* 90 for sm_90; 0: any device */
    bool vendor_default;               /* what the vendor's library picks if one does not choose */
    bool dense;                        /* works on A with its zeros: shown beside the others, never
                                          taken for the vendor's best or default */
    /* Optional, for one that rounds its operands: how many times the operation's bound its error may
     * be. 0: no more than the bound. */
    double bound_factor;
    /* Optional. Why it cannot take this problem, in half a sentence; NULL: it can. */
    const char *(*unsuited)(const struct problem *p);
    tunable tunables[MAX_TUNABLES]; /* ends with the first without a name */
    /* Optional. The settings that the tuner tries beside the contender's own choice, where all
     * combinations are too many: a value a tunable, in order. */
    const int (*shortlist)[MAX_TUNABLES];
    int num_shortlisted;
    struct contender *next; /* set on registration */
} contender;

/* Adds a contender to the list, sorted by lab and part; vendors come last, in order of
 * registration. */
void contender_register(contender *c, const struct operation *operation);

/* A contender that a source file brings to the program it is linked to. */
typedef struct registration {
    contender *contender;
    const struct operation *operation;
} registration;

/* What the REGISTER macro of each operation is made of. contenders() finds what it leaves in the
 * section: no code of a lab runs before main(), so that a grader can refuse any that would. */
#define CONTENDER_REGISTER(lab, operation)                                                     \
    __attribute__((used,                                                                       \
                   section("registrations"))) static const registration registration_##lab = { \
        &lab.base, &operation};

/* The first contender of this program; the rest follow through ->next. */
const contender *contenders(void);

int contender_num_tunables(const contender *c);

/* Whether `value` is one of those the tunable may have. */
bool tunable_takes(const tunable *t, int value);

/* ---- problems -------------------------------------------------------------------------------- */

typedef struct operand {
    const char *name; /* "B", as messages call it */
    void *data;       /* host memory */
    size_t bytes;
    size_t element; /* bytes of one element */
} operand;

/* One operation on one matrix at one width in one precision, with its inputs on the host: already
 * rounded to that precision, so that rounding them is no error of a contender. */
typedef struct problem {
    const struct operation *operation;
    const csr_matrix *A;   /* borrowed */
    row_stats stats;       /* of A's rows */
    bool has_empty_column; /* of A; `create` finds out */
    int N;                 /* columns of the dense operand */
    uint64_t seed;
    enum precision precision; /* of values, dense operands and result */
    operand inputs[MAX_OPERANDS];
    int num_inputs;
    int64_t out_rows, out_cols; /* the result is dense, row-major */
    void *own;                  /* what `create` allocated */
} problem;

/* What one run must move and compute, whatever the kernel: see each operation's model. */
typedef struct cost_model {
    double flops;
    double compulsory_bytes; /* every input read once, the output written once */
    double gather_bytes;     /* with no reuse: every nonzero fetches its own row of B */
    double gather_span;      /* bytes of the array gathered from, and ... */
    double gather_row;       /* ... of one row of it: they decide the gather bandwidth */
} cost_model;

/* ---- operations ------------------------------------------------------------------------------ */

typedef struct operation {
    const char *name; /* "spmm" */

    /* Fills inputs, out_rows, out_cols and own from A, N and seed; destroy frees them. */
    enum status (*create)(problem *p, error_text *error);
    void (*destroy)(problem *p);

    /* The exact result of output row `row` in fp64 and, for each element, the largest error a
     * correct kernel of the problem's precision can make. Never derived from a lab. */
    void (*oracle)(const problem *p, int64_t row, double *reference, double *bound);
    /* How long the sum behind output row `row` is: for messages and diagnoses. */
    int64_t (*row_length)(const problem *p, int64_t row);

    void (*cost)(const problem *p, cost_model *model);

    /* Fills tuning[] (one value per tunable, in order) by the contender's own rule. */
    void (*choose)(const contender *c, const problem *p, int *tuning);
    /* Calls the prepare of a contender of the problem's precision on the device copies of the
     * inputs. It may replace settings in tuning[] that do not fit the problem. *instance is what run
     * and release take. On error nothing is left allocated. */
    cudaError_t (*prepare)(const contender *c, const problem *p, void *const *d_inputs, int *tuning,
                           void **instance);
    /* Points an instance at other dense inputs: those of A, and what prepare made of them, stay. */
    void (*rebind)(void *instance, void *const *d_inputs);
    /* Enqueues one complete run: every element of d_output is defined afterwards. */
    cudaError_t (*run)(void *instance, void *d_output, cudaStream_t stream);
    void (*release)(void *instance);
} operation;

#ifdef __cplusplus
}
#endif
#endif
