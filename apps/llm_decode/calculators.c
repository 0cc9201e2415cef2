#include "calculators.h"

#include "matrix/files.h"
#include "matrix/generated_sets.h"
#include "results/limits.h"

#include <math.h>
#include <string.h>

/* By bisection: `a` takes more below the place, and no more above it. */
double calculators_crossing(enum storage a, enum storage b, int64_t rows, int64_t cols)
{
    double low = 0, high = 0.999;
    if (storage_bytes(a, rows, cols, high) > storage_bytes(b, rows, cols, high)) return NAN;
    while (high - low > 1e-9) {
        const double middle = (low + high) / 2;
        if (storage_bytes(a, rows, cols, middle) > storage_bytes(b, rows, cols, middle))
            low = middle;
        else
            high = middle;
    }
    return high;
}

/* ---- by sparsity ------------------------------------------------------------------------------- */

enum { ROWS = 28672, COLS = 8192 }; /* the shape of SpInfer's own table */

/* Where a bit for every element is too many: compression ratios beyond the sparsities that storage_print has. */
static void print_high_sparsities(void)
{
    static const double LEVELS[] = {0.8, 0.9, 0.94, 0.97, 0.99};
    printf("compression ratio at high sparsity\n");
    for (size_t i = 0; i < sizeof LEVELS / sizeof *LEVELS; i++) {
        printf("%6.0f %%", 100 * LEVELS[i]);
        for (int f = 0; f < NUM_STORAGES; f++)
            printf(" %10.3f", compression_ratio((enum storage)f, ROWS, COLS, LEVELS[i]));
        printf("\n");
    }
    printf("smaller than TCA-BME: %s from %.1f %%, %s from %.1f %% zeros\n",
           storage_name(STORAGE_TILED_CSL),
           100 * calculators_crossing(STORAGE_TILED_CSL, STORAGE_TCA_BME, ROWS, COLS),
           storage_name(STORAGE_CSR),
           100 * calculators_crossing(STORAGE_CSR, STORAGE_TCA_BME, ROWS, COLS));
}

/* ---- 31 shapes --------------------------------------------------------------------------------- */

typedef struct shape_figures {
    double bytes, sparse_bytes, intensity, sparse_intensity;
    double least_us, sparse_least_us; /* NAN: the rates are unknown */
} shape_figures;

static double least_us(const machine_limits *l, double flops, double intensity)
{
    if (!l) return NAN;
    return flops /
           roofline(intensity, limits_gflops(l, UNIT_TENSOR_CORES, PRECISION_FP16) * 1e9,
                    limits_memory_gbs(l) * 1e9) *
           1e6;
}

static shape_figures figures_of(int rows, int cols, int N, double sparsity,
                                const machine_limits *limits)
{
    const double flops = 2.0 * rows * cols * N;
    const double ratio = compression_ratio(STORAGE_TCA_BME, rows, cols, sparsity);
    shape_figures f = {.bytes = storage_bytes(STORAGE_DENSE, rows, cols, sparsity),
                       .sparse_bytes = storage_bytes(STORAGE_TCA_BME, rows, cols, sparsity),
                       .intensity = compute_intensity(1, rows, N),
                       .sparse_intensity = compute_intensity(ratio, rows, N)};
    f.least_us = least_us(limits, flops, f.intensity);
    f.sparse_least_us = least_us(limits, flops, f.sparse_intensity);
    return f;
}

static void print_us(double us)
{
    if (isnan(us))
        printf(" %9s", "n/a");
    else
        printf(" %9.1f", us);
}

static void print_shapes(double sparsity, int N, const machine_limits *limits)
{
    size_t count;
    const int(*const shapes)[2] = generated_llm_shapes(&count);
    printf("%8s %7s %9s %9s %9s %9s %9s %9s\n", "rows", "columns", "dense MB", "TCA-BME", "FLOP/B",
           "TCA-BME", "least us", "TCA-BME");
    for (size_t i = 0; i < count; i++) {
        const shape_figures f = figures_of(shapes[i][0], shapes[i][1], N, sparsity, limits);
        printf("%8d %7d %9.1f %9.1f %9.2f %9.2f", shapes[i][0], shapes[i][1], f.bytes * 1e-6,
               f.sparse_bytes * 1e-6, f.intensity, f.sparse_intensity);
        print_us(f.least_us);
        print_us(f.sparse_least_us);
        printf("\n");
    }
}

static void write_us(FILE *out, double us)
{
    fputc(',', out);
    if (!isnan(us)) fprintf(out, "%.6g", us);
}

static void write_shapes(FILE *out, double sparsity, int N, const machine_limits *limits)
{
    size_t count;
    const int(*const shapes)[2] = generated_llm_shapes(&count);
    fprintf(out, "rows,cols,N,sparsity,dense_bytes,tca_bme_bytes,dense_flop_per_byte,"
                 "tca_bme_flop_per_byte,dense_least_us,tca_bme_least_us\n");
    for (size_t i = 0; i < count; i++) {
        const shape_figures f = figures_of(shapes[i][0], shapes[i][1], N, sparsity, limits);
        fprintf(out, "%d,%d,%d,%g,%.0f,%.0f,%.6g,%.6g", shapes[i][0], shapes[i][1], N, sparsity,
                f.bytes, f.sparse_bytes, f.intensity, f.sparse_intensity);
        write_us(out, f.least_us);
        write_us(out, f.sparse_least_us);
        fputc('\n', out);
    }
}

enum status calculators_print(double sparsity, int N, const char *gpu, const char *csv,
                              error_text *error)
{
    machine_limits limits;
    output_file file;
    const bool known = limits_load(gpu, &limits);
    if (csv && !strcmp(csv, "-")) {
        write_shapes(stdout, sparsity, N, known ? &limits : NULL);
        return STATUS_OK;
    }
    if (known) {
        storage_print(stdout, ROWS, COLS, N, limits_memory_gbs(&limits) * 1e9);
        print_high_sparsities();
        printf("\n31 shapes at %g %% zeros, N = %d, rates of %s\n", 100 * sparsity, N, gpu);
    } else {
        print_high_sparsities();
        printf("\n31 shapes at %g %% zeros, N = %d; no rates of %s are known\n", 100 * sparsity, N,
               gpu);
    }
    print_shapes(sparsity, N, known ? &limits : NULL);
    if (!csv) return STATUS_OK;
    const enum status status = output_open(&file, csv, error);
    if (status != STATUS_OK) return status;
    write_shapes(file.stream, sparsity, N, known ? &limits : NULL);
    return output_close(&file, error);
}
