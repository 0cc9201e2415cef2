/*
 * test_storage.c - the calculators of formats against figures worked out elsewhere. The published ones,
 * for 28672 x 8192, were recomputed twice. The padding of the lane-major format is as simulated. (Its own
 * test holds it against what the encoder makes.)
 */
#include "ops/storage.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

enum { M = 28672, K = 8192, N = 16 };

static void assert_near(double got, double want, double within)
{
    if (!(fabs(got - want) <= within)) fail_msg("got %.6f, want %.6f", got, want);
}

static void ratios_are_the_published_ones(void **state)
{
    (void)state;
    static const struct {
        double sparsity, csr, tiled_csl, sparta, tca_bme, optimum;
    } WANT[] = {
        {.3, .476, .714, .812, 1.311, 1.43},    {.4, .555, .833, .984, 1.508, 1.67},
        {.5, .667, 1.000, 1.185, 1.776, 2.00},  {.6, .833, 1.249, 1.396, 2.160, 2.50},
        {.7, 1.111, 1.665, 1.583, 2.755, 3.33},
    };
    for (size_t i = 0; i < sizeof WANT / sizeof WANT[0]; i++) {
        const double s = WANT[i].sparsity;
        assert_near(compression_ratio(STORAGE_CSR, M, K, s), WANT[i].csr, .001);
        assert_near(compression_ratio(STORAGE_TILED_CSL, M, K, s), WANT[i].tiled_csl, .001);
        assert_near(compression_ratio(STORAGE_SPARTA, M, K, s), WANT[i].sparta, .001);
        assert_near(compression_ratio(STORAGE_TCA_BME, M, K, s), WANT[i].tca_bme, .001);
        assert_near(compression_ratio(STORAGE_OPTIMUM, M, K, s), WANT[i].optimum, .005);
    }
}

static double intensity(enum storage format, double sparsity)
{
    return compute_intensity(compression_ratio(format, M, K, sparsity), M, N);
}

static void intensities_are_the_published_ones(void **state)
{
    (void)state;
    assert_near(compute_intensity(1, M, N), 15.99, .005);
    assert_near(intensity(STORAGE_CSR, .5), 10.66, .005);
    assert_near(intensity(STORAGE_TILED_CSL, .5), 15.98, .005);
    assert_near(intensity(STORAGE_SPARTA, .5), 18.94, .005);
    assert_near(intensity(STORAGE_TCA_BME, .5), 28.39, .005);
    assert_near(intensity(STORAGE_OPTIMUM, .5), 31.96, .005);
    assert_near(intensity(STORAGE_TCA_BME, .6), 34.52, .005);
    assert_near(intensity(STORAGE_TCA_BME, .7), 44.01, .005);
    assert_near(intensity(STORAGE_SPARTA, .7), 25.31, .005);
}

static void break_even_points(void **state)
{
    (void)state;
    assert_near(break_even_sparsity(STORAGE_CSR, M, K), .667, .0005);
    assert_near(break_even_sparsity(STORAGE_TILED_CSL, M, K), .500, .0005);
    assert_near(break_even_sparsity(STORAGE_SPARTA, M, K), .4085, .0005);
    assert_near(break_even_sparsity(STORAGE_TCA_BME, M, K), .063, .0005);
    assert_near(break_even_sparsity(STORAGE_OPTIMUM, M, K), 0, .0005);
    /* Above these a bitmap is the wrong format. */
    assert_true(storage_bytes(STORAGE_TCA_BME, M, K, .93) <
                storage_bytes(STORAGE_TILED_CSL, M, K, .93));
    assert_true(storage_bytes(STORAGE_TCA_BME, M, K, .94) >
                storage_bytes(STORAGE_TILED_CSL, M, K, .94));
    assert_true(storage_bytes(STORAGE_TCA_BME, M, K, .968) <
                storage_bytes(STORAGE_CSR, M, K, .968));
    assert_true(storage_bytes(STORAGE_TCA_BME, M, K, .970) >
                storage_bytes(STORAGE_CSR, M, K, .970));
}

/* Bytes over those of the dense matrix, of independent elements: a simulation's. */
static void lane_major_is_padded_by_its_fullest_banks(void **state)
{
    (void)state;
    static const double WANT[][2] = {{.4, .6828}, {.5, .5824}, {.6, .4818},
                                     {.7, .3830}, {.9, .1821}, {.99, .0897}};
    for (size_t i = 0; i < sizeof WANT / sizeof WANT[0]; i++)
        assert_near(1 / compression_ratio(STORAGE_LANE_MAJOR, M, K, WANT[i][0]), WANT[i][1], .002);
    const double notes = (8 * 128 + 4) / 65536.;
    assert_near(1 / compression_ratio(STORAGE_LANE_MAJOR, M, K, 0), 1.0625 + notes, 1e-6);
    assert_near(1 / compression_ratio(STORAGE_LANE_MAJOR, M, K, 1), .0625 + notes, 1e-6);
}

/* By hand: 65 x 1 pads to two groups. */
static void small_matrices_are_padded(void **state)
{
    (void)state;
    assert_near(storage_bytes(STORAGE_TCA_BME, 65, 1, 0), 4 * 3 + 8 * 128 + 2 * 65, 1e-9);
    assert_near(storage_bytes(STORAGE_CSR, 65, 1, 1), 4 * 66, 1e-9);
    assert_near(storage_bytes(STORAGE_TILED_CSL, 65, 65, 1), 4 * 4, 1e-9);
    assert_near(storage_bytes(STORAGE_OPTIMUM, 10, 10, .5), 100, 1e-9);
}

static void the_roofline_has_a_slope_and_a_roof(void **state)
{
    (void)state;
    assert_near(roofline(10, 1000, 50), 500, 0);
    assert_near(roofline(30, 1000, 50), 1000, 0);
}

static void the_table_is_printed(void **state)
{
    (void)state;
    char text[4000] = "";
    FILE *out = fmemopen(text, sizeof text, "w");
    assert_non_null(out);
    storage_print(out, M, K, N, 4.3e12);
    fclose(out);
    assert_non_null(
        strstr(text, "    50 %      1.000      0.667      1.000      1.185      1.776"));
    assert_non_null(strstr(text, "     0.6667     0.5002     0.4085     0.0630"));
    assert_non_null(strstr(text, "    50 %      109.3")); /* 2 x 28672 x 8192 bytes and 256 KB */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ratios_are_the_published_ones),
        cmocka_unit_test(intensities_are_the_published_ones),
        cmocka_unit_test(break_even_points),
        cmocka_unit_test(lane_major_is_padded_by_its_fullest_banks),
        cmocka_unit_test(small_matrices_are_padded),
        cmocka_unit_test(the_roofline_has_a_slope_and_a_roof),
        cmocka_unit_test(the_table_is_printed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
