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

#include "device/epilogue.h"
#include "matrix/csr.h"
#include "matrix/stats.h"
#include "ops/precision.h"

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    MAX_TUNABLES = 12,
    MAX_TUNABLE_VALUES = 12,
    MAX_ROW_RANGES =
        8, /* of 2^31 nonzeros, whose columns and fp32 values are all that 128 GiB hold */
    MAX_OPERANDS = 3 * MAX_ROW_RANGES + 1,
    MAX_OUTPUTS = 8,
    MAX_GATHERS = 4,
    MAX_KNOBS = 5
};

/* ---- contenders ------------------------------------------------------------------------------ */

/* A compile-time choice of a kernel that the command line (--set D=2) or the tuner may make. */
typedef struct tunable {
    const char *name;    /* "D" */
    const char *meaning; /* "batches of 32 nonzeros staged between two barriers" */
    int values[MAX_TUNABLE_VALUES];
    int num_values;
    int initial;       /* the value used where the contender has no rule of its own */
    bool prepare_only; /* changes how prepare works, not what run does: the tuner leaves it alone */
    const char *const
        *names; /* optional: what each of the values is called, as in KERNEL=subwarp */
} tunable;

struct problem;

/* The arithmetic units that form a contender's products: what its flops are bounded by. */
enum unit {
    UNIT_CUDA_CORES,   /* fp32 multiply-adds, in whatever precision operands are stored */
    UNIT_TENSOR_CORES, /* of the contender's precision; for fp32 operands in tf32 */
};

typedef struct contender {
    const struct operation *operation; /* set on registration */
    int lab;                           /* 1, 2, ...; 0 for a vendor's library */
    int after;                         /* its parent: the lab it grows out of, and is compared with;
                                          0 for lab 1 and for a vendor's library */
    const char *name;                  /* "shared_tiles", "cuSPARSE CSR_ALG2" */
    const char *summary;               /* one line: what it adds to its parent */
    enum precision precision;          /* of operands and result: fp32 unless it says otherwise */
    int min_compute_capability;        /* 90 for sm_90; 0: any device */
    enum unit unit;      /* CUDA cores, unless it says otherwise. A library that may use
                                          either says tensor cores, whose bound is the lower one */
    bool vendor_default; /* what the vendor's library picks if one does not choose */
    /* Optional, for one that may work on several devices: why its runs are checked and not timed, in half a sentence, as
     * "its ranks share this device"; NULL: they are timed. */
    const char *(*untimed)(void);
    bool dense; /* works on A with its zeros: shown beside the others, never
                                          taken for the vendor's best or default */
    /* Optional, for one that rounds its operands: how many times the operation's bound its error may
     * be. 0: no more than the bound. */
    double bound_factor;
    /* Optional, for one that rounds its operands to fewer bits, and leaves small whole numbers as they are:
     * how far a product may be off by that with the settings of an instance, in units u of fp32's rounding; R,
     * say. What operation.nested names adds its own, so that who leaves its work to others says nothing. The
     * bound of n products (operation.products) then grows by R / sqrt(n) times itself, or by R / 6 if n is
     * smaller than 36: see harness/verify.c. */
    double (*product_rounding)(const int *tuning);
    /* Optional, for one that adds to global memory with fp32 atomics, which take subnormals for zero (PTX, atom.add):
     * whether it does with the settings of an instance, or who it leaves its work to. Each addition then may lose a
     * number below 2^-126, and a second one where the sum is that small. */
    bool (*flushes_subnormals)(const int *tuning);
    /* Optional. Why it cannot take this problem, in half a sentence; NULL: it can. */
    const char *(*unsuited)(const struct problem *p);
    tunable tunables[MAX_TUNABLES]; /* ends with the first without a name */
    /* Optional. The settings that the tuner tries beside the contender's own choice, where all
     * combinations are too many: a value a tunable, in order. */
    const int (*shortlist)[MAX_TUNABLES];
    int num_shortlisted;
    struct contender *next; /* set on registration */
} contender;

/* Adds a contender to the list, sorted by lab; vendors come last, in order of registration. */
void contender_register(contender *c, const struct operation *operation);

/* A contender that a source file brings to the program it is linked to. */
typedef struct registration {
    contender *contender;
    const struct operation *operation;
} registration;

/* Makes the REGISTER macro of each operation. contenders() finds what it leaves in the
 * section: no code of a lab runs before main(), so that a grader can refuse any that would. */
#define CONTENDER_REGISTER(lab, operation)                                                     \
    __attribute__((used,                                                                       \
                   section("registrations"))) static const registration registration_##lab = { \
        &lab.base, &operation};

/* The first contender of this program; the rest follow through ->next. */
const contender *contenders(void);

/* The parent of a lab of the operation of that name, by its registration; 0 if it has none, or if this
 * program does not hold the lab. */
int lab_parent(const char *operation, int lab);

/* The lab's contender of this operation and precision that is called `name`; in a 16-bit precision
 * "row_fragments" finds "row_fragments_fp16". NULL: this program has none. */
const contender *contender_find(const struct operation *operation, const char *name,
                                enum precision precision);

int contender_num_tunables(const contender *c);

/* Why its runs are not timed; NULL: they are. */
const char *contender_untimed(const contender *c);

/* Fills tuning[] with the initial values of the contender's tunables. */
void contender_initial_tuning(const contender *c, int *tuning);

/* The value of t, a tunable whose values are contenders' names, that names `who`; t->initial where none
 * does, or `who` is NULL. */
int tunable_naming(const tunable *t, const contender *who);

/* Whether `value` is one of those the tunable may have. */
bool tunable_takes(const tunable *t, int value);

/* Reads a value as a user writes it: its name or its number. False: the tunable takes no such value. */
bool tunable_read(const tunable *t, const char *text, int *value);

/* The value as messages and rows show it: its name if it has one. text: room for `bytes`. */
void tunable_write(const tunable *t, int value, char *text, size_t bytes);

/* ---- problems -------------------------------------------------------------------------------- */

typedef struct operand {
    const char *name; /* "B", as messages call it */
    void *data;       /* host memory */
    size_t bytes;
    size_t element; /* bytes of one element */
} operand;

/* A result of an operation. Dense: rows x cols elements, row-major. On a pattern: an element for each
 * nonzero of a CSR matrix of that shape, in its order. */
typedef struct output {
    const char *name;         /* "C", as messages call it */
    enum precision precision; /* of its elements */
    int64_t rows, cols;
    const int64_t *row_ptr; /* of the pattern, rows + 1 offsets; borrowed. NULL: dense */
    const int32_t *col_idx;
} output;

/* The elements of an output: all of them; the first of a row; how many the row has; the bytes of all. */
int64_t output_elements(const output *o);
int64_t output_first(const output *o, int64_t row);
int64_t output_length(const output *o, int64_t row);
size_t output_bytes(const output *o);
/* The length of the longest row: what scratch for a row takes. */
int64_t output_longest(const output *o);
/* The column of the element at `place` of a row, counted from 0. */
int64_t output_column(const output *o, int64_t row, int64_t place);

/* One operation on one matrix at one width in one precision, with its inputs on the host: already
 * rounded to that precision, so that rounding them is no error of a contender. */
typedef struct problem {
    const struct operation *operation;
    const csr_matrix *A;  /* the dataset; borrowed. What an operation makes of it is its own affair:
                              its only sparse operand, one of several, or a pattern of blocks */
    row_stats stats;      /* of A's rows */
    int64_t used_columns; /* of A: those that some nonzero names; `create` counts them ... */
    bool has_empty_column; /* ... and tells whether that is not all */
    int width;             /* N of SpMM, K of SDDMM: see operation.width */
    int knobs[MAX_KNOBS];  /* of operation.knobs, in order; 0: its initial value (problem_knob) */
    uint64_t seed;
    /* Inputs, the dataset's values among them, are whole numbers so small that every sum is exact. Every bound is 0, or
     * what no kernel can avoid: see operation.exact_in_whole_numbers. */
    bool whole;
    row_epilogue
        epilogue; /* what plans of a library do besides, where the operation takes it; not in the oracle */
    enum precision precision; /* of the contenders; operands and outputs have their own */
    operand
        inputs[MAX_OPERANDS]; /* in any order and precision: `prepare` gets device copies of them */
    int num_inputs;
    output outputs[MAX_OUTPUTS];
    int num_outputs;
    /* Where A has more nonzeros than a device_csr: the ranges of rows that are computed one after the other, the r-th
     * from row range_first[r]. 0 or 1: there is one. */
    int num_ranges;
    int64_t range_first[MAX_ROW_RANGES + 1];
    void *own; /* what `create` allocated */
} problem;

/* The elements of all outputs. */
int64_t problem_elements(const problem *p);

/* The value of operation.knobs[which]. */
int problem_knob(const problem *p, int which);

/* The combination of knobs with that number, modulo how many there are: for tests, which try them in turn. */
void problem_turn_knobs(problem *p, uint64_t number);

/* The knobs as messages and rows show them, "HEADS=4 MODE=gat"; "" where the operation has none. */
void problem_knobs_text(const problem *p, char *text, size_t bytes);

/* Rows of an array fetched one by one, at places that the data names. */
typedef struct gather_cost {
    double bytes; /* in all, without any reuse, and what is read and written beside it */
    double row;   /* of one row, and ... */
    double span;  /* ... of the array: they decide the rate (results/limits.h) */
} gather_cost;

/* Bytes and operations that one run must move and compute, whatever the kernel: see each operation's model. */
typedef struct cost_model {
    double flops;
    double compulsory_bytes;          /* every input read once, every output written once */
    gather_cost gathers[MAX_GATHERS]; /* each with its own rate; their times add up */
    int num_gathers;
    double items; /* of operation.item that a run handles; 0: it counts none */
} cost_model;

/* Bytes of all gathers. */
double cost_gather_bytes(const cost_model *model);

/* Least work of one run of a contender: the bound of its time is made of it. Every number is
 * at most what any kernel of that kind does, never more. */
typedef struct least_work {
    double
        read_bytes; /* the sparse operand as the contender stores it, and of the dense ones what it names */
    double write_bytes; /* the result */
    double flops;
    enum unit unit;
} least_work;

/* Bytes that a problem takes, from its counts alone. */
typedef struct problem_bytes {
    double host;    /* inputs in host memory, beside the dataset */
    double result;  /* outputs in host memory */
    double device;  /* inputs and outputs on the device */
    double on_each; /* of those, what each of several devices would hold that share the rows */
} problem_bytes;

/* ---- operations ------------------------------------------------------------------------------ */

typedef struct operation {
    const char *name;          /* "spmm" */
    const char *width;         /* what its width is called: "N" */
    const char *width_meaning; /* "columns of B and C" */
    int usual_width;           /* without one on the command line; 0: 32 */
    int most_width;            /* 0: any */
    const char *item;          /* what cost_model.items counts: "token"; NULL: nothing */
    /* Choices of the problem, which --set makes and every contender gets: HEADS. Ends with the first without a name.
     * A value of 0 must be the initial one. */
    tunable knobs[MAX_KNOBS];

    bool takes_epilogue; /* whether prepare heeds problem.epilogue */
    /* Whether `create` can make a problem of whole numbers. A kernel that loses a product, or bits of one, is then wrong
     * by at least 1, where rounding would hide it. An operation with an exponential chooses scores whose exponentials
     * are 0 and 1, and leaves the few roundings that remain in the bound. */
    bool exact_in_whole_numbers;

    /* Fills inputs, outputs and own from A, width and seed; destroy frees them. STATUS_SKIPPED: a
     * value or a result overflows this precision, or sums of so many whole numbers are not exact. */
    enum status (*create)(problem *p, error_text *error);
    void (*destroy)(problem *p);

    /* Gives the exact elements of a row of outputs[output] in fp64. For each element it also gives the
     * largest error that a correct kernel of the problem's precision can make. Both arrays hold
     * output_length() numbers. They are never derived from a lab. The oracle may call another
     * operation's, whose bound its own then carries on. */
    void (*oracle)(const problem *p, int output, int64_t row, double *reference, double *bound);
    /* Optional. The same for `count` rows of one length, from `first` on, one behind the other: where each of them reads so
     * much that reading it once for several of them is much faster. */
    void (*oracle_rows)(const problem *p, int output, int64_t first, int count, double *reference,
                        double *bound);
    /* How many nonzeros stand behind a row of the outputs: for messages and diagnoses. */
    int64_t (*row_length)(const problem *p, int64_t row);
    /* Optional. How many products the element at `place` of a row of outputs[output] is the sum of. They decide how far rounded
     * products and flushed additions may carry it. Without it they are row_length, as in an SpMM. */
    int64_t (*products)(const problem *p, int output, int64_t row, int64_t place);
    /* Optional. What a wrong element of outputs[output] looks like, as "only the first 96 of 100 features
     * were summed"; "" where nothing fits. The diagnosis says it if it says it of all it looks at. */
    void (*explain)(const problem *p, int output, int64_t row, int64_t place, double got,
                    char *text, size_t bytes);

    /* Optional. Counts what a problem on a matrix of these counts, without values, will take. */
    void (*footprint)(const csr_matrix *counts, int width, enum precision precision,
                      problem_bytes *bytes);

    void (*cost)(const problem *p, cost_model *model);
    /* Optional. Fills `least` for an instance that prepare has made. Without it there is no bound. */
    void (*least)(const problem *p, const void *instance, least_work *least);

    /* Optional. Bytes of inputs[input] that every right result depends on: each of them is read by some
     * kernel or copy of prepare or run, whatever the contender. `handed`: the host has given the device
     * data of its own, which may stand for the pattern of A. Without it nothing is certain. */
    int64_t (*needs)(const problem *p, int input, bool handed);

    /* Fills tuning[] (one value per tunable, in order) by the contender's own rule. */
    void (*choose)(const contender *c, const problem *p, int *tuning);
    /* Optional. Microseconds that one run of the contender should take at a width, by its own model;
     * INFINITY where it has none, or where that holds nothing of such a matrix (models/choice.h). */
    double (*estimate)(const contender *c, const row_stats *stats, int width);
    /* Calls the prepare of a contender of the problem's precision on the device copies of the
     * inputs. It may replace settings in tuning[] that do not fit the problem. *instance is what run
     * and release take. On error nothing is left allocated. */
    cudaError_t (*prepare)(const contender *c, const problem *p, void *const *d_inputs, int *tuning,
                           void **instance);
    /* Points an instance at other dense inputs: those of A, and what prepare made of them, stay. */
    void (*rebind)(void *instance, void *const *d_inputs);
    /* Optional, for operations with values in their sparse operand. They have changed at the same address: brings an
     * instance up to date. cudaErrorNotSupported: it must be prepared anew. */
    cudaError_t (*update_values)(void *instance);
    /* Enqueues one complete run: every element of every output is defined afterwards. Work on another
     * stream that `stream` does not wait for is a wrong result (device_work_left). */
    cudaError_t (*run)(void *instance, void *const *d_outputs, cudaStream_t stream);
    void (*release)(void *instance);
    /* Optional, for contenders on several devices, outside of what is timed: bring dense inputs, and outputs as they are, to
     * where an instance works on them; and outputs back. Both wait until it is done. */
    cudaError_t (*distribute)(void *instance, void *const *d_outputs);
    cudaError_t (*collect)(void *instance, void *const *d_outputs);
    /* Optional. The contender to which an instance leaves its work, and its settings: at depth 0 the
     * instance's own helper, at depth 1 that one's, and so on. NULL: there is none so deep. */
    const contender *(*nested)(const void *instance, int depth, const int **tuning);
    /* Optional. Bytes of device memory that an instance holds beside inputs and outputs; 0: it does not say. */
    size_t (*workspace_bytes)(const void *instance);
} operation;

/* Makes an operation known by its name. It stands once, in the file that defines the operation. */
#define OPERATION_REGISTER(op)                                                                   \
    __attribute__((used, section("operations"))) static const operation *const registered_##op = \
        &op;

/* The operation of that name; NULL: none has it. */
const operation *operation_named(const char *name);

/* The names of all, as "sddmm, spmm", for messages. text: room for `bytes`. */
void operation_names(char *text, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
