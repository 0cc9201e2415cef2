#include "ops/storage.h"

#include <math.h>

static const char *const NAMES[NUM_STORAGES] = {
    [STORAGE_DENSE] = "dense",     [STORAGE_CSR] = "CSR",         [STORAGE_TILED_CSL] = "Tiled-CSL",
    [STORAGE_SPARTA] = "SparTA",   [STORAGE_TCA_BME] = "TCA-BME", [STORAGE_LANE_MAJOR] = "lane",
    [STORAGE_OPTIMUM] = "optimum",
};

const char *storage_name(enum storage format)
{
    return NAMES[format];
}

static double csr_bytes(double M, double nonzeros)
{
    return 6 * nonzeros + 4 * (M + 1);
}

/* Tiles of 64 x 64, which the published figures fit. */
static double tiled_csl_bytes(double M, double K, double nonzeros)
{
    return 4 * ceil(M / 64) * ceil(K / 64) + 4 * nonzeros;
}

/* Values and 2-bit places of two of each four, and in CSR the expected rest: one of a group in which
 * three are left, two of one in which four are. */
static double sparta_bytes(double M, double K, double s)
{
    const double d = 1 - s, rest = M * K / 4 * (4 * d * d * d * s + 2 * d * d * d * d);
    return (2 + 0.25) * M * K / 2 + csr_bytes(M, rest);
}

static double tca_bme_bytes(double M, double K, double nonzeros)
{
    const double groups = ceil(M / 64) * ceil(K / 64);
    return 4 * (groups + 1) + 8 * 64 * groups + 2 * nonzeros;
}

/* Counts steps of 16 strips and two quads of 64 columns, with an offset for each step. A step has eight
 * rows of notes, 32 of masks, and its values, 64 to a row. A row is 128 bytes. The fullest bank is fuller
 * than the others because a lane's 64 elements may each be there or not. The excess is by and large the
 * standard deviation of their number (1.1 to 1.4 of it in simulations of 40 to 70 %). It is halved, since a
 * row has two values of a bank. */
static double lane_major_bytes(double M, double K, double nonzeros, double s)
{
    enum { ROW_BYTES = 128 };
    const double steps = ceil(M / 256) * ceil(K / 128);
    const double fullest = 1.25 * sqrt(64 * s * (1 - s)) / 2;
    return steps * (ROW_BYTES * (8 + 32 + fullest) + 4) + 2 * nonzeros;
}

double storage_bytes(enum storage format, int64_t M, int64_t K, double sparsity)
{
    const double rows = (double)M, cols = (double)K, nonzeros = rows * cols * (1 - sparsity);
    switch (format) {
    case STORAGE_DENSE:
        return 2 * rows * cols;
    case STORAGE_CSR:
        return csr_bytes(rows, nonzeros);
    case STORAGE_TILED_CSL:
        return tiled_csl_bytes(rows, cols, nonzeros);
    case STORAGE_SPARTA:
        return sparta_bytes(rows, cols, sparsity);
    case STORAGE_TCA_BME:
        return tca_bme_bytes(rows, cols, nonzeros);
    case STORAGE_LANE_MAJOR:
        return lane_major_bytes(rows, cols, nonzeros, sparsity);
    default:
        return 2 * nonzeros;
    }
}

double compression_ratio(enum storage format, int64_t M, int64_t K, double sparsity)
{
    return storage_bytes(STORAGE_DENSE, M, K, sparsity) / storage_bytes(format, M, K, sparsity);
}

/* Every format takes less the sparser the matrix is: halve the interval. */
double break_even_sparsity(enum storage format, int64_t M, int64_t K)
{
    double low = 0, high = 1;
    while (high - low > 1e-9) {
        const double middle = (low + high) / 2;
        if (compression_ratio(format, M, K, middle) >= 1)
            high = middle;
        else
            low = middle;
    }
    return high;
}

double compute_intensity(double ratio, int64_t M, int64_t N)
{
    return (double)M * (double)N / ((double)M / ratio + (double)N);
}

double roofline(double intensity, double peak, double bandwidth)
{
    return fmin(peak, intensity * bandwidth);
}

/* ---- the table ---------------------------------------------------------------------------------- */

static void print_row(FILE *out, const char *title,
                      double (*of)(enum storage, int64_t, int64_t, int64_t, double, double),
                      int64_t M, int64_t K, int64_t N, double bandwidth, int decimals)
{
    fprintf(out, "%s\n", title);
    for (int percent = 30; percent <= 70; percent += 10) {
        fprintf(out, "%6d %%", percent);
        for (int f = 0; f < NUM_STORAGES; f++)
            fprintf(out, " %10.*f", decimals,
                    of((enum storage)f, M, K, N, percent / 100., bandwidth));
        putc('\n', out);
    }
}

static double ratio_of(enum storage f, int64_t M, int64_t K, int64_t N, double s, double bandwidth)
{
    (void)N, (void)bandwidth;
    return compression_ratio(f, M, K, s);
}

static double intensity_of(enum storage f, int64_t M, int64_t K, int64_t N, double s,
                           double bandwidth)
{
    return compute_intensity(ratio_of(f, M, K, N, s, bandwidth), M, N);
}

/* In microseconds, below the peak. */
static double time_of(enum storage f, int64_t M, int64_t K, int64_t N, double s, double bandwidth)
{
    const double flops = 2 * (double)M * (double)K * (double)N;
    return flops / roofline(intensity_of(f, M, K, N, s, bandwidth), INFINITY, bandwidth) * 1e6;
}

void storage_print(FILE *out, int64_t M, int64_t K, int64_t N, double bandwidth)
{
    fprintf(out, "%lld x %lld in 16 bits, N = %lld, %.0f GB/s\n\n%8s", (long long)M, (long long)K,
            (long long)N, bandwidth * 1e-9, "sparsity");
    for (int f = 0; f < NUM_STORAGES; f++)
        fprintf(out, " %10s", NAMES[f]);
    print_row(out, "\ncompression ratio", ratio_of, M, K, N, bandwidth, 3);
    print_row(out, "FLOP per byte", intensity_of, M, K, N, bandwidth, 2);
    print_row(out, "least time, us", time_of, M, K, N, bandwidth, 1);
    fprintf(out, "break-even sparsity\n%8s", "");
    for (int f = 0; f < NUM_STORAGES; f++)
        fprintf(out, " %10.4f", break_even_sparsity((enum storage)f, M, K));
    putc('\n', out);
}
