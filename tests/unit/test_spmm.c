/*
 * test_spmm.c - the SpMM operation: its oracle and error bound against sums of another kind, its
 * inputs, its cost model, what it refuses, and the same in 16 bits.
 */
#include "real_problem.h"

#include "ops/spmm.h"
#include "random_matrix.h"

enum { ROW_PTR, COL_IDX, VALUES, B_DENSE };

static void create_in(enum precision precision, problem *p, const csr_matrix *A, int N,
                      uint64_t seed)
{
    problem_create(p, &spmm_operation, precision, A, N, seed);
}

static void create(problem *p, const csr_matrix *A, int N, uint64_t seed)
{
    create_in(PRECISION_FP32, p, A, N, seed);
}

static const float *floats(const problem *p, int input)
{
    return p->inputs[input].data;
}

/* ---- the oracle ------------------------------------------------------------------------------ */

/* Row `row` of the product in long double, by columns of A in place of the order of the entries: a
 * dense row of A first, in which repeated entries add up. */
static void dense_product(const problem *p, int64_t row, long double *product,
                          long double *magnitude, long double *squares, long double *largest)
{
    const csr_matrix *A = p->A;
    long double *a = calloc(A->cols, sizeof *a), *size = calloc(A->cols, sizeof *size);
    for (int64_t k = A->row_ptr[row]; k < A->row_ptr[row + 1]; k++) {
        a[A->col_idx[k]] += floats(p, VALUES)[k];
        size[A->col_idx[k]] += fabsl((long double)floats(p, VALUES)[k]);
    }
    for (int j = 0; j < p->width; j++) {
        product[j] = magnitude[j] = squares[j] = largest[j] = 0;
        for (int64_t c = A->cols - 1; c >= 0; c--) {
            if (size[c] == 0) continue; /* B may be infinite there */
            const long double b = floats(p, B_DENSE)[(size_t)c * p->width + j];
            product[j] += a[c] * b;
            const long double term = size[c] * fabsl(b);
            magnitude[j] += term;
            squares[j] += term * term;
            largest[j] = fmaxl(largest[j], term);
        }
    }
    free(a);
    free(size);
}

static void assert_oracle_is_right(const csr_matrix *A, int N, uint64_t seed)
{
    problem p;
    create(&p, A, N, seed);
    double *want = malloc(N * sizeof *want), *bound = malloc(N * sizeof *bound);
    long double *exact = malloc(N * sizeof *exact), *size = malloc(N * sizeof *size);
    long double *squares = malloc(N * sizeof *squares), *largest = malloc(N * sizeof *largest);
    for (int64_t i = 0; i < A->rows; i++) {
        const int64_t n = A->row_ptr[i + 1] - A->row_ptr[i];
        assert_int_equal(p.operation->row_length(&p, i), n);
        p.operation->oracle(&p, 0, i, want, bound);
        dense_product(&p, i, exact, size, squares, largest);
        for (int j = 0; j < N; j++) {
            const long double always = (n + 4) * size[j];
            const long double random =
                6 * sqrtl(n * squares[j]) + 4 * largest[j] + 2 * fabsl(exact[j]);
            const long double allowed = 0x1p-24L * fminl(always, random) + 0x1p-149L * n;
            if (n == 0) assert_true(want[j] == 0 && bound[j] == 0);
            /* fp64 sums are off by n * 2^-53 at most: far below the bound they are used with. */
            assert_true(fabsl(want[j] - exact[j]) <= n * 0x1p-53L * size[j]);
            assert_true(fabsl(bound[j] - allowed) <= (n + 4) * 0x1p-52L * allowed);
        }
    }
    free(want);
    free(bound);
    free(exact);
    free(size);
    free(squares);
    free(largest);
    p.operation->destroy(&p);
    assert_null(p.own);
}

static void oracle_on_random_matrices(void **state)
{
    (void)state;
    static const int widths[] = {1, 2, 7, 33};
    for (uint64_t seed = 1; seed <= 60; seed++) {
        csr_matrix A = random_matrix(seed, 40, seed % 3 ? 30 : 3, 400, seed % 2);
        assert_oracle_is_right(&A, widths[seed % 4], seed);
        csr_free(&A);
    }
}

static void oracle_on_empty_matrices(void **state)
{
    (void)state;
    static const int64_t shapes[][2] = {{0, 0}, {0, 5}, {5, 0}, {5, 5}};
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        csr_matrix A;
        error_text error;
        assert_int_equal(csr_alloc(&A, shapes[i][0], shapes[i][1], 0, i % 2, &error), STATUS_OK);
        assert_oracle_is_right(&A, 3, 1);
        csr_free(&A);
    }
}

/* fp32 sums in any order, with and without fused multiply-add, stay within the bound; with one
 * entry forgotten, most do not. */
static void bound_separates_right_from_wrong(void **state)
{
    (void)state;
    int missed = 0, forgotten = 0;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        csr_matrix A = random_matrix(seed, 30, 200, 3000, seed % 2);
        problem p;
        double want[5], bound[5];
        create(&p, &A, 5, seed);
        for (int64_t i = 0; i < A.rows; i++) {
            p.operation->oracle(&p, 0, i, want, bound);
            const int64_t start = A.row_ptr[i], n = A.row_ptr[i + 1] - start;
            for (int j = 0; j < 5 && n; j++) {
                float ahead = 0, fused = 0, lanes[4] = {0}, without_first = 0;
                for (int64_t k = 0; k < n; k++) {
                    const float a = floats(&p, VALUES)[start + k];
                    const float b = floats(&p, B_DENSE)[(size_t)A.col_idx[start + k] * 5 + j];
                    ahead += a * b;
                    fused = fmaf(a, b, fused);
                    lanes[k % 4] = fmaf(a, b, lanes[k % 4]);
                    if (k) without_first = fmaf(a, b, without_first);
                }
                const float split = (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
                assert_true(fabs(ahead - want[j]) <= bound[j]);
                assert_true(fabs(fused - want[j]) <= bound[j]);
                assert_true(fabs(split - want[j]) <= bound[j]);
                forgotten++;
                missed += fabs(without_first - want[j]) <= bound[j];
            }
        }
        p.operation->destroy(&p);
        csr_free(&A);
    }
    assert_true(forgotten > 1000);
    assert_in_range(missed, 0, forgotten / 100);
}

/* ---- the inputs ------------------------------------------------------------------------------ */

static void inputs_are_described(void **state)
{
    (void)state;
    csr_matrix A = random_matrix(5, 20, 20, 100, true);
    problem p;
    create(&p, &A, 9, 1);
    assert_int_equal(p.num_inputs, 4);
    static const char *const names[] = {"A.row_ptr", "A.col_idx", "A.values", "B"};
    const size_t bytes[] = {4 * (A.rows + 1), 4 * A.nnz, 4 * A.nnz, 4 * A.cols * 9};
    for (int i = 0; i < 4; i++) {
        assert_string_equal(p.inputs[i].name, names[i]);
        assert_int_equal(p.inputs[i].bytes, bytes[i]);
    }
    for (int64_t i = 0; i <= A.rows; i++)
        assert_int_equal(((const int32_t *)p.inputs[ROW_PTR].data)[i], A.row_ptr[i]);
    assert_ptr_equal(p.inputs[COL_IDX].data, A.col_idx);
    assert_ptr_equal(p.inputs[VALUES].data, A.values); /* the file's own */
    assert_int_equal(p.outputs[0].rows, A.rows);
    assert_int_equal(p.outputs[0].cols, 9);
    p.operation->destroy(&p);
    csr_free(&A);
}

static void inputs_are_uniform(void **state)
{
    (void)state;
    csr_matrix A = full_pattern(100, 200);
    problem p;
    create(&p, &A, 100, 1);
    assert_uniform(floats(&p, VALUES), A.nnz);
    assert_uniform(floats(&p, B_DENSE), A.cols * 100);
    assert_true(memcmp(floats(&p, VALUES), floats(&p, B_DENSE), 4 * A.nnz) != 0);
    p.operation->destroy(&p);
    csr_free(&A);
}

static void inputs_follow_the_seed(void **state)
{
    (void)state;
    csr_matrix A = full_pattern(10, 20);
    problem p[3];
    for (int i = 0; i < 3; i++)
        create(&p[i], &A, 7, i < 2 ? 11 : 12);
    for (int input = VALUES; input <= B_DENSE; input++) {
        const size_t bytes = p[0].inputs[input].bytes;
        assert_memory_equal(p[0].inputs[input].data, p[1].inputs[input].data, bytes);
        int equal = 0;
        for (size_t k = 0; k < bytes / 4; k++)
            equal += floats(&p[0], input)[k] == floats(&p[2], input)[k];
        assert_int_equal(equal, 0);
    }
    for (int i = 0; i < 3; i++)
        p[i].operation->destroy(&p[i]);
    csr_free(&A);
}

/* Rows of B whose column is empty in A hold NaN and infinities, all others numbers. */
static void untouched_rows_of_B(void **state)
{
    (void)state;
    int untouched = 0, infinite = 0;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        csr_matrix A = random_matrix(seed, 20, 60, 60, false);
        problem p;
        create(&p, &A, 4, seed);
        for (int64_t c = 0; c < A.cols; c++) {
            bool used = false;
            for (int64_t k = 0; k < A.nnz; k++)
                used |= A.col_idx[k] == c;
            for (int j = 0; j < 4; j++) {
                const float b = floats(&p, B_DENSE)[4 * c + j];
                assert_int_equal(isfinite(b) != 0, used);
                untouched += !used;
                infinite += isinf(b) != 0;
            }
        }
        p.operation->destroy(&p);
        csr_free(&A);
    }
    assert_true(untouched > 100 && infinite > untouched / 4 && infinite < 3 * untouched / 4);
}

static bool sees_empty_column(const csr_matrix *A)
{
    problem p;
    create(&p, A, 1, 1);
    p.operation->destroy(&p);
    return p.has_empty_column;
}

static void empty_columns_are_seen(void **state)
{
    (void)state;
    int64_t offsets[] = {0, 2, 3};
    int32_t columns[] = {1, 0, 1};
    csr_matrix A = {.rows = 2, .cols = 2, .nnz = 3, .row_ptr = offsets, .col_idx = columns};
    assert_false(sees_empty_column(&A));
    columns[1] = 1;
    assert_true(sees_empty_column(&A));
    A.cols = 0;
    A.nnz = 0;
    offsets[1] = offsets[2] = 0;
    assert_false(sees_empty_column(&A));
}

/* ---- the cost model -------------------------------------------------------------------------- */

static void cost_by_hand(void **state)
{
    (void)state;
    csr_matrix A = full_pattern(3, 5);
    problem p;
    cost_model m;
    create(&p, &A, 2, 1);
    p.operation->cost(&p, &m);
    assert_true(m.flops == 2 * 15 * 2);
    assert_true(m.compulsory_bytes == 15 * 8 + 4 * 4 + 5 * 2 * 4 + 3 * 2 * 4);
    assert_true(m.gathers[0].bytes == 15 * 8 + 4 * 4 + 15 * 2 * 4 + 3 * 2 * 4);
    assert_true(m.gathers[0].span == 5 * 2 * 4);
    assert_true(m.gathers[0].row == 2 * 4);
    p.operation->destroy(&p);
    csr_free(&A);
}

/* ---- what a run cannot do without ------------------------------------------------------------- */

static cudaError_t prepare_nothing(spmm_plan *plan)
{
    (void)plan;
    return cudaSuccess;
}

static size_t twelve_bytes(const spmm_plan *plan)
{
    (void)plan;
    return 12;
}

/* A contender that leaves its work to one of a format of its own, on tensor cores. */
static spmm_contender inner = {
    .base = {.unit = UNIT_TENSOR_CORES}, .prepare = prepare_nothing, .format_bytes = twelve_bytes};
static cudaError_t nest_inner(spmm_plan *plan)
{
    return spmm_nest(plan, &inner, NULL, NULL);
}

static least_work least_of(const spmm_contender *c, const problem *p)
{
    void *const inputs[4] = {NULL}, *instance;
    int tuning[MAX_TUNABLES] = {0};
    least_work l;
    assert_int_equal(p->operation->prepare(&c->base, p, inputs, tuning, &instance), cudaSuccess);
    p->operation->least(p, instance, &l);
    p->operation->release(instance);
    return l;
}

/* 3 rows, 5 columns of which two are empty, 4 nonzeros, N = 2. */
static void least_by_hand(void **state)
{
    (void)state;
    int64_t offsets[] = {0, 2, 2, 4};
    int32_t columns[] = {1, 3, 3, 4};
    const csr_matrix A = {.rows = 3, .cols = 5, .nnz = 4, .row_ptr = offsets, .col_idx = columns};
    const struct {
        spmm_contender contender;
        double A_bytes, B_rows, flops;
        enum unit unit;
    } cases[] = {
        {{.base = {.lab = 1}},
         4 * 4 + 4 * 8,
         3,
         16,
         UNIT_CUDA_CORES}, /* CSR: it has nothing else */
        {{.prepare = prepare_nothing}, 4 * 4, 3, 16, UNIT_CUDA_CORES}, /* the values at least */
        {{.prepare = prepare_nothing, .format_bytes = spmm_csr_bytes}, 48, 3, 16, UNIT_CUDA_CORES},
        {{.prepare = prepare_nothing, .base = {.dense = true}}, 15 * 4, 5, 60, UNIT_CUDA_CORES},
        {{.prepare = nest_inner, .release = spmm_nested_release}, 12, 3, 16, UNIT_TENSOR_CORES},
    };
    problem p;
    create(&p, &A, 2, 1);
    assert_int_equal(p.used_columns, 3);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const least_work l = least_of(&cases[i].contender, &p);
        assert_true(l.read_bytes == cases[i].A_bytes + 8 * cases[i].B_rows);
        assert_true(l.write_bytes == 3 * 8);
        assert_true(l.flops == cases[i].flops);
        assert_int_equal(l.unit, cases[i].unit);
    }
    p.operation->destroy(&p);
    /* In 16 bits elements are half as large, offsets and columns are not. */
    create_in(PRECISION_BF16, &p, &A, 2, 1);
    const spmm_contender narrow = {.base.precision = PRECISION_BF16};
    const least_work l = least_of(&narrow, &p);
    assert_true(l.read_bytes == 4 * 4 + 4 * 6 + 3 * 4 && l.write_bytes == 3 * 4);
    p.operation->destroy(&p);
}

/* ---- what a rival keeps of B ------------------------------------------------------------------- */

static struct {
    int times;
    const void *B;
    cudaError_t answer;
} bound;

static cudaError_t note_B(spmm_plan *plan, const void *B)
{
    (void)plan;
    bound.times++;
    bound.B = B;
    return bound.answer;
}

static cudaError_t run_nothing(const spmm_plan *plan, const float *B, float *C, cudaStream_t stream)
{
    (void)plan, (void)B, (void)C, (void)stream;
    return cudaSuccess;
}

/* Its rebind is called after prepare and with each further B; what it says, prepare or the next run says. */
static void rivals_keep_B(void **state)
{
    (void)state;
    csr_matrix A = random_matrix(5, 10, 12, 30, true);
    problem p;
    create(&p, &A, 3, 1);
    spmm_contender c = {.prepare = prepare_nothing, .rebind = note_B, .run = run_nothing};
    float first, other;
    void *inputs[4] = {[B_DENSE] = &first}, *outputs[1] = {NULL}, *instance;
    int tuning[MAX_TUNABLES] = {0};
    const operation *op = p.operation;
    memset(&bound, 0, sizeof bound);
    assert_int_equal(op->prepare(&c.base, &p, inputs, tuning, &instance), cudaSuccess);
    assert_true(bound.times == 1 && bound.B == &first);
    op->rebind(instance, inputs); /* the same address, whose contents may be others */
    assert_true(bound.times == 2 && bound.B == &first);
    inputs[B_DENSE] = &other;
    bound.answer = cudaErrorMemoryAllocation;
    op->rebind(instance, inputs);
    assert_true(bound.times == 3 && bound.B == &other);
    assert_int_equal(op->run(instance, outputs, 0), cudaErrorMemoryAllocation);
    bound.answer = cudaSuccess;
    op->rebind(instance, inputs);
    assert_int_equal(op->run(instance, outputs, 0), cudaSuccess);
    op->release(instance);
    bound.answer = cudaErrorNotSupported;
    assert_int_equal(op->prepare(&c.base, &p, inputs, tuning, &instance), cudaErrorNotSupported);
    p.operation->destroy(&p);
    csr_free(&A);
}

/* It could do its product there, where no clock runs. */
static void labs_keep_nothing_of_B(void **state)
{
    (void)state;
    csr_matrix A = random_matrix(5, 10, 12, 30, true);
    problem p;
    create(&p, &A, 3, 1);
    spmm_contender c = {.base.lab = 1, .prepare = prepare_nothing, .rebind = note_B};
    void *inputs[4] = {NULL}, *instance;
    int tuning[MAX_TUNABLES] = {0};
    memset(&bound, 0, sizeof bound);
    assert_int_equal(p.operation->prepare(&c.base, &p, inputs, tuning, &instance), cudaSuccess);
    p.operation->rebind(instance, inputs);
    assert_int_equal(bound.times, 0);
    p.operation->release(instance);
    p.operation->destroy(&p);
    csr_free(&A);
}

/* ---- what is refused ------------------------------------------------------------------------- */

static void assert_refuses(const csr_matrix *A, int N, enum status status, const char *fragment)
{
    assert_problem_refused(&spmm_operation, PRECISION_FP32, A, N, status, fragment);
}

static void values_must_be_finite(void **state)
{
    (void)state;
    static const float bad[] = {NAN, INFINITY, -INFINITY};
    for (int i = 0; i < 3; i++) {
        csr_matrix A = random_matrix(7, 30, 30, 200, true);
        assert_true(A.nnz > 0);
        A.values[A.nnz / 2] = bad[i];
        assert_refuses(&A, 4, STATUS_DATASET, "is not finite in fp32");
        csr_free(&A);
    }
}

/* Sums that fp32 cannot hold would make every kernel wrong. */
static void products_must_fit_fp32(void **state)
{
    (void)state;
    csr_matrix A;
    error_text error;
    for (int doubled = 0; doubled < 2; doubled++) {
        assert_int_equal(csr_alloc(&A, 2, 2, 2, true, &error), STATUS_OK);
        A.row_ptr[1] = 0;
        A.row_ptr[2] = 2;
        A.col_idx[0] = 0;
        A.col_idx[1] = 1;
        A.values[0] = -0x1p125f;
        A.values[1] = doubled ? 0x1p127f : 0x1p125f;
        problem p = {.operation = &spmm_operation, .A = &A, .width = 1, .seed = 1};
        if (doubled) {
            assert_refuses(&A, 1, STATUS_DATASET,
                           "row 1: values that add up to 2.13e+38 overflow fp32 when multiplied");
        } else {
            assert_int_equal(spmm_operation.create(&p, &error), STATUS_OK);
            spmm_operation.destroy(&p);
        }
        csr_free(&A);
    }
}

/* The arrays are not looked at: they are not there. */
static void inputs_must_fit_the_memory(void **state)
{
    (void)state;
    csr_matrix A;
    error_text error;
    assert_int_equal(csr_alloc(&A, 1, 1 << 30, 0, false, &error), STATUS_OK);
    assert_refuses(&A, 1 << 20, STATUS_MEMORY, "the problem needs 4503599.6 GB of memory");
    assert_refuses(&A, 1 << 20, STATUS_MEMORY, "; try a smaller N");
    csr_free(&A);
}

/* ---- contenders ------------------------------------------------------------------------------ */

static void even(const row_stats *stats, int N, int *tuning)
{
    tuning[1] = stats->max > 5 ? 2 * N : 4;
}

/* Its own rule where it has one, the initial values for the rest. */
static void tunables_are_chosen(void **state)
{
    (void)state;
    spmm_contender c = {.base.tunables = {{"D", "", {1, 2}, 2, .initial = 2},
                                          {"C", "", {4, 16}, 2, .initial = 16}}};
    problem p = {.operation = &spmm_operation, .width = 8, .stats.max = 9};
    int tuning[MAX_TUNABLES];
    assert_int_equal(contender_num_tunables(&c.base), 2);
    spmm_operation.choose(&c.base, &p, tuning);
    assert_int_equal(tuning[0], 2);
    assert_int_equal(tuning[1], 16);
    c.choose = even;
    spmm_operation.choose(&c.base, &p, tuning);
    assert_int_equal(tuning[0], 2);
    assert_int_equal(tuning[1], 16);
    p.stats.max = 5;
    spmm_operation.choose(&c.base, &p, tuning);
    assert_int_equal(tuning[1], 4);
    assert_true(tunable_takes(&c.base.tunables[1], 4));
    assert_false(tunable_takes(&c.base.tunables[1], 8));
}

/* Labs in ascending order, vendors behind them in the order they came. */
static void contenders_are_sorted(void **state)
{
    (void)state;
    static spmm_contender all[] = {
        {.base = {.lab = 0, .name = "vendor x"}}, {.base = {.lab = 7, .name = "seven"}},
        {.base = {.lab = 2, .name = "two"}},      {.base = {.lab = 0, .name = "vendor y"}},
        {.base = {.lab = 12, .name = "twelve"}},  {.base = {.lab = 7, .name = "seven, again"}},
    };
    static const char *const order[] = {"two",    "seven",    "seven, again",
                                        "twelve", "vendor x", "vendor y"};
    size_t found = 0;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        contender_register(&all[i].base, &spmm_operation);
    for (const contender *c = contenders(); c; c = c->next) {
        if (c->lab == 0 && strncmp(c->name, "vendor", 6) != 0) continue; /* the real one's */
        assert_ptr_equal(c->operation, &spmm_operation);
        assert_int_equal(c->precision, PRECISION_FP32);
        assert_true(found < sizeof order / sizeof order[0]);
        assert_string_equal(c->name, order[found++]);
    }
    assert_int_equal(found, sizeof order / sizeof order[0]);
}

/* ---- 16 bits --------------------------------------------------------------------------------- */

/* The inputs of fp32, each rounded to the nearest number, and two bytes an element. */
static void narrow_inputs(void **state)
{
    (void)state;
    for (int precision = PRECISION_FP16; precision <= PRECISION_BF16; precision++)
        for (int with_values = 0; with_values < 2; with_values++) {
            csr_matrix A = random_matrix(3, 30, 60, 200, with_values);
            problem exact, p;
            create(&exact, &A, 7, 5);
            create_in((enum precision)precision, &p, &A, 7, 5);
            for (int input = VALUES; input <= B_DENSE; input++) {
                float *x = widened(&p, input);
                assert_int_equal(p.inputs[input].element, 2);
                assert_int_equal(2 * p.inputs[input].bytes, exact.inputs[input].bytes);
                for (size_t k = 0; k < p.inputs[input].bytes / 2; k++) {
                    const float rounded = precision_round(p.precision, floats(&exact, input)[k]);
                    assert_true(x[k] == rounded || (isnan(x[k]) && isnan(rounded)));
                }
                free(x);
            }
            assert_int_equal(p.inputs[ROW_PTR].bytes, exact.inputs[ROW_PTR].bytes);
            assert_int_equal(p.inputs[COL_IDX].element, 4);
            exact.operation->destroy(&exact);
            p.operation->destroy(&p);
            csr_free(&A);
        }
}

/* Within the bound lies the sum in fp32, rounded once. Beyond it lies a sum that is rounded to
 * 16 bits after each term, or one with a term forgotten. */
static void narrow_bound(void **state)
{
    (void)state;
    int rounded_often = 0, without_one = 0, sums = 0;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        const enum precision precision = seed % 2 ? PRECISION_FP16 : PRECISION_BF16;
        csr_matrix A = random_matrix(seed, 30, 200, 3000, false);
        problem p;
        double want[5], bound[5];
        create_in(precision, &p, &A, 5, seed);
        float *values = widened(&p, VALUES), *B = widened(&p, B_DENSE);
        for (int64_t i = 0; i < A.rows; i++) {
            p.operation->oracle(&p, 0, i, want, bound);
            const int64_t start = A.row_ptr[i], n = A.row_ptr[i + 1] - start;
            for (int j = 0; j < 5; j++) {
                float fused = 0, forward = 0, narrow = 0, without_first = 0;
                if (n == 0) assert_true(want[j] == 0 && bound[j] == 0);
                for (int64_t k = 0; k < n; k++) {
                    const float a = values[start + k], b = B[(size_t)A.col_idx[start + k] * 5 + j];
                    fused = fmaf(a, b, fused);
                    forward += a * b;
                    narrow = precision_round(precision, fmaf(a, b, narrow));
                    if (k) without_first = fmaf(a, b, without_first);
                }
                assert_true(fabs(precision_round(precision, fused) - want[j]) <= bound[j]);
                assert_true(fabs(precision_round(precision, forward) - want[j]) <= bound[j]);
                if (n < 16) continue;
                sums++;
                rounded_often += fabs(narrow - want[j]) <= bound[j];
                without_one +=
                    fabs(precision_round(precision, without_first) - want[j]) <= bound[j];
            }
        }
        free(values);
        free(B);
        p.operation->destroy(&p);
        csr_free(&A);
    }
    assert_true(sums > 1000);
    assert_in_range(rounded_often, 0, sums / 2);
    assert_in_range(without_one, 0, sums / 20);
}

static void narrow_cost(void **state)
{
    (void)state;
    csr_matrix A = full_pattern(3, 5);
    problem p;
    cost_model m;
    create_in(PRECISION_FP16, &p, &A, 2, 1);
    p.operation->cost(&p, &m);
    assert_true(m.flops == 2 * 15 * 2);
    assert_true(m.compulsory_bytes == 15 * 6 + 4 * 4 + 5 * 2 * 2 + 3 * 2 * 2);
    assert_true(m.gathers[0].bytes == 15 * 6 + 4 * 4 + 15 * 2 * 2 + 3 * 2 * 2);
    assert_true(m.gathers[0].span == 5 * 2 * 2);
    assert_true(m.gathers[0].row == 2 * 2);
    p.operation->destroy(&p);
    csr_free(&A);
}

/* A row that could be too large is refused only if its result is. */
static void results_must_fit_fp16(void **state)
{
    (void)state;
    static const struct {
        int64_t count;
        float value;
        const char *refusal; /* NULL: none */
    } cases[] = {
        {1, 65519, NULL},
        {1, 65520, "row 0: the value 65520 overflows fp16"},
        {100, 60000, "overflows fp16"}, /* some 60000 * sqrt(100 / 3) */
        {100, 600, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        csr_matrix A = one_row(cases[i].count, cases[i].value);
        for (int precision = 0; precision < NUM_PRECISIONS; precision++) {
            problem p = {.operation = &spmm_operation,
                         .A = &A,
                         .width = 9,
                         .seed = 1,
                         .precision = (enum precision)precision};
            error_text error = {""};
            const enum status status = p.operation->create(&p, &error);
            const bool refused = precision == PRECISION_FP16 && cases[i].refusal;
            assert_int_equal(status, refused ? STATUS_SKIPPED : STATUS_OK);
            if (refused && !strstr(error.text, cases[i].refusal)) fail_msg("'%s'", error.text);
            if (refused) assert_null(p.own);
            p.operation->destroy(&p);
        }
        csr_free(&A);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(oracle_on_random_matrices),
        cmocka_unit_test(oracle_on_empty_matrices),
        cmocka_unit_test(bound_separates_right_from_wrong),
        cmocka_unit_test(inputs_are_described),
        cmocka_unit_test(inputs_are_uniform),
        cmocka_unit_test(inputs_follow_the_seed),
        cmocka_unit_test(untouched_rows_of_B),
        cmocka_unit_test(empty_columns_are_seen),
        cmocka_unit_test(cost_by_hand),
        cmocka_unit_test(least_by_hand),
        cmocka_unit_test(values_must_be_finite),
        cmocka_unit_test(products_must_fit_fp32),
        cmocka_unit_test(inputs_must_fit_the_memory),
        cmocka_unit_test(tunables_are_chosen),
        cmocka_unit_test(rivals_keep_B),
        cmocka_unit_test(labs_keep_nothing_of_B),
        cmocka_unit_test(contenders_are_sorted),
        cmocka_unit_test(narrow_inputs),
        cmocka_unit_test(narrow_bound),
        cmocka_unit_test(narrow_cost),
        cmocka_unit_test(results_must_fit_fp16),
    };
    return cmocka_run_group_tests_name("spmm", tests, NULL, NULL);
}
