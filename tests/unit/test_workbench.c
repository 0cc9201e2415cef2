/*
 * test_workbench.c - contenders judged on a workbench. Those here are written in plain C on the
 * runtime API: each run copies the right result from the host, and then does what a fault would.
 */
#include "fixture.h"

#include "device/cuda_try.h"
#include "harness/workbench.h"
#include "ops/spmm.h"
#include "random_matrix.h"

/* ---- a small problem ------------------------------------------------------------------------- */

enum { N = 12 };

static device_info device;
static csr_matrix A;
static problem p;
static float *right; /* A * B, rounded once */

static const options CHECK = {.check = true, .bench = false, .seed = 1};
static const options BENCH = {.check = false, .bench = true, .seed = 1};

static int make_problem(void **state)
{
    (void)state;
    error_text error;
    A = random_matrix(2, 60, 40, 500, true);
    p = (problem){.operation = &spmm_operation, .A = &A, .width = N, .seed = 1};
    if (device_open(0, &device, &error) != STATUS_OK ||
        row_stats_compute(&A, &p.stats, &error) != STATUS_OK ||
        p.operation->create(&p, &error) != STATUS_OK) {
        print_error("%s\n", error.text);
        return -1;
    }
    right = malloc(A.rows * N * sizeof *right);
    return 0;
}

static int free_problem(void **state)
{
    (void)state;
    p.operation->destroy(&p);
    csr_free(&A);
    free(right);
    return 0;
}

/* ---- contenders ------------------------------------------------------------------------------ */

/* Faults, beside the right result. */
enum fault {
    NONE,
    WRITES_NOTHING,
    WRITES_ONCE,
    WRONG_ONCE,
    WRONG_LATER,
    WRITES_PAST_THE_END,
    WRITES_FAR_PAST_THE_END,
    WRITES_BEFORE_THE_START,
    WRITES_BEFORE_AN_INPUT,
    MODIFIES_B,
    MODIFIES_COLUMNS,
    KEEPS_LAST_ROW,
    ADDS,
    VARIES,
    VARIES_IN_ROUNDING,
    ROUNDS,
    WRONG_EVERY_OTHER_TIME,
    FAILS_TO_RUN,
    FAILS_INSIDE,
    FAILS_TO_PREPARE,
    NO_ROOM_TO_PREPARE,
    CANNOT_PREPARE,
    MODIFIES_B_AND_FAILS,
    LEAVES_AN_ERROR,
    RELEASES_WRONGLY,
};

static enum fault fault;
static int calls, prepared, released, updated;
static int seen_tuning[MAX_TUNABLES], narrowed_to;

/* Who does the work of a subject that leaves it to others: what it rounds is its first setting, and whether it flushes its
 * second. */
static double by_first_setting(const int *tuning)
{
    return tuning[0];
}
static bool by_second_setting(const int *tuning)
{
    return tuning[1];
}
static spmm_contender helper = {.base = {.operation = &spmm_operation, .lab = 2, .name = "helper"}};
static spmm_plan helpers_plan = {.contender = &helper};
static bool leaves_its_work;

static cudaError_t prepare(spmm_plan *plan)
{
    prepared++;
    plan->state = plan;
    plan->nested = leaves_its_work ? &helpers_plan : NULL;
    memcpy(seen_tuning, plan->tuning, sizeof seen_tuning);
    if (narrowed_to) plan->tuning[1] = narrowed_to;
    if (fault == FAILS_TO_PREPARE) return cudaErrorInvalidValue;
    if (fault == NO_ROOM_TO_PREPARE) return cudaErrorMemoryAllocation;
    if (fault == CANNOT_PREPARE) return cudaErrorNotSupported;
    if (fault == LEAVES_AN_ERROR) return cudaMalloc(&plan->state, (size_t)1 << 60);
    calls = 0;
    return cudaSuccess;
}

static int failing_line;

static cudaError_t fail_inside(void)
{
    failing_line = __LINE__ + 1;
    CUDA_TRY(cudaErrorInvalidConfiguration);
    return cudaSuccess;
}

/* C += A * B */
static void add(float *C, size_t bytes, cudaStream_t stream)
{
    float *sum = malloc(bytes);
    cudaMemcpyAsync(sum, C, bytes, cudaMemcpyDeviceToHost, stream);
    cudaStreamSynchronize(stream);
    for (size_t k = 0; k < bytes / sizeof *sum; k++)
        sum[k] += right[k];
    cudaMemcpyAsync(C, sum, bytes, cudaMemcpyHostToDevice, stream);
    cudaStreamSynchronize(stream);
    free(sum);
}

/* Leaves in right[] the product of the inputs that are there now: those of the problem, or of the probe. */
static void multiply(const spmm_plan *plan, const float *B)
{
    float *values = malloc((A.nnz + 1) * sizeof *values), *b = malloc(A.cols * N * sizeof *b);
    cudaMemcpy(values, plan->A.d_values, A.nnz * sizeof *values, cudaMemcpyDeviceToHost);
    cudaMemcpy(b, B, A.cols * N * sizeof *b, cudaMemcpyDeviceToHost);
    for (int64_t i = 0; i < A.rows; i++)
        for (int j = 0; j < N; j++) {
            double sum = 0;
            for (int64_t k = A.row_ptr[i]; k < A.row_ptr[i + 1]; k++)
                sum += (double)values[k] * b[A.col_idx[k] * N + j];
            right[i * N + j] = fault == ROUNDS ? nextafterf((float)sum, 0) : (float)sum;
        }
    free(values);
    free(b);
}

static cudaError_t run(const spmm_plan *plan, const float *B, float *C, cudaStream_t stream)
{
    const size_t bytes = (size_t)plan->A.rows * N * sizeof *C;
    char *const c = (char *)C;
    calls++;
    multiply(plan, B);
    if (fault == WRITES_NOTHING || (fault == WRITES_ONCE && calls > 1)) return cudaSuccess;
    if (fault == FAILS_TO_RUN && calls == 2) return cudaErrorLaunchFailure;
    if (fault == FAILS_INSIDE) CUDA_TRY(fail_inside());
    if (fault == ADDS) {
        add(C, bytes, stream);
        return cudaSuccess;
    }
    cudaMemcpyAsync(C, right, bytes - (fault == KEEPS_LAST_ROW ? N * sizeof *C : 0),
                    cudaMemcpyHostToDevice, stream);
    if ((fault == WRONG_ONCE && calls == 1) || (fault == WRONG_LATER && calls == 2))
        cudaMemsetAsync(c + 4, 0x33, 4, stream);
    if (fault == VARIES || (fault == WRONG_EVERY_OTHER_TIME && calls % 2))
        cudaMemsetAsync(c + 4, 0x40 + calls, 4, stream); /* 12, 48.5, 195, ... */
    if (fault == VARIES_IN_ROUNDING) {
        cudaMemsetAsync(c + 4, 0x41, 4, stream);
        cudaMemsetAsync(c + 4, calls, 1, stream); /* the lowest bits */
    }
    if (fault == WRITES_PAST_THE_END) cudaMemsetAsync(c + bytes + 4, 0, 4, stream);
    if (fault == WRITES_FAR_PAST_THE_END) cudaMemsetAsync(c + bytes + 65532, 0, 4, stream);
    if (fault == WRITES_BEFORE_THE_START) cudaMemsetAsync(c - 8, 0, 4, stream);
    if (fault == WRITES_BEFORE_AN_INPUT) cudaMemsetAsync((char *)B - 65536, 0, 4, stream);
    if (fault == MODIFIES_B || fault == MODIFIES_B_AND_FAILS)
        cudaMemsetAsync((char *)B, 0, 4, stream);
    if (fault == MODIFIES_B_AND_FAILS) return cudaErrorNotSupported;
    if (fault == MODIFIES_COLUMNS)
        cudaMemsetAsync((char *)plan->A.d_col_idx + 4 * plan->A.nnz - 4, 0x11, 4, stream);
    return cudaSuccess;
}

static cudaError_t update_values(spmm_plan *plan)
{
    updated++;
    return plan ? cudaSuccess : cudaErrorInvalidValue;
}

static void release(spmm_plan *plan)
{
    assert_ptr_equal(plan->state, plan);
    if (fault == RELEASES_WRONGLY) cudaFree((char *)plan->A.d_values + 1);
    released++;
}

static spmm_contender subject = {
    .base = {.operation = &spmm_operation, .lab = 1, .name = "subject"},
    .prepare = prepare,
    .run = run,
    .update_values = update_values,
    .release = release,
};

static void create_bench(workbench *w, const options *o)
{
    error_text error;
    if (workbench_create(w, o, &device, &p, &error) != STATUS_OK) fail_msg("%s", error.text);
}

static outcome evaluate_tuned(workbench *w, enum fault f, const int *tuning)
{
    outcome out;
    fault = f;
    calls = prepared = released = updated = 0;
    workbench_evaluate(w, &subject.base, tuning, &out);
    return out;
}

static outcome evaluate_on(workbench *w, enum fault f)
{
    static const int no_tuning[MAX_TUNABLES];
    return evaluate_tuned(w, f, no_tuning);
}

static outcome evaluate(enum fault f, const options *o)
{
    workbench w;
    create_bench(&w, o);
    const outcome out = evaluate_on(&w, f);
    workbench_destroy(&w);
    return out;
}

static void assert_outcome(const outcome *out, enum status status, const char *message)
{
    if (out->status != status || strcmp(out->message, message) != 0)
        fail_msg("status %d, '%s', not '%s'", out->status, out->message, message);
    if (status == STATUS_OK) return;
    assert_true(isnan(out->prepare_ms) && isnan(out->timing.median_ms)); /* no time if wrong */
    assert_true(isnan(out->timing.iqr_ms) && isnan(out->timing.batch_ms));
    assert_int_equal(out->timing.runs, 0);
}

static void assert_fails(enum fault f, const options *o, const char *message)
{
    const outcome out = evaluate(f, o);
    assert_outcome(&out, STATUS_WRONG, message);
}

/* ---- right ----------------------------------------------------------------------------------- */

static void right_result(void **state)
{
    (void)state;
    const outcome out = evaluate(NONE, &CHECK);
    assert_outcome(&out, STATUS_OK, "");
    assert_int_equal(out.comparison.elements, A.rows * N);
    assert_int_equal(out.comparison.bad, 0);
    assert_true(out.comparison.worst > 0 && out.comparison.worst <= 1);
    assert_int_equal(prepared, 1);
    assert_int_equal(released, 1);
    assert_int_equal(calls, 3); /* the last one is the probe's */
    assert_int_equal(updated, 1);
}

static const int TUNING[MAX_TUNABLES] = {4, 7};

static void give_tunables(void)
{
    subject.base.tunables[0] = (tunable){.name = "D", .values = {4}, .num_values = 1};
    subject.base.tunables[1] = (tunable){.name = "C", .values = {7}, .num_values = 1};
}

static void take_tunables(void)
{
    memset(subject.base.tunables, 0, sizeof subject.base.tunables);
}

/* A contender that cannot update values is prepared with the new ones. */
static void without_update_values_it_is_prepared_anew(void **state)
{
    (void)state;
    workbench w;
    create_bench(&w, &CHECK);
    subject.update_values = NULL;
    const outcome out = evaluate_on(&w, NONE);
    subject.update_values = update_values;
    workbench_destroy(&w);
    assert_outcome(&out, STATUS_OK, "");
    assert_int_equal(prepared, 2);
    assert_int_equal(released, 2);
}

static void tuning_reaches_the_contender(void **state)
{
    (void)state;
    workbench w;
    give_tunables();
    create_bench(&w, &CHECK);
    outcome out = evaluate_tuned(&w, NONE, TUNING);
    assert_outcome(&out, STATUS_OK, "");
    assert_memory_equal(seen_tuning, TUNING, sizeof TUNING);
    assert_memory_equal(out.tuning, TUNING, sizeof TUNING);
    narrowed_to = 3; /* what does not fit the problem is replaced, and the outcome says by what */
    out = evaluate_tuned(&w, NONE, TUNING);
    assert_int_equal(out.tuning[0], 4);
    assert_int_equal(out.tuning[1], 3);
    narrowed_to = 0;
    workbench_destroy(&w);
    take_tunables();
}

/* Preparing is timed as a user has it, who does not know what an earlier one chose. Under simt it runs once. */
static void every_prepare_has_the_settings_asked_for(void **state)
{
    (void)state;
    workbench w;
    give_tunables();
    create_bench(&w, &BENCH);
    narrowed_to = 3;
    const outcome out = evaluate_tuned(&w, NONE, TUNING);
    narrowed_to = 0;
    assert_outcome(&out, STATUS_OK, "");
    assert_int_equal(prepared, device_keeps_time() ? 6 : 1);
    assert_int_equal(released, prepared);
    assert_memory_equal(seen_tuning, TUNING, sizeof TUNING);
    assert_int_equal(out.tuning[1], 3);
    workbench_destroy(&w);
    take_tunables();
}

/* Under simt no time is kept, with --bench-only as with none. */
static void no_time_without_a_gpu(void **state)
{
    (void)state;
    if (device_keeps_time()) skip();
    const outcome out = evaluate(NONE, &BENCH);
    assert_outcome(&out, STATUS_OK, "");
    assert_true(isnan(out.prepare_ms) && isnan(out.timing.median_ms));
    assert_int_equal(calls, 1);
}

/* ---- wrong ----------------------------------------------------------------------------------- */

static void wrong_results(void **state)
{
    (void)state;
    assert_fails(WRITES_NOTHING, &CHECK, "nothing was written");
    assert_fails(WRITES_NOTHING, &BENCH, "nothing was written");
    char message[80];
    snprintf(message, sizeof message, "never written: only the last row, %d", (int)A.rows - 1);
    assert_true(A.row_ptr[A.rows] > A.row_ptr[A.rows - 1]);
    assert_fails(KEEPS_LAST_ROW, &CHECK, message);
}

static void wrong_only_later(void **state)
{
    (void)state;
    assert_fails(WRITES_ONCE, &CHECK, "later runs wrote nothing: the first result was kept");
    assert_fails(WRONG_LATER, &CHECK,
                 "wrong values: only column 1, in later runs only; results differ from run to run: "
                 "a race?");
}

/* Further runs tell garbage added to, and results that vary, from those that are wrong alike. */
static void wrong_in_other_ways_each_time(void **state)
{
    (void)state;
    assert_fails(WRONG_ONCE, &CHECK,
                 "wrong values: only column 1; results differ from run to run: a race?");
    assert_fails(ADDS, &CHECK, "does not zero the output: adds to what it held before");
    assert_fails(ADDS, &BENCH, "does not zero the output: adds to what it held before");
    assert_fails(VARIES, &CHECK,
                 "wrong values: only column 1; results differ from run to run: a race?");
    assert_fails(VARIES_IN_ROUNDING, &CHECK, "wrong values: only column 1");
    assert_fails(WRONG_EVERY_OTHER_TIME, &CHECK, /* and right, by luck, on zeros */
                 "wrong values: only column 1; results differ from run to run: a race?");
}

static void writes_outside(void **state)
{
    (void)state;
    assert_fails(WRITES_PAST_THE_END, &CHECK, "wrote outside the output, 4 bytes past its end");
    assert_fails(WRITES_PAST_THE_END, &BENCH, "wrote outside the output, 4 bytes past its end");
    assert_fails(WRITES_FAR_PAST_THE_END, &CHECK,
                 "wrote outside the output, 65532 bytes past its end");
    assert_fails(WRITES_BEFORE_THE_START, &CHECK, "wrote 8 bytes before the start of the output");
    assert_fails(WRITES_BEFORE_AN_INPUT, &CHECK, "wrote 65536 bytes before the start of B");
}

static void modifies_inputs(void **state)
{
    (void)state;
    assert_fails(MODIFIES_B, &CHECK, "modified its input B");
    assert_fails(MODIFIES_B, &BENCH, "modified its input B");
    assert_fails(MODIFIES_COLUMNS, &CHECK, "modified its input A.col_idx");
}

/* Damage of one contender is mended before the next: nobody is blamed for another's fault. */
static void next_contender_is_not_blamed(void **state)
{
    (void)state;
    static const struct {
        enum fault fault;
        enum status status;
    } cases[] = {
        {WRITES_PAST_THE_END, STATUS_WRONG},    {WRITES_BEFORE_THE_START, STATUS_WRONG},
        {WRITES_BEFORE_AN_INPUT, STATUS_WRONG}, {MODIFIES_B, STATUS_WRONG},
        {MODIFIES_COLUMNS, STATUS_WRONG},       {WRITES_NOTHING, STATUS_WRONG},
        {MODIFIES_B_AND_FAILS, STATUS_SKIPPED}, {LEAVES_AN_ERROR, STATUS_MEMORY},
        {RELEASES_WRONGLY, STATUS_RUNTIME},
    };
    workbench w;
    create_bench(&w, &CHECK);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(evaluate_on(&w, cases[i].fault).status, cases[i].status);
        const outcome out = evaluate_on(&w, NONE);
        assert_outcome(&out, STATUS_OK, "");
    }
    workbench_destroy(&w);
}

/* ---- not run --------------------------------------------------------------------------------- */

static void errors(void **state)
{
    (void)state;
    static const struct {
        enum fault fault;
        enum status status;
        const char *beginning;
    } cases[] = {
        {FAILS_TO_RUN, STATUS_RUNTIME, "run: "},
        {FAILS_TO_PREPARE, STATUS_RUNTIME, "prepare: "},
        {NO_ROOM_TO_PREPARE, STATUS_MEMORY, "prepare: "},
        {CANNOT_PREPARE, STATUS_SKIPPED, "prepare: "},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const outcome out = evaluate(cases[i].fault, &CHECK);
        assert_outcome(&out, cases[i].status, out.message);
        const size_t length = strlen(cases[i].beginning);
        assert_int_equal(strncmp(out.message, cases[i].beginning, length), 0);
        assert_true(strlen(out.message) > length + 5);
        assert_int_equal(released, cases[i].fault == FAILS_TO_RUN);
    }
}

/* The message names the innermost place that CUDA_TRY saw, not those that passed the error on; and
 * where it saw none, none. */
static void errors_name_their_place(void **state)
{
    (void)state;
    char expected[200];
    for (int i = 0; i < 2; i++) {
        const outcome inside = evaluate(FAILS_INSIDE, &CHECK);
        snprintf(expected, sizeof expected, "run: cudaErrorInvalidConfiguration at %s:%d: %s",
                 __FILE__, failing_line, cudaGetErrorString(cudaErrorInvalidConfiguration));
        assert_outcome(&inside, STATUS_RUNTIME, expected);
        const outcome plain = evaluate(FAILS_TO_RUN, &CHECK);
        snprintf(expected, sizeof expected, "run: %s", cudaGetErrorString(cudaErrorLaunchFailure));
        assert_outcome(&plain, STATUS_RUNTIME, expected);
    }
}

static void newer_device_needed(void **state)
{
    (void)state;
    subject.base.min_compute_capability = 999;
    const outcome out = evaluate(NONE, &CHECK);
    assert_outcome(&out, STATUS_SKIPPED, "needs a GPU of compute capability 99.9 or newer");
    assert_int_equal(prepared, 0);
    subject.base.min_compute_capability = 0;
}

/* The bound is the contender's: the next one on the same bench has its own. */
static void rounding_contender_has_a_wider_bound(void **state)
{
    (void)state;
    workbench w;
    create_bench(&w, &CHECK);
    outcome exact = evaluate_on(&w, NONE);
    subject.base.bound_factor = 8;
    const outcome wide = evaluate_on(&w, NONE);
    subject.base.bound_factor = 0;
    assert_outcome(&wide, STATUS_OK, "");
    assert_float_equal(wide.comparison.worst, exact.comparison.worst / 8, 1e-9);
    exact = evaluate_on(&w, NONE);
    assert_float_equal(wide.comparison.worst, exact.comparison.worst / 8, 1e-9);
    workbench_destroy(&w);
}

/* Evaluates the subject, and holds what it may be off against the numbers given; returns its error's share of the bound. */
static double worst_with(workbench *w, const int *tuning, double rounding, bool flushes)
{
    const outcome out = evaluate_tuned(w, NONE, tuning);
    assert_outcome(&out, STATUS_OK, "");
    assert_true(w->reference.product_rounding == rounding);
    assert_int_equal(w->reference.flushes_subnormals, flushes);
    return out.comparison.worst;
}

/* Who leaves its work to another has that one's bound, and no wider one if that one is exact. */
static void work_left_to_others_has_their_bound(void **state)
{
    (void)state;
    workbench w;
    create_bench(&w, &CHECK);
    give_tunables();
    const double exact = worst_with(&w, TUNING, 0, false);
    leaves_its_work = true;
    assert_true(worst_with(&w, TUNING, 0, false) == exact);
    helper.base.product_rounding = by_first_setting;
    helper.base.flushes_subnormals = by_second_setting;
    helpers_plan.tuning[0] = 32;
    assert_true(worst_with(&w, TUNING, 32, false) < exact / 2);
    helpers_plan.tuning[1] = 1;
    worst_with(&w, TUNING, 32, true);
    subject.base.product_rounding = by_first_setting; /* what it rounds itself comes on top */
    worst_with(&w, TUNING, 32 + 4, true);
    leaves_its_work = false;
    worst_with(&w, TUNING, 4, false);
    subject.base.product_rounding = NULL;
    subject.base.flushes_subnormals = by_second_setting; /* of the settings that prepare chose */
    worst_with(&w, (int[MAX_TUNABLES]){4, 0}, 0, false);
    narrowed_to = 1;
    worst_with(&w, (int[MAX_TUNABLES]){4, 0}, 0, true);
    narrowed_to = 0;
    subject.base.flushes_subnormals = NULL;
    assert_true(worst_with(&w, TUNING, 0, false) == exact);
    take_tunables();
    workbench_destroy(&w);
}

/* Sums that are rounded on the way are no longer exact, and need not be. */
static void rounding_contender_need_not_be_exact(void **state)
{
    (void)state;
    workbench w;
    create_bench(&w, &CHECK);
    const outcome held = evaluate_on(&w, ROUNDS);
    assert_true(held.status == STATUS_WRONG && strstr(held.message, "whole numbers"));
    subject.base.bound_factor = 8;
    const outcome allowed = evaluate_on(&w, ROUNDS);
    subject.base.bound_factor = 0;
    assert_outcome(&allowed, STATUS_OK, "");
    workbench_destroy(&w);
}

static const char *too_wide(const problem *on)
{
    return on->width == N ? "too wide for it" : NULL;
}

static const char *not_too_wide(const problem *on)
{
    return on->width == N + 1 ? "too wide for it" : NULL;
}

static void unsuited_problem_is_skipped(void **state)
{
    (void)state;
    subject.base.unsuited = too_wide;
    outcome out = evaluate(NONE, &CHECK);
    assert_outcome(&out, STATUS_SKIPPED, "too wide for it");
    assert_int_equal(prepared, 0);
    subject.base.unsuited = not_too_wide;
    out = evaluate(NONE, &CHECK);
    assert_outcome(&out, STATUS_OK, "");
    subject.base.unsuited = NULL;
}

/* ---- creating a workbench -------------------------------------------------------------------- */

static void too_little_device_memory(void **state)
{
    (void)state;
    workbench w;
    error_text error = {""};
    problem huge = p;
    huge.inputs[3].bytes = (size_t)1 << 50;
    assert_int_equal(workbench_create(&w, &CHECK, &device, &huge, &error), STATUS_MEMORY);
    assert_non_null(strstr(error.text, "the operands take 1125899.9"));
    assert_non_null(strstr(error.text, " GB are free; "));
    assert_non_null(strstr(error.text, " such devices would hold them, or try a smaller N"));
}

static void empty_problem(void **state)
{
    (void)state;
    workbench w;
    outcome out;
    error_text error;
    csr_matrix none;
    assert_int_equal(csr_alloc(&none, 0, 5, 0, true, &error), STATUS_OK);
    problem empty = {.operation = &spmm_operation, .A = &none, .width = N, .seed = 1};
    assert_int_equal(empty.operation->create(&empty, &error), STATUS_OK);
    assert_int_equal(workbench_create(&w, &CHECK, &device, &empty, &error), STATUS_OK);
    fault = NONE;
    workbench_evaluate(&w, &subject.base, (const int[MAX_TUNABLES]){0}, &out);
    assert_outcome(&out, STATUS_OK, "");
    assert_int_equal(out.comparison.elements, 0);
    fault = WRITES_PAST_THE_END; /* there are guards even around nothing */
    workbench_evaluate(&w, &subject.base, (const int[MAX_TUNABLES]){0}, &out);
    assert_int_equal(out.status, STATUS_WRONG);
    workbench_destroy(&w);
    empty.operation->destroy(&empty);
    csr_free(&none);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(right_result),
        cmocka_unit_test(without_update_values_it_is_prepared_anew),
        cmocka_unit_test(tuning_reaches_the_contender),
        cmocka_unit_test(every_prepare_has_the_settings_asked_for),
        cmocka_unit_test(no_time_without_a_gpu),
        cmocka_unit_test(wrong_results),
        cmocka_unit_test(wrong_only_later),
        cmocka_unit_test(wrong_in_other_ways_each_time),
        cmocka_unit_test(writes_outside),
        cmocka_unit_test(modifies_inputs),
        cmocka_unit_test(next_contender_is_not_blamed),
        cmocka_unit_test(errors),
        cmocka_unit_test(errors_name_their_place),
        cmocka_unit_test(newer_device_needed),
        cmocka_unit_test(rounding_contender_has_a_wider_bound),
        cmocka_unit_test(work_left_to_others_has_their_bound),
        cmocka_unit_test(rounding_contender_need_not_be_exact),
        cmocka_unit_test(unsuited_problem_is_skipped),
        cmocka_unit_test(too_little_device_memory),
        cmocka_unit_test(empty_problem),
    };
    return cmocka_run_group_tests_name("workbench", tests, make_problem, free_problem);
}
