/*
 * test_sddmm.c - the SDDMM operation: its oracle and error bound against sums of another kind, its
 * inputs, costs and explanations, what it refuses, and the same in 16 bits.
 */
#include "real_problem.h"

#include "ops/sddmm.h"
#include "random_matrix.h"

static void create_in(enum precision precision, problem *p, const csr_matrix *A, int K,
                      uint64_t seed)
{
    problem_create(p, &sddmm_operation, precision, A, K, seed);
}

static void create(problem *p, const csr_matrix *A, int K, uint64_t seed)
{
    create_in(PRECISION_FP32, p, A, K, seed);
}

/* The inputs of a problem as floats, found by name. */
typedef struct inputs {
    float *W, *X, *Y; /* W: NULL where there are no weights */
} inputs;

static int input_named(const problem *p, const char *name)
{
    for (int i = 0; i < p->num_inputs; i++)
        if (!strcmp(p->inputs[i].name, name)) return i;
    return -1;
}

static inputs inputs_of(const problem *p)
{
    const int W = input_named(p, "W.values");
    return (inputs){W < 0 ? NULL : widened(p, W), widened(p, input_named(p, "X")),
                    widened(p, input_named(p, "Y"))};
}

static void inputs_free(inputs *in)
{
    free(in->W);
    free(in->X);
    free(in->Y);
}

/* Room for a row of results and bounds. */
typedef struct row {
    double *want, *bound;
} row;

static row row_alloc(const problem *p)
{
    const size_t bytes = (output_longest(&p->outputs[0]) + 1) * sizeof(double);
    return (row){malloc(bytes), malloc(bytes)};
}

static void row_free(row *r)
{
    free(r->want);
    free(r->bound);
}

/* Puts the entries of each row into another order. */
static void shuffle_columns(csr_matrix *A, uint64_t seed)
{
    for (int64_t i = 0; i < A->rows; i++)
        for (int64_t k = A->row_ptr[i + 1] - 1; k > A->row_ptr[i]; k--) {
            const int64_t at = A->row_ptr[i], other = at + random_below(seed, k, k - at + 1);
            const int32_t column = A->col_idx[k];
            A->col_idx[k] = A->col_idx[other];
            A->col_idx[other] = column;
        }
}

/* ---- the oracle ------------------------------------------------------------------------------ */

/* Element z in long double, summed from the last feature to the first; the sum of its products' sizes, and
 * the error that the operation says a sum in fp32 may have. */
static long double exact_element(const inputs *in, const csr_matrix *A, int64_t i, int64_t z, int K,
                                 long double *size, long double *allowed)
{
    const float *x = in->X + (size_t)i * K, *y = in->Y + (size_t)A->col_idx[z] * K;
    const long double w = in->W ? in->W[z] : 1;
    long double sum = 0, squares = 0, largest = 0;
    *size = 0;
    for (int k = K - 1; k >= 0; k--) {
        const long double term = (long double)x[k] * y[k];
        sum += term;
        squares += term * term;
        largest = fmaxl(largest, fabsl(term));
        *size += fabsl(term);
    }
    const long double random = 6 * sqrtl(K * squares) + 4 * largest + 2 * fabsl(sum);
    *allowed = 0x1p-24L * fabsl(w) * fminl((K + 4) * *size, random) + 0x1p-149L * (K + 1);
    *size *= fabsl(w);
    return w * sum;
}

static void assert_oracle_is_right(enum precision precision, const csr_matrix *A, int K,
                                   uint64_t seed)
{
    problem p;
    create_in(precision, &p, A, K, seed);
    inputs in = inputs_of(&p);
    row r = row_alloc(&p);
    const number_format *format = precision_format(precision);
    for (int64_t i = 0; i < A->rows; i++) {
        const int64_t start = A->row_ptr[i], n = A->row_ptr[i + 1] - start;
        assert_int_equal(p.operation->row_length(&p, i), n);
        for (int64_t j = 0; j < n; j++)
            assert_int_equal(p.operation->products(&p, 0, i, j), K);
        assert_int_equal(output_length(&p.outputs[0], i), n);
        p.operation->oracle(&p, 0, i, r.want, r.bound);
        for (int64_t j = 0; j < n; j++) {
            long double size, allowed;
            const long double exact = exact_element(&in, A, i, start + j, K, &size, &allowed);
            if (precision != PRECISION_FP32)
                allowed += format->unit_roundoff * (fabsl(exact) + allowed) + format->least / 2;
            /* fp64 sums are off by (K + 1) * 2^-53 at most: far below the bound. */
            assert_true(fabsl(r.want[j] - exact) <= (K + 1) * 0x1p-53L * size);
            assert_true(fabsl(r.bound[j] - allowed) <= (K + 4) * 0x1p-50L * allowed);
        }
    }
    inputs_free(&in);
    row_free(&r);
    p.operation->destroy(&p);
    assert_null(p.own);
}

static void oracle_on_random_matrices(void **state)
{
    (void)state;
    static const int widths[] = {1, 2, 7, 33, 64};
    for (uint64_t seed = 1; seed <= 60; seed++) {
        csr_matrix A = random_matrix(seed, 40, seed % 3 ? 30 : 3, 400, seed % 2);
        if (seed % 4 == 0) shuffle_columns(&A, seed);
        assert_oracle_is_right((enum precision)(seed % NUM_PRECISIONS), &A, widths[seed % 5], seed);
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
        for (int precision = 0; precision < NUM_PRECISIONS; precision++)
            assert_oracle_is_right((enum precision)precision, &A, 3, 1);
        csr_free(&A);
    }
}

/* Entries of the same place are elements of their own, and each has the whole product. */
static void duplicates_count_each(void **state)
{
    (void)state;
    int64_t offsets[] = {0, 3};
    int32_t columns[] = {1, 0, 1};
    const csr_matrix A = {.rows = 1, .cols = 2, .nnz = 3, .row_ptr = offsets, .col_idx = columns};
    problem p;
    double want[3], bound[3];
    create(&p, &A, 5, 1);
    p.operation->oracle(&p, 0, 0, want, bound);
    assert_true(want[0] == want[2] && bound[0] == bound[2]);
    assert_true(want[0] != want[1]);
    p.operation->destroy(&p);
}

/* The ways a kernel may form an element in fp32, rounded to the precision at the store. */
enum way { AHEAD, FUSED, LANES, WEIGHTED_BEFORE, NUM_WAYS };

static float formed(enum precision precision, enum way way, const float *x, const float *y, int K,
                    float w)
{
    float sum = 0, lanes[4] = {0};
    for (int k = 0; k < K; k++)
        switch (way) {
        case AHEAD:
            sum += x[k] * y[k];
            break;
        case FUSED:
            sum = fmaf(x[k], y[k], sum);
            break;
        case LANES:
            lanes[k % 4] = fmaf(x[k], y[k], lanes[k % 4]);
            break;
        default:
            sum = fmaf(w * x[k], y[k], sum);
        }
    if (way == LANES) sum = (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
    return precision_round(precision, way == WEIGHTED_BEFORE ? sum : w * sum);
}

/* Whatever way a right kernel takes, it stays within the bound. A kernel that leaves out one feature
 * seldom does, nor does one that rounds its sum to 16 bits after each term. */
static void bound_separates_right_from_wrong(void **state)
{
    (void)state;
    enum { K = 48 };
    for (int precision = 0; precision < NUM_PRECISIONS; precision++) {
        int elements = 0, missed = 0, narrow_missed = 0;
        for (uint64_t seed = 1; seed <= 40; seed++) {
            csr_matrix A = random_matrix(seed, 30, 60, 300, seed % 2);
            problem p;
            create_in((enum precision)precision, &p, &A, K, seed);
            inputs in = inputs_of(&p);
            row r = row_alloc(&p);
            for (int64_t i = 0; i < A.rows; i++) {
                p.operation->oracle(&p, 0, i, r.want, r.bound);
                for (int64_t z = A.row_ptr[i]; z < A.row_ptr[i + 1]; z++) {
                    const float *x = in.X + i * K, *y = in.Y + (size_t)A.col_idx[z] * K;
                    const float w = in.W ? in.W[z] : 1;
                    const double want = r.want[z - A.row_ptr[i]], bound = r.bound[z - A.row_ptr[i]];
                    float narrow = 0;
                    for (int way = 0; way < NUM_WAYS; way++)
                        assert_true(fabs(formed(p.precision, (enum way)way, x, y, K, w) - want) <=
                                    bound);
                    for (int k = 0; k < K; k++)
                        narrow = precision_round(p.precision, fmaf(x[k], y[k], narrow));
                    elements++;
                    missed += fabs(formed(p.precision, FUSED, x, y, K - 1, w) - want) <= bound;
                    narrow = precision_round(p.precision, w * narrow);
                    narrow_missed += fabs(narrow - want) <= bound;
                }
            }
            inputs_free(&in);
            row_free(&r);
            p.operation->destroy(&p);
            csr_free(&A);
        }
        assert_true(elements > 3000);
        assert_in_range(missed, 0, elements / (precision == PRECISION_BF16 ? 10 : 50));
        if (precision != PRECISION_FP32) assert_in_range(narrow_missed, 0, elements / 2);
    }
}

/* Weights so small that the result is subnormal: no product is off by more than the bound says. */
static void bound_covers_underflow(void **state)
{
    (void)state;
    enum { K = 9 };
    csr_matrix A = one_row(200, 0x1p-147f);
    problem p;
    double want[200], bound[200];
    create(&p, &A, K, 1);
    inputs in = inputs_of(&p);
    p.operation->oracle(&p, 0, 0, want, bound);
    int off = 0;
    for (int j = 0; j < 200; j++)
        for (int way = 0; way < NUM_WAYS; way++) {
            const double error =
                fabs(formed(PRECISION_FP32, (enum way)way, in.X, in.Y + j * K, K, A.values[j]) -
                     want[j]);
            assert_true(error <= bound[j]);
            off += error > 0x1p-24 * (K + 4) * K * 0x1p-147;
        }
    assert_true(off > 100);
    inputs_free(&in);
    p.operation->destroy(&p);
    csr_free(&A);
}

/* ---- the inputs ------------------------------------------------------------------------------ */

static void inputs_are_described(void **state)
{
    (void)state;
    for (int precision = 0; precision < NUM_PRECISIONS; precision++)
        for (int with_values = 0; with_values < 2; with_values++) {
            csr_matrix A = random_matrix(5, 20, 20, 100, with_values);
            problem p;
            create_in((enum precision)precision, &p, &A, 9, 1);
            const size_t e = precision_format(p.precision)->bytes;
            static const char *const names[] = {"W.row_ptr", "W.col_idx", "W.values", "X", "Y"};
            const size_t bytes[] = {4 * (A.rows + 1), 4 * A.nnz, e * A.nnz, e * 9 * A.rows,
                                    e * 9 * A.cols};
            assert_int_equal(p.num_inputs, 4 + with_values);
            for (int i = 0; i < p.num_inputs; i++) {
                const int which = i >= 2 && !with_values ? i + 1 : i;
                assert_string_equal(p.inputs[i].name, names[which]);
                assert_int_equal(p.inputs[i].bytes, bytes[which]);
                assert_int_equal(p.inputs[i].element, which < 2 ? 4 : e);
            }
            for (int64_t i = 0; i <= A.rows; i++)
                assert_int_equal(((const int32_t *)p.inputs[0].data)[i], A.row_ptr[i]);
            assert_ptr_equal(p.inputs[1].data, A.col_idx);
            if (with_values && precision == PRECISION_FP32)
                assert_ptr_equal(p.inputs[2].data, A.values); /* the file's own */
            p.operation->destroy(&p);
            csr_free(&A);
        }
}

static void output_is_on_the_pattern(void **state)
{
    (void)state;
    csr_matrix A = random_matrix(5, 20, 20, 100, true);
    problem p;
    create_in(PRECISION_BF16, &p, &A, 9, 1);
    const output *D = &p.outputs[0];
    assert_int_equal(p.num_outputs, 1);
    assert_string_equal(D->name, "D");
    assert_int_equal(D->precision, PRECISION_BF16);
    assert_true(D->rows == A.rows && D->cols == A.cols);
    assert_ptr_equal(D->row_ptr, A.row_ptr);
    assert_ptr_equal(D->col_idx, A.col_idx);
    assert_int_equal(output_bytes(D), 2 * A.nnz);
    p.operation->destroy(&p);
    csr_free(&A);
}

static void inputs_are_uniform(void **state)
{
    (void)state;
    csr_matrix A = full_pattern(200, 100);
    problem p;
    create(&p, &A, 100, 1);
    const float *X = p.inputs[2].data, *Y = p.inputs[3].data;
    assert_uniform(X, 200 * 100);
    assert_uniform(Y, 100 * 100);
    assert_true(memcmp(X, Y, 100 * 100 * sizeof *X) != 0);
    p.operation->destroy(&p);
    csr_free(&A);
}

/* X and Y follow the seed, and are the same with and without weights. */
static void inputs_follow_the_seed(void **state)
{
    (void)state;
    csr_matrix A = one_row(20, 0.5f);
    csr_matrix pattern = A;
    pattern.values = NULL;
    problem p[4];
    for (int i = 0; i < 3; i++)
        create(&p[i], &A, 7, i < 2 ? 11 : 12);
    create(&p[3], &pattern, 7, 11);
    for (int input = 3; input <= 4; input++) {
        const size_t bytes = p[0].inputs[input].bytes;
        const float *first = p[0].inputs[input].data, *other = p[2].inputs[input].data;
        assert_memory_equal(first, p[1].inputs[input].data, bytes);
        assert_memory_equal(first, p[3].inputs[input - 1].data, bytes);
        for (size_t k = 0; k < bytes / 4; k++)
            assert_true(first[k] != other[k]);
    }
    for (int i = 0; i < 4; i++)
        p[i].operation->destroy(&p[i]);
    csr_free(&A);
}

/* Counts the rows of x that hold numbers, and asserts that they are those in `used`. */
static int64_t assert_untouched(const float *x, int64_t rows, int K, const uint8_t *used)
{
    int64_t count = 0;
    for (int64_t i = 0; i < rows; i++) {
        for (int k = 0; k < K; k++)
            assert_int_equal(isfinite(x[i * K + k]) != 0, used[i]);
        count += used[i];
    }
    return count;
}

/* Rows of X and Y that no nonzero names hold NaN and infinities, all others numbers. */
static void untouched_rows(void **state)
{
    (void)state;
    int64_t untouched = 0;
    for (uint64_t seed = 1; seed <= 30; seed++) {
        csr_matrix A = random_matrix(seed, 60, 60, 60, false);
        uint8_t rows[60] = {0}, cols[60] = {0};
        problem p;
        create_in((enum precision)(seed % NUM_PRECISIONS), &p, &A, 4, seed);
        inputs in = inputs_of(&p);
        for (int64_t i = 0; i < A.rows; i++)
            for (int64_t k = A.row_ptr[i]; k < A.row_ptr[i + 1]; k++)
                rows[i] = cols[A.col_idx[k]] = 1;
        untouched += A.rows - assert_untouched(in.X, A.rows, 4, rows);
        const int64_t used = assert_untouched(in.Y, A.cols, 4, cols);
        assert_int_equal(p.used_columns, used);
        assert_int_equal(p.has_empty_column, used < A.cols);
        inputs_free(&in);
        p.operation->destroy(&p);
        csr_free(&A);
    }
    assert_true(untouched > 100);
}

/* The inputs of fp32, each rounded to the nearest number. */
static void narrow_inputs(void **state)
{
    (void)state;
    for (int precision = PRECISION_FP16; precision <= PRECISION_BF16; precision++) {
        csr_matrix A = random_matrix(3, 30, 60, 200, true);
        problem exact, p;
        create(&exact, &A, 7, 5);
        create_in((enum precision)precision, &p, &A, 7, 5);
        for (int input = 2; input < p.num_inputs; input++) {
            const float *full = exact.inputs[input].data;
            float *x = widened(&p, input);
            for (size_t k = 0; k < p.inputs[input].bytes / 2; k++) {
                const float rounded = precision_round(p.precision, full[k]);
                assert_true(x[k] == rounded || (isnan(x[k]) && isnan(rounded)));
            }
            free(x);
        }
        exact.operation->destroy(&exact);
        p.operation->destroy(&p);
        csr_free(&A);
    }
}

/* ---- costs ----------------------------------------------------------------------------------- */

/* 3 rows of which one is empty, 5 columns of which two are, 4 nonzeros, K = 2. */
static int64_t small_offsets[] = {0, 2, 2, 4};
static int32_t small_columns[] = {1, 3, 3, 4};
static float small_values[] = {1, 2, 3, 4};
static const csr_matrix SMALL = {.rows = 3,
                                 .cols = 5,
                                 .nnz = 4,
                                 .row_ptr = small_offsets,
                                 .col_idx = small_columns,
                                 .values = small_values};

static void cost_by_hand(void **state)
{
    (void)state;
    for (int precision = 0; precision < NUM_PRECISIONS; precision++)
        for (int with_values = 0; with_values < 2; with_values++) {
            csr_matrix A = SMALL;
            if (!with_values) A.values = NULL;
            problem p;
            cost_model m;
            create_in((enum precision)precision, &p, &A, 2, 1);
            p.operation->cost(&p, &m);
            const double e = precision == PRECISION_FP32 ? 4 : 2;
            const double sparse = 4 * 4 + 4 * (4 + e) + (with_values ? 4 * e : 0);
            assert_true(m.flops == 2 * 4 * 2);
            assert_true(m.compulsory_bytes == sparse + 2 * e * (2 + 3));
            assert_int_equal(m.num_gathers, 1);
            assert_true(m.gathers[0].bytes == sparse + 2 * e * (2 + 4));
            assert_true(m.gathers[0].row == 2 * e);
            assert_true(m.gathers[0].span == 2 * e * 5);
            p.operation->destroy(&p);
        }
}

static cudaError_t prepare_nothing(sddmm_plan *plan)
{
    (void)plan;
    return cudaSuccess;
}

static size_t twelve_bytes(const sddmm_plan *plan)
{
    (void)plan;
    return 12;
}

/* A contender that leaves its work to one of a format of its own, on tensor cores. */
static sddmm_contender inner = {
    .base = {.unit = UNIT_TENSOR_CORES}, .prepare = prepare_nothing, .format_bytes = twelve_bytes};
static cudaError_t nest_inner(sddmm_plan *plan)
{
    return sddmm_nest(plan, &inner, NULL);
}

static least_work least_of(const sddmm_contender *c, const problem *p)
{
    /* Addresses that nothing reads: only whether there are values counts. */
    char device[5];
    void *const inputs[] = {device, device + 1, device + 2, device + 3, device + 4};
    void *instance;
    int tuning[MAX_TUNABLES] = {0};
    least_work l;
    assert_int_equal(p->operation->prepare(&c->base, p, inputs, tuning, &instance), cudaSuccess);
    p->operation->least(p, instance, &l);
    p->operation->release(instance);
    return l;
}

static void least_by_hand(void **state)
{
    (void)state;
    const struct {
        sddmm_contender contender;
        double W_bytes, rows, flops;
        enum unit unit;
    } cases[] = {
        {{.base = {.lab = 30}}, 4 * 4 + 4 * 8, 2 + 3, 16, UNIT_CUDA_CORES},
        {{.prepare = prepare_nothing}, 4 * 4 + 4 * 8, 2 + 3, 16, UNIT_CUDA_CORES},
        {{.prepare = prepare_nothing, .format_bytes = twelve_bytes},
         12,
         2 + 3,
         16,
         UNIT_CUDA_CORES},
        {{.base = {.dense = true}}, 0, 3 + 5, 60, UNIT_CUDA_CORES},
        {{.prepare = nest_inner, .release = sddmm_nested_release},
         12,
         2 + 3,
         16,
         UNIT_TENSOR_CORES},
    };
    problem p;
    create(&p, &SMALL, 2, 1);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const least_work l = least_of(&cases[i].contender, &p);
        assert_true(l.read_bytes == cases[i].W_bytes + 8 * cases[i].rows);
        assert_true(l.write_bytes == 4 * 4);
        assert_true(l.flops == cases[i].flops);
        assert_int_equal(l.unit, cases[i].unit);
    }
    p.operation->destroy(&p);
    /* In 16 bits elements are half as large, offsets and columns are not. */
    const sddmm_contender narrow = {.base.precision = PRECISION_BF16};
    csr_matrix pattern = SMALL;
    for (int with_values = 1; with_values >= 0; with_values--) {
        if (!with_values) pattern.values = NULL;
        create_in(PRECISION_BF16, &p, &pattern, 2, 1);
        const least_work l = least_of(&narrow, &p);
        assert_true(l.read_bytes == 4 * 4 + 4 * (with_values ? 6 : 4) + 5 * 4);
        assert_true(l.write_bytes == 4 * 2);
        p.operation->destroy(&p);
    }
}

/* ---- explanations ---------------------------------------------------------------------------- */

static void assert_explained(const problem *p, int64_t i, int64_t place, double got,
                             const char *want)
{
    char text[120] = "left from before";
    p->operation->explain(p, 0, i, place, got, text, sizeof text);
    assert_string_equal(text, want);
}

static double element_of(const problem *p, int64_t i, int64_t place)
{
    row r = row_alloc(p);
    p->operation->oracle(p, 0, i, r.want, r.bound);
    const double want = r.want[place];
    row_free(&r);
    return want;
}

/* The first `taken` features, as a kernel adds them in fp32 and stores them. */
static float first_features(const problem *p, const inputs *in, int64_t i, int64_t place, int taken)
{
    const int64_t z = p->A->row_ptr[i] + place;
    const int K = p->width;
    return formed(p->precision, FUSED, in->X + i * K, in->Y + (size_t)p->A->col_idx[z] * K, taken,
                  in->W ? in->W[z] : 1);
}

static csr_matrix weighted_pattern(int64_t rows, int64_t cols)
{
    csr_matrix pattern = full_pattern(rows, cols), A;
    error_text error;
    assert_int_equal(csr_alloc(&A, rows, cols, pattern.nnz, true, &error), STATUS_OK);
    memcpy(A.row_ptr, pattern.row_ptr, (rows + 1) * sizeof *A.row_ptr);
    memcpy(A.col_idx, pattern.col_idx, A.nnz * sizeof *A.col_idx);
    for (int64_t k = 0; k < A.nnz; k++)
        A.values[k] = 1.5f + (float)k;
    csr_free(&pattern);
    return A;
}

static void features_forgotten(void **state)
{
    (void)state;
    static const struct {
        int K, taken;
        const char *text;
    } cases[] = {
        {100, 96, "only the first 96 of 100 features were summed"},
        {33, 32, "only the first 32 of 33 features were summed"},
        {47, 40, "only the first 40 of 47 features were summed"},
        {64, 32, "only the first 32 of 64 features were summed"},
        {7, 4, "only the first 4 of 7 features were summed"},
        {100, 95, ""}, /* no step ends there */
        {3, 2, ""},
    };
    for (int precision = 0; precision < NUM_PRECISIONS; precision++)
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
            for (int with_values = 0; with_values < 2; with_values++) {
                csr_matrix A = with_values ? weighted_pattern(3, 5) : full_pattern(3, 5);
                problem p;
                create_in((enum precision)precision, &p, &A, cases[i].K, 1);
                inputs in = inputs_of(&p);
                assert_explained(&p, 1, 2, first_features(&p, &in, 1, 2, cases[i].taken),
                                 cases[i].text);
                inputs_free(&in);
                p.operation->destroy(&p);
                csr_free(&A);
            }
}

static void weight_forgotten(void **state)
{
    (void)state;
    static const char text[] = "the weight was not multiplied in";
    csr_matrix A = weighted_pattern(3, 5);
    problem p;
    create(&p, &A, 20, 1);
    assert_explained(&p, 2, 1, element_of(&p, 2, 1) / A.values[11], text);
    assert_explained(&p, 2, 1, element_of(&p, 2, 1) * A.values[11], "");
    p.operation->destroy(&p);
    csr_free(&A);
}

static void other_nonzeros(void **state)
{
    (void)state;
    static const char text[] = "it holds the value of another nonzero, at most 7 places away";
    csr_matrix A = full_pattern(4, 6);
    problem p;
    create(&p, &A, 20, 1);
    assert_explained(&p, 0, 0, element_of(&p, 0, 1), text);
    assert_explained(&p, 1, 3, element_of(&p, 1, 2), text);
    assert_explained(&p, 1, 1, element_of(&p, 1, 2), text);
    assert_explained(&p, 1, 2, element_of(&p, 1, 1), text); /* 8 holds 7: of the eight before */
    assert_explained(&p, 1, 2, element_of(&p, 2, 3), text); /* 8 holds 15: the last of its eight */
    assert_explained(&p, 1, 2, element_of(&p, 1, 0), "");   /* 8 holds 6: of no such group */
    assert_explained(&p, 1, 2, element_of(&p, 2, 4), "");   /* 8 holds 16 */
    assert_explained(&p, 3, 5, element_of(&p, 2, 4),
                     text); /* the last holds the first of its eight */
    p.operation->destroy(&p);
    csr_free(&A);
}

/* Row 2 is empty, and its row of X not a number. */
static void stale_row_of_X(void **state)
{
    (void)state;
    static const char text[] = "the row of X was that of an earlier nonzero";
    int64_t offsets[] = {0, 1, 2, 2, 40, 50};
    int32_t columns[50];
    for (int k = 0; k < 50; k++)
        columns[k] = k;
    const csr_matrix A = {.rows = 5, .cols = 50, .nnz = 50, .row_ptr = offsets, .col_idx = columns};
    problem p;
    create(&p, &A, 20, 1);
    inputs in = inputs_of(&p);
    const struct {
        int64_t row, place, earlier;
        const char *text;
    } cases[] = {
        {1, 0, 0, text}, {3, 0, 1, text},  {3, 5, 0, text}, {3, 30, 0, ""},
        {3, 31, 1, ""},  {3, 29, 0, text}, {0, 0, 3, ""},   {4, 0, 3, text},
        {4, 9, 3, text}, {3, 5, 4, ""},    {1, 0, 3, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const int column = (int)(offsets[cases[i].row] + cases[i].place);
        assert_explained(
            &p, cases[i].row, cases[i].place,
            formed(PRECISION_FP32, LANES, in.X + cases[i].earlier * 20, in.Y + column * 20, 20, 1),
            cases[i].text);
    }
    inputs_free(&in);
    p.operation->destroy(&p);
}

static void unexplained(void **state)
{
    (void)state;
    csr_matrix A = weighted_pattern(3, 5);
    problem p;
    create(&p, &A, 20, 1);
    static const double odd[] = {NAN, INFINITY, -INFINITY, 0, 1e30};
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++)
        assert_explained(&p, 1, 1, odd[i], "");
    assert_explained(&p, 1, 1, 1.01 * element_of(&p, 1, 1), "");
    assert_explained(&p, 1, 1, 2 * element_of(&p, 1, 1), "");
    p.operation->destroy(&p);
    csr_free(&A);
}

/* ---- what is refused ------------------------------------------------------------------------- */

static void assert_refuses(const csr_matrix *A, int K, enum status status, const char *fragment)
{
    assert_problem_refused(&sddmm_operation, PRECISION_FP32, A, K, status, fragment);
}

static void values_must_be_finite(void **state)
{
    (void)state;
    static const float bad[] = {NAN, INFINITY, -INFINITY};
    for (int i = 0; i < 3; i++) {
        csr_matrix A = one_row(9, 1);
        A.values[4] = bad[i];
        assert_refuses(&A, 4, STATUS_DATASET, "is not finite in fp32");
        csr_free(&A);
    }
}

/* |w| K at FLT_MAX / 2 and just above it. */
static void products_must_fit_fp32(void **state)
{
    (void)state;
    csr_matrix A = one_row(3, 1);
    problem p;
    A.values[1] = -0x1p123f;
    create(&p, &A, 15, 1);
    p.operation->destroy(&p);
    assert_refuses(&A, 16, STATUS_DATASET,
                   "row 0: 16 products with the value -1.06e+37 overflow fp32");
    csr_free(&A);
}

/* The arrays are not looked at: they are not there. */
static void offsets_must_fit_32_bits(void **state)
{
    (void)state;
    const csr_matrix A = {.rows = 10, .cols = 10, .nnz = INT32_MAX - 4095};
    assert_refuses(&A, 1, STATUS_MEMORY,
                   "2147479552 nonzeros need 64-bit row offsets on the device; the SDDMM labs");
}

static void inputs_must_fit_the_memory(void **state)
{
    (void)state;
    csr_matrix A;
    error_text error;
    assert_int_equal(csr_alloc(&A, 1, 1 << 30, 0, false, &error), STATUS_OK);
    assert_refuses(&A, 1 << 20, STATUS_MEMORY, "the problem needs 4503599.6 GB of memory");
    assert_refuses(&A, 1 << 20, STATUS_MEMORY, "; try a smaller K");
    csr_free(&A);
}

/* An element that could be too large is refused only if it is. */
static void results_must_fit_fp16(void **state)
{
    (void)state;
    static const struct {
        float value;
        int K;
        const char *refusal; /* NULL: none */
    } cases[] = {
        {65519, 1, NULL},
        {65520, 1, "row 0: the value 65520 overflows fp16"},
        {60000, 100, "overflows fp16"}, /* some 60000 * sqrt(100 / 9) */
        {3000, 100, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        csr_matrix A = one_row(20, cases[i].value);
        for (int precision = 0; precision < NUM_PRECISIONS; precision++) {
            if (precision == PRECISION_FP16 && cases[i].refusal) {
                assert_problem_refused(&sddmm_operation, PRECISION_FP16, &A, cases[i].K,
                                       STATUS_SKIPPED, cases[i].refusal);
                continue;
            }
            problem p;
            create_in((enum precision)precision, &p, &A, cases[i].K, 1);
            p.operation->destroy(&p);
        }
        csr_free(&A);
    }
}

/* ---- contenders ------------------------------------------------------------------------------ */

static void rule(const row_stats *stats, int K, int *tuning)
{
    tuning[1] = stats->max > 5 ? 2 * K : 4;
}

/* Its own rule where it has one, the initial values for the rest. */
static void tunables_are_chosen(void **state)
{
    (void)state;
    sddmm_contender c = {.base.tunables = {{"U", "", {1, 2}, 2, .initial = 2},
                                           {"L", "", {4, 16}, 2, .initial = 16}}};
    problem p = {.operation = &sddmm_operation, .width = 8, .stats.max = 5};
    int tuning[MAX_TUNABLES];
    sddmm_operation.choose(&c.base, &p, tuning);
    assert_true(tuning[0] == 2 && tuning[1] == 16);
    c.choose = rule;
    sddmm_operation.choose(&c.base, &p, tuning);
    assert_true(tuning[0] == 2 && tuning[1] == 4);
    p.stats.max = 6;
    sddmm_operation.choose(&c.base, &p, tuning);
    assert_true(tuning[0] == 2 && tuning[1] == 16);
}

/* Arguments of a run of the recording contender. */
static struct {
    const sddmm_plan *plan;
    const void *X, *Y;
    void *D;
    int runs, runs16;
} seen;

static cudaError_t record(const sddmm_plan *plan, const float *X, const float *Y, float *D,
                          cudaStream_t stream)
{
    (void)stream;
    seen.plan = plan;
    seen.X = X;
    seen.Y = Y;
    seen.D = D;
    seen.runs++;
    return cudaSuccess;
}

static cudaError_t record16(const sddmm_plan *plan, const void *X, const void *Y, void *D,
                            cudaStream_t stream)
{
    seen.runs16++;
    return record(plan, X, Y, D, stream);
}

static sddmm_contender recorder = {
    .base = {.tunables = {{"U", "", {1, 2}, 2, .initial = 2}}}, .run = record, .run16 = record16};

static cudaError_t nest_recorder(sddmm_plan *plan)
{
    return sddmm_nest(plan, &recorder, NULL);
}

/* A contender that leaves all to the recorder: plan and operands arrive there, with and without
 * weights, in 32 and 16 bits, and again after other dense inputs were bound. */
static void nested_plans_run(void **state)
{
    (void)state;
    char device[8];
    for (int precision = 0; precision <= PRECISION_FP16; precision++)
        for (int with_values = 0; with_values < 2; with_values++) {
            const sddmm_contender outer = {.base = {.precision = (enum precision)precision},
                                           .prepare = nest_recorder,
                                           .run = sddmm_nested_run,
                                           .run16 = sddmm_nested_run16,
                                           .update_values = sddmm_nested_update_values,
                                           .release = sddmm_nested_release};
            csr_matrix A = SMALL;
            if (!with_values) A.values = NULL;
            problem p;
            void *inputs[5], *output[] = {device + 7}, *instance;
            for (int i = 0; i < 5; i++)
                inputs[i] = device + i;
            int tuning[MAX_TUNABLES] = {0};
            const int *inner_tuning;
            create_in((enum precision)precision, &p, &A, 2, 1);
            assert_int_equal(p.operation->prepare(&outer.base, &p, inputs, tuning, &instance),
                             cudaSuccess);
            assert_ptr_equal(p.operation->nested(instance, 0, &inner_tuning), &recorder.base);
            assert_int_equal(inner_tuning[0], 2);
            assert_null(p.operation->nested(instance, 1, &inner_tuning));

            memset(&seen, 0, sizeof seen);
            assert_int_equal(p.operation->run(instance, output, NULL), cudaSuccess);
            assert_int_equal(seen.runs, 1);
            assert_int_equal(seen.runs16, precision == PRECISION_FP16);
            assert_ptr_equal(seen.X, device + 2 + with_values);
            assert_ptr_equal(seen.Y, device + 3 + with_values);
            assert_ptr_equal(seen.D, device + 7);
            const device_csr *W = &seen.plan->W;
            assert_true(W->rows == 3 && W->cols == 5 && W->nnz == 4 && seen.plan->K == 2);
            assert_ptr_equal(W->d_row_ptr, device);
            assert_ptr_equal(W->d_col_idx, device + 1);
            const bool is_fp32 = precision == PRECISION_FP32;
            assert_ptr_equal(W->d_values, with_values && is_fp32 ? device + 2 : NULL);
            assert_ptr_equal(W->d_values16, with_values && !is_fp32 ? device + 2 : NULL);

            inputs[2 + with_values] = device + 5;
            inputs[3 + with_values] = device + 6;
            p.operation->rebind(instance, inputs);
            assert_int_equal(p.operation->run(instance, output, NULL), cudaSuccess);
            assert_ptr_equal(seen.X, device + 5);
            assert_ptr_equal(seen.Y, device + 6);
            p.operation->release(instance);
            p.operation->destroy(&p);
        }
}

/* One that needs a newer device than there is, is not nested. */
static void newer_devices_are_refused(void **state)
{
    (void)state;
    const sddmm_contender newer = {.base.min_compute_capability = 9999};
    sddmm_plan plan = {.contender = &recorder};
    assert_int_equal(sddmm_nest(&plan, &newer, NULL), cudaErrorNotSupported);
    assert_null(plan.nested);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(oracle_on_random_matrices),
        cmocka_unit_test(oracle_on_empty_matrices),
        cmocka_unit_test(duplicates_count_each),
        cmocka_unit_test(bound_separates_right_from_wrong),
        cmocka_unit_test(bound_covers_underflow),
        cmocka_unit_test(inputs_are_described),
        cmocka_unit_test(output_is_on_the_pattern),
        cmocka_unit_test(inputs_are_uniform),
        cmocka_unit_test(inputs_follow_the_seed),
        cmocka_unit_test(untouched_rows),
        cmocka_unit_test(narrow_inputs),
        cmocka_unit_test(cost_by_hand),
        cmocka_unit_test(least_by_hand),
        cmocka_unit_test(features_forgotten),
        cmocka_unit_test(weight_forgotten),
        cmocka_unit_test(other_nonzeros),
        cmocka_unit_test(stale_row_of_X),
        cmocka_unit_test(unexplained),
        cmocka_unit_test(values_must_be_finite),
        cmocka_unit_test(products_must_fit_fp32),
        cmocka_unit_test(offsets_must_fit_32_bits),
        cmocka_unit_test(inputs_must_fit_the_memory),
        cmocka_unit_test(results_must_fit_fp16),
        cmocka_unit_test(tunables_are_chosen),
        cmocka_unit_test(nested_plans_run),
        cmocka_unit_test(newer_devices_are_refused),
    };
    return cmocka_run_group_tests_name("sddmm", tests, NULL, NULL);
}
