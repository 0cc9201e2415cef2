/* The rule that chooses (models/choice.h), and plans of other contenders (spmm_nest): candidates by their
 * estimates, ties, refusals, and what a composed plan hands on. */
#include "fixture.h"

#include "models/choice.h"
#include "ops/sddmm.h"
#include "ops/spmm.h"

#include <math.h>
#include <string.h>

static double ten(const row_stats *stats, int N)
{
    (void)stats;
    return 10 * N;
}

static double twenty(const row_stats *stats, int N)
{
    (void)stats;
    return 20 * N;
}

static double nothing_known(const row_stats *stats, int N)
{
    (void)stats;
    (void)N;
    return INFINITY;
}

static double not_a_number(const row_stats *stats, int N)
{
    (void)stats;
    (void)N;
    return NAN;
}

static int released, updated;
static const int *order_seen;

static cudaError_t refuse(spmm_plan *plan)
{
    (void)plan;
    return cudaErrorNotSupported;
}

static cudaError_t take(spmm_plan *plan)
{
    order_seen = plan->d_row_order;
    plan->state = plan; /* something of its own */
    return cudaSuccess;
}

static cudaError_t update(spmm_plan *plan)
{
    (void)plan;
    updated++;
    return cudaSuccess;
}

static void release(spmm_plan *plan)
{
    (void)plan;
    released++;
}

/* Hands all on to "slow". */
static cudaError_t hand_on(spmm_plan *plan)
{
    return spmm_nest_named(plan, "slow", plan->d_row_order);
}

static spmm_contender fakes[] = {
    {.base = {.lab = 5, .name = "slow"},
     .estimate = twenty,
     .prepare = take,
     .update_values = update,
     .release = release},
    {.base = {.lab = 6, .name = "refuses"}, .estimate = ten, .prepare = refuse},
    {.base = {.lab = 7, .name = "hands_on"},
     .estimate = twenty,
     .prepare = hand_on,
     .update_values = spmm_nested_update_values,
     .release = spmm_nested_release},
    {.base = {.lab = 8, .name = "unknown"}, .estimate = nothing_known},
    {.base = {.lab = 9, .name = "broken"}, .estimate = not_a_number},
    {.base = {.lab = 10, .name = "no_model"}},
    {.base = {.lab = 8, .name = "mixed_fp16", .precision = PRECISION_FP16},
     .estimate = ten,
     .prepare = take,
     .release = release}};
static spmm_contender vendor = {.base = {.name = "vendor"}, .estimate = ten};

static int register_all(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof fakes / sizeof *fakes; i++)
        contender_register(&fakes[i].base, &spmm_operation);
    contender_register(&vendor.base, &spmm_operation);
    return 0;
}

static const row_stats STATS = {.rows = 4, .cols = 4, .nnz = 8, .max = 2, .mean = 2};

static void the_least_estimate_comes_first(void **state)
{
    (void)state;
    candidate list[MAX_CANDIDATES];
    assert_int_equal(choice_candidates(&spmm_operation, PRECISION_FP32, &STATS, 3, list), 3);
    assert_string_equal(list[0].contender->name, "refuses");
    assert_true(list[0].us == 30);
    assert_string_equal(list[1].contender->name, "hands_on"); /* the later lab of a tie */
    assert_string_equal(list[2].contender->name, "slow");
    assert_true(list[2].us == 60);
}

static void precisions_have_candidates_of_their_own(void **state)
{
    (void)state;
    candidate list[MAX_CANDIDATES];
    assert_int_equal(choice_candidates(&spmm_operation, PRECISION_FP16, &STATS, 3, list), 1);
    assert_string_equal(list[0].contender->name, "mixed_fp16");
    assert_int_equal(choice_candidates(&spmm_operation, PRECISION_BF16, &STATS, 3, list), 0);
}

static double five(const row_stats *stats, int K)
{
    (void)stats;
    (void)K;
    return 5;
}

static void operations_have_candidates_of_their_own(void **state)
{
    (void)state;
    static sddmm_contender other = {.base = {.lab = 30, .name = "other"}, .estimate = five};
    candidate list[MAX_CANDIDATES];
    assert_int_equal(choice_candidates(&sddmm_operation, PRECISION_FP32, &STATS, 3, list), 0);
    contender_register(&other.base, &sddmm_operation);
    assert_int_equal(choice_candidates(&sddmm_operation, PRECISION_FP32, &STATS, 3, list), 1);
    assert_ptr_equal(sddmm_of(list[0].contender), &other);
    assert_int_equal(choice_candidates(&spmm_operation, PRECISION_FP32, &STATS, 3, list), 3);
}

static void names_are_found_in_a_precision(void **state)
{
    (void)state;
    assert_ptr_equal(spmm_find("slow", PRECISION_FP32), &fakes[0]);
    assert_null(spmm_find("slow", PRECISION_FP16));
    assert_null(spmm_find("slo", PRECISION_FP32));
    assert_null(spmm_find("vendor", PRECISION_FP32));
    assert_ptr_equal(spmm_find("mixed", PRECISION_FP16), &fakes[6]);
    assert_ptr_equal(spmm_find("mixed_fp16", PRECISION_FP16), &fakes[6]);
    assert_null(spmm_find("mixed", PRECISION_FP32));
    assert_null(spmm_find("mixed_", PRECISION_FP16));
}

/* A plan of nobody in particular, in fp32. */
static spmm_plan outer_plan(void)
{
    return (spmm_plan){
        .A = {.rows = 4, .cols = 4, .nnz = 8, .stats = &STATS}, .N = 3, .contender = &fakes[5]};
}

static void a_nested_plan_gets_the_matrix_and_the_order(void **state)
{
    (void)state;
    const int order[4] = {3, 2, 1, 0};
    spmm_plan plan = outer_plan();
    released = updated = 0;
    assert_int_equal(spmm_nest_named(&plan, "slow", order), cudaSuccess);
    assert_ptr_equal(order_seen, order);
    assert_int_equal(plan.nested->N, 3);
    assert_int_equal(plan.nested->A.nnz, 8);
    assert_ptr_equal(plan.nested->contender, &fakes[0]);
    assert_int_equal(spmm_nested_update_values(&plan), cudaSuccess);
    assert_int_equal(updated, 1);
    spmm_nested_release(&plan);
    spmm_nested_release(&plan); /* nothing is left to release */
    assert_int_equal(released, 1);
    assert_null(plan.nested);
}

static void who_only_hands_on_is_left_out(void **state)
{
    (void)state;
    spmm_plan plan = outer_plan();
    released = 0;
    assert_int_equal(spmm_nest_named(&plan, "hands_on", NULL), cudaSuccess);
    assert_ptr_equal(plan.nested->contender, &fakes[0]);
    assert_null(plan.nested->nested);
    spmm_nested_release(&plan);
    assert_int_equal(released, 1);
}

static void a_refusal_leaves_no_plan(void **state)
{
    (void)state;
    spmm_plan plan = outer_plan();
    assert_int_equal(spmm_nest_named(&plan, "refuses", NULL), cudaErrorNotSupported);
    assert_null(plan.nested);
    assert_int_equal(spmm_nest_named(&plan, "nobody", NULL), cudaErrorNotSupported);
    assert_null(plan.nested);
}

static void the_value_names_what_runs(void **state)
{
    (void)state;
    static const char *const NAMES[] = {"rule", "refuses", "slow"};
    const tunable t = {.name = "KERNEL", .values = {0, 1, 2}, .num_values = 3, .names = NAMES};
    spmm_plan plan = outer_plan();
    assert_int_equal(spmm_nest_named(&plan, "hands_on", NULL), cudaSuccess);
    assert_int_equal(spmm_nested_value(&plan, &t), 2);
    spmm_nested_release(&plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_least_estimate_comes_first),
        cmocka_unit_test(precisions_have_candidates_of_their_own),
        cmocka_unit_test(operations_have_candidates_of_their_own),
        cmocka_unit_test(names_are_found_in_a_precision),
        cmocka_unit_test(a_nested_plan_gets_the_matrix_and_the_order),
        cmocka_unit_test(who_only_hands_on_is_left_out),
        cmocka_unit_test(a_refusal_leaves_no_plan),
        cmocka_unit_test(the_value_names_what_runs),
    };
    return cmocka_run_group_tests(tests, register_all, NULL);
}
