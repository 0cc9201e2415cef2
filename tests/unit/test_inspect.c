/*
 * test_inspect.c - contenders under the instruments: what is asked of these, and what becomes of the
 * outcome, the row, its CSV and JSON. The instruments are fakes, so it tests the harness alone.
 */
#include "fixture.h"

#include "fake_instruments.h"
#include "ops/spmm.h"
#include "random_matrix.h"
#include "results/results.h"

/* ---- a small problem, and a contender in plain C ---------------------------------------------- */

enum { N = 3 };

static device_info device;
static csr_matrix A;
static problem p;
static float *right;

static const options COUNT = {.check = true,
                              .bench = true,
                              .seed = 1,
                              .instruments = INSTRUMENT_COUNTERS,
                              .predict = true,
                              .model = "h200",
                              .sample = 1};
static const options CHECK = {.check = true,
                              .bench = true,
                              .seed = 1,
                              .instruments = INSTRUMENT_MEMCHECK | INSTRUMENT_RACECHECK,
                              .model = "h200",
                              .sample = 1};

static int make_problem(void **state)
{
    (void)state;
    error_text error;
    A = random_matrix(2, 10, 8, 40, true);
    p = (problem){.operation = &spmm_operation, .A = &A, .width = N, .seed = 1};
    if (device_open(0, &device, &error) != STATUS_OK ||
        row_stats_compute(&A, &p.stats, &error) != STATUS_OK ||
        p.operation->create(&p, &error) != STATUS_OK)
        return -1;
    double want[N], bound[N];
    right = malloc(A.rows * N * sizeof *right);
    for (int64_t i = 0; i < A.rows; i++) {
        p.operation->oracle(&p, 0, i, want, bound);
        for (int j = 0; j < N; j++)
            right[i * N + j] = (float)want[j];
    }
    instruments_install(&FAKE_INSTRUMENTS);
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

static enum { NONE, WRONG, FAILS } fault;

static cudaError_t run(const spmm_plan *plan, const float *B, float *C, cudaStream_t stream)
{
    (void)B;
    fake_note("run ");
    if (fault == FAILS) return cudaErrorIllegalAddress;
    cudaMemcpyAsync(C, right, plan->A.rows * N * sizeof *C, cudaMemcpyHostToDevice, stream);
    if (fault == WRONG) cudaMemsetAsync(C, 0, sizeof *C, stream);
    return cudaSuccess;
}

static spmm_contender subject = {
    .base = {.operation = &spmm_operation, .lab = 9, .name = "fake"},
    .run = run,
};

/* The outcome of the contender on a workbench of its own; the inspection in it is the caller's. */
static outcome inspect(const options *o, bool *usable)
{
    static const int no_tuning[MAX_TUNABLES];
    workbench w;
    outcome out;
    error_text error;
    if (workbench_create(&w, o, &device, &p, &error) != STATUS_OK) fail_msg("%s", error.text);
    *usable = workbench_inspect(&w, &subject.base, no_tuning, &out);
    if (*usable) { /* for the next one, too */
        uint64_t hash;
        for (int i = 0; i < p.num_inputs; i++) {
            assert_int_equal(
                cudaMemcpy(&hash, w.input[i].data, sizeof hash, cudaMemcpyDeviceToHost),
                cudaSuccess);
            assert_memory_equal(&hash, p.inputs[i].data, sizeof hash);
        }
    }
    workbench_destroy(&w);
    return out;
}

static row row_of(const outcome *out, const options *o)
{
    const dataset d = {.name = "toy", .origin = ORIGIN_GENERATED, .source = "toy", .matrix = A};
    return result_row(&d, &p, &subject.base, NULL, out, o, &device, NULL);
}

/* ---- what is asked of the instruments ---------------------------------------------------------- */

static void traces_one_run(void **state)
{
    (void)state;
    bool usable;
    fault = NONE;
    fake_set(3, 0);
    const outcome out = inspect(&COUNT, &usable);
    char expected[400];
    const long long rows = A.rows, cols = A.cols, nnz = A.nnz;
    snprintf(expected, sizeof expected,
             "reset forget A.row_ptr:%lldx4 A.col_idx:%lldx4 A.values:%lldx4 B:%lldx4 "
             "C:%lldx4(written) begin(prepare) end fresh:%lld begin(run) run end ",
             rows + 1, nnz, nnz, cols * N, rows * N, rows * N * 4);
    assert_string_equal(fake.log, expected);
    assert_true(usable);
    assert_int_equal(out.status, STATUS_OK);
    assert_int_equal(out.comparison.elements, A.rows * N);
    assert_true(isnan(out.prepare_ms) && isnan(out.timing.median_ms));
    inspection_free(out.inspection);
}

/* ---- what becomes of it ------------------------------------------------------------------------ */

static void sums_the_kernels_of_run(void **state)
{
    (void)state;
    bool usable;
    fault = NONE;
    fake_set(3, 0);
    const outcome out = inspect(&COUNT, &usable);
    const inspection *i = out.inspection;
    assert_true(i->counted && i->predicted);
    assert_int_equal(i->num_kernels, 3);
    assert_int_equal(i->run_kernels, 2);
    assert_int_equal(i->run.launches, 2);
    assert_int_equal(i->run.access[GLOBAL_LOAD].requests, 1000); /* not those of prepare */
    assert_int_equal(i->run.access[GLOBAL_STORE].cost, 4);
    assert_int_equal(i->run_sectors, 32404);
    assert_int_equal(i->run.longest_warp, 500); /* of either kernel */
    assert_int_equal(i->run.busiest_sm, 1213);  /* one after the other */
    assert_true(i->kernels[1].lines != fake_lines);
    assert_string_equal(i->kernels[1].lines[3].where, "common/device/fake.cuh:7");

    const row r = row_of(&out, &COUNT);
    assert_true(r.counted && r.predicted && !r.checked);
    assert_string_equal(r.status, "ok");
    assert_string_equal(r.model, "NVIDIA H200");
    assert_string_equal(r.l2, "cold"); /* every launch, in the model */
    assert_true(r.sampled == 1);
    assert_int_equal(r.num_kernels, 2);
    assert_int_equal(r.shared_st_conflicts, 1000);
    assert_int_equal(r.shared_ld_conflicts, 0);
    assert_float_equal(r.simt_efficiency, 16032.0 / 32032, 1e-9);
    assert_float_equal(r.memory_simt_efficiency, 3232.0 / (32 * 401), 1e-9);
    assert_float_equal(r.warp_imbalance, 500 * 801.0 / 80001, 1e-9);
    assert_float_equal(r.block_imbalance, 600 * 201.0 / 80001, 1e-9);
    assert_float_equal(r.sm_imbalance, 1213 * 132.0 / 80001, 1e-9);
    assert_float_equal(r.l1_hit_rate, 0.25, 1e-9);
    assert_true(r.predicted_ms == 0.25);
    assert_string_equal(r.predicted_limit, "L2");
    assert_true(isnan(r.median_ms)); /* an estimate is no time */
    inspection_free(out.inspection);
}

static void wrong_results_have_no_counters(void **state)
{
    (void)state;
    bool usable;
    fault = WRONG;
    fake_set(3, 0);
    const outcome out = inspect(&COUNT, &usable);
    const row r = row_of(&out, &COUNT);
    assert_true(usable);
    assert_string_equal(r.status, "wrong");
    assert_false(r.counted || r.predicted);
    assert_string_equal(r.model, "");
    inspection_free(out.inspection);
}

static void findings_make_it_wrong(void **state)
{
    (void)state;
    bool usable;
    fault = NONE;
    fake_set(3, 2);
    outcome out = inspect(&CHECK, &usable);
    assert_true(usable);
    assert_int_equal(out.status, STATUS_WRONG);
    assert_string_equal(out.message, "2 findings, the first: race at labs/09_fake/lab.cu:13");
    const row r = row_of(&out, &CHECK);
    assert_true(r.checked && !r.counted);
    assert_int_equal(r.num_findings, 2);
    inspection_free(out.inspection);

    fault = WRONG; /* both are told */
    fake_set(3, 1);
    out = inspect(&CHECK, &usable);
    assert_string_equal(out.message, "1 finding: race at labs/09_fake/lab.cu:13; "
                                     "all of them 0: only column 0");
    assert_int_equal(out.comparison.bad, 1);
    inspection_free(out.inspection);
}

static void nothing_found(void **state)
{
    (void)state;
    bool usable;
    fault = NONE;
    fake_set(3, 0);
    const outcome out = inspect(&CHECK, &usable);
    const row r = row_of(&out, &CHECK);
    assert_int_equal(out.status, STATUS_OK);
    assert_true(r.checked);
    assert_int_equal(r.num_findings, 0);
    inspection_free(out.inspection);
}

/* A launch that a finding ended is wrong, and told once; without one it is the device's failure. The
 * device is usable again either way. */
static void failed_launches(void **state)
{
    (void)state;
    bool usable;
    fault = FAILS;
    fake_set(0, 1);
    outcome out = inspect(&CHECK, &usable);
    assert_true(usable);
    assert_int_equal(out.status, STATUS_WRONG);
    assert_string_equal(out.message, "1 finding: race at labs/09_fake/lab.cu:13");
    inspection_free(out.inspection);
    fake_set(0, 0);
    out = inspect(&COUNT, &usable);
    assert_true(usable);
    assert_int_equal(out.status, STATUS_RUNTIME);
    assert_false(row_of(&out, &COUNT).counted);
    inspection_free(out.inspection);
}

static void samples_are_not_checked(void **state)
{
    (void)state;
    bool usable;
    options sampled = COUNT;
    sampled.sample = 0.25;
    fault = WRONG;
    fake_set(3, 0);
    const outcome out = inspect(&sampled, &usable);
    const row r = row_of(&out, &sampled);
    assert_int_equal(out.status, STATUS_OK);
    assert_int_equal(out.comparison.elements, 0);
    assert_string_equal(r.status, "sample");
    assert_true(r.counted && r.sampled == 0.25 && isnan(r.worst_error));
    inspection_free(out.inspection);
}

/* ---- as text ----------------------------------------------------------------------------------- */

static char *written(void (*write)(FILE *, const row *, size_t), const row *r)
{
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    write(out, r, 1);
    fclose(out);
    return text;
}

static void assert_has(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("no '%s' in ...%s", part, text + (strlen(text) > 900 ? strlen(text) - 900 : 0));
}

static void csv(void **state)
{
    (void)state;
    bool usable;
    fault = NONE;
    fake_set(3, 0);
    const outcome out = inspect(&COUNT, &usable);
    const row r = row_of(&out, &COUNT);
    char *text = written(rows_write_csv, &r);
    assert_has(text,
               ",ok,,NVIDIA H200,1,2,1000,32000,128000,1,4,128,100,400,800,500,1000,0,500,2000,"
               "1000,0,0,800,0,1234567,0,0,0,0,0.5005,0.25187,5.00619,1.50748,2.00142,0.25,"
               "9007199254740993,6400,512,0,0.25,L2,\n");
    free(text);
    inspection_free(out.inspection);
}

static void json(void **state)
{
    (void)state;
    bool usable;
    options both = COUNT;
    both.instruments |= INSTRUMENT_RACECHECK;
    fault = NONE;
    fake_set(3, 0);
    outcome out = inspect(&both, &usable);
    row r = row_of(&out, &both);
    char *text = written(rows_write_json, &r);
    assert_has(text, "\"num_findings\": 0,\n      \"kernels\": [\n"
                     "        {\"name\": \"count_kernel\", \"phase\": \"prepare\", "
                     "\"grid\": [2, 1, 1], \"block\": [64, 1, 1]");
    assert_has(text,
               "{\"name\": \"spmm_fake_kernel<4>\", \"phase\": \"run\", \"grid\": [100, 2, 1], "
               "\"block\": [32, 4, 1], \"dynamic_shared_bytes\": 2048, \"sampled\": 1,");
    assert_has(text, "\"global_load\": {\"requests\": 1000, \"lanes\": 32000, \"bytes\": 128000, "
                     "\"sectors\": 32000, \"ideal_sectors\": 4000}");
    assert_has(text, "\"shared_store\": {\"requests\": 500, \"lanes\": 16000, \"bytes\": 128000, "
                     "\"wavefronts\": 2000, \"ideal_wavefronts\": 1000}");
    assert_has(text, "\"l2_read_bytes\": 9007199254740993");
    assert_has(text, "{\"where\": \"common/device/fake.cuh:7\", \"kind\": \"global_atomic\", "
                     "\"size\": 4, \"requests\": 100, \"lanes\": 3200, \"bytes\": 12800, "
                     "\"sectors\": 400, \"ideal_sectors\": 400, \"turns\": 800}]}");
    assert_has(text, "\"prediction\": {\"is\": \"an estimate, not a measurement\", \"ms\": 0.25, "
                     "\"limit\": \"L2\", \"resource_ms\": {\"DRAM\": 0.01, \"L2\": 0.2, ");
    assert_has(text, "\"findings\": []");
    free(text);
    inspection_free(out.inspection);

    fake_set(3, 1); /* a finding: no counters, but what was found */
    out = inspect(&both, &usable);
    r = row_of(&out, &both);
    text = written(rows_write_json, &r);
    assert_null(strstr(text, "\"kernels\""));
    assert_null(strstr(text, "\"prediction\""));
    assert_has(text, "\"findings\": [\n        {\"kind\": \"race\", \"text\": \"thread 3 of ");
    assert_has(text,
               "\"where\": \"labs/09_fake/lab.cu:13\", \"other\": \"labs/09_fake/lab.cu:12\", "
               "\"kernel\": \"spmm_fake_kernel<4>\", \"block\": [5, 0, 0], "
               "\"thread\": [3, 1, 0], \"advice\": \"__syncthreads() between the two\", "
               "\"count\": 96}]");
    free(text);
    inspection_free(out.inspection);
}

/* ---- figures ----------------------------------------------------------------------------------- */

static void figures(void **state)
{
    (void)state;
    const access_counters none = {0}, some = {.requests = 4, .bytes = 256, .cost = 16};
    assert_true(isnan(coalescing(&none)) && isnan(per_request(3, &none)));
    assert_true(isnan(imbalance(0, 0, 5)) && isnan(simt_efficiency(0, 0)));
    assert_true(coalescing(&some) == 0.5);
    assert_true(per_request(16, &some) == 4);
    assert_true(simt_efficiency(48, 3) == 0.5);
    assert_true(imbalance(30, 100, 10) == 3);
    assert_string_equal(checks_text(INSTRUMENT_COUNTERS), "");
    assert_string_equal(checks_text(INSTRUMENT_COUNTERS | INSTRUMENT_RACECHECK), "racecheck");
    assert_string_equal(checks_text(CHECK.instruments), "memcheck, racecheck");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(traces_one_run),
        cmocka_unit_test(sums_the_kernels_of_run),
        cmocka_unit_test(wrong_results_have_no_counters),
        cmocka_unit_test(findings_make_it_wrong),
        cmocka_unit_test(nothing_found),
        cmocka_unit_test(failed_launches),
        cmocka_unit_test(samples_are_not_checked),
        cmocka_unit_test(csv),
        cmocka_unit_test(json),
        cmocka_unit_test(figures),
    };
    return cmocka_run_group_tests_name("inspect", tests, make_problem, free_problem);
}
