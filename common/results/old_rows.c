#include "results/old_rows.h"

#include "results/bound.h"
#include "results/row.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A number, NAN where the cell is empty or not there. */
static double number(const csv_line *header, const csv_line *r, const char *name)
{
    const char *cell = csv_cell(header, r, name);
    return cell && *cell ? strtod(cell, NULL) : NAN;
}

/* ---- what a row says of its contender -------------------------------------------------------- */

/* How a contender stores A, as far as its name says. */
enum storage { VALUES, CSR, COO, PAIRS, BITMAP, DENSE };

static const struct {
    const char *prefix; /* of a contender's name; the first that fits counts */
    enum storage storage;
    enum unit unit;
} CONTENDERS[] = {
    {"cuBLAS SGEMM (dense)", DENSE, UNIT_CUDA_CORES},
    {"cuBLAS", DENSE, UNIT_TENSOR_CORES},
    {"cuSPARSE COO", COO, UNIT_CUDA_CORES},
    {"cuSPARSE CSR", CSR, UNIT_CUDA_CORES},
    {"row_per_thread", CSR, UNIT_CUDA_CORES},
    {"warp_per_row", CSR, UNIT_CUDA_CORES},
    {"shared_tiles", CSR, UNIT_CUDA_CORES},
    {"tuning", CSR, UNIT_CUDA_CORES},
    {"split_rows", CSR, UNIT_CUDA_CORES},
    {"roma", CSR, UNIT_CUDA_CORES},
    {"subwarp", CSR, UNIT_CUDA_CORES},
    {"mixed", PAIRS, UNIT_CUDA_CORES},
    {"bitmap_", BITMAP, UNIT_TENSOR_CORES},
    {"lane_major_", BITMAP, UNIT_TENSOR_CORES},
    {"length_bins", VALUES, UNIT_CUDA_CORES},
    {"b_tiles", VALUES, UNIT_CUDA_CORES},
    {"column_blocks", VALUES, UNIT_CUDA_CORES},
    {"overlapped_blocks", VALUES, UNIT_CUDA_CORES},
    {"", VALUES,
     UNIT_TENSOR_CORES}, /* it may have any of these, and tensor cores bound the least */
};

/* The place in CONTENDERS of the one that did the work: a contender that leaves it to another names that one
 * in its settings, KERNEL=b_tiles, and that one again, the last of them. */
static int place_of(const char *contender, const char *tuning)
{
    const char *kernel = tuning;
    int place = 0;
    while (kernel && (kernel = strstr(kernel, "KERNEL=")))
        contender = kernel += strlen("KERNEL=");
    while (strncmp(contender, CONTENDERS[place].prefix, strlen(CONTENDERS[place].prefix)) != 0)
        place++;
    return place;
}

/* Bytes of A, at least: indices may be packed in a way that the row does not tell. */
static double stored_bytes(enum storage storage, double rows, double cols, double nnz,
                           double element)
{
    const double offsets = 4 * (rows + 1);
    switch (storage) {
    case CSR:
        return offsets + (4 + element) * nnz;
    case COO:
        return (8 + element) * nnz;
    case PAIRS: /* column and value in 4 bytes where 16 bits hold a column, else in 8 */
        return offsets + (cols <= 65536 ? 4 : 8) * nnz;
    case BITMAP:
        return rows * cols / 8 + element * nnz;
    case DENSE:
        return element * rows * cols;
    case VALUES:
        break;
    }
    return element * nnz;
}

static bool precision_of(const char *name, enum precision *precision)
{
    for (int p = 0; p < NUM_PRECISIONS; p++)
        if (name && !strcmp(name, precision_name((enum precision)p))) {
            *precision = (enum precision)p;
            return true;
        }
    return false;
}

void old_row_shares(const csv_line *header, const csv_line *r, const machine_limits *limits,
                    double *bound, double *bound_share, double *gather_share)
{
    const double rows = number(header, r, "rows"), cols = number(header, r, "cols");
    const double nnz = number(header, r, "nnz"), N = number(header, r, "N");
    const double ms = number(header, r, "median_ms");
    const char *contender = csv_cell(header, r, "contender"), *l2 = csv_cell(header, r, "l2");
    enum precision precision;
    *bound = *bound_share = *gather_share = NAN;
    if (isnan(ms) || !contender || !l2) return;
    if (!precision_of(csv_cell(header, r, "precision"), &precision)) return;
    const int who = place_of(contender, csv_cell(header, r, "tuning"));
    const bool is_dense = CONTENDERS[who].storage == DENSE;
    const double element = precision_format(precision)->bytes, B_row = element * N;
    const double B_rows = is_dense ? cols : number(header, r, "max_row");
    least_work least = {
        .read_bytes =
            stored_bytes(CONTENDERS[who].storage, rows, cols, nnz, element) + B_row * B_rows,
        .write_bytes = B_row * rows,
        .flops = 2 * N * (is_dense ? rows * cols : nnz),
        .unit = CONTENDERS[who].unit,
    };
    /* cuSPARSE does not say which units it takes in 16 bits. */
    if (precision != PRECISION_FP32 && !strncmp(contender, "cuSPARSE", 8))
        least.unit = UNIT_TENSOR_CORES;
    *bound = bound_ms(limits, &least, precision, strcmp(l2, "cold") != 0);
    *bound_share = *bound / ms;
    if (!is_dense)
        *gather_share =
            number(header, r, "gather_gbs") / limits_gather_gbs(limits, B_row, B_row * cols);
}

/* ---- files ----------------------------------------------------------------------------------- */

static void put_number(FILE *out, double value)
{
    putc(',', out);
    if (isfinite(value)) fprintf(out, "%.6g", value);
}

/* One line, in the new order: schema, operation, the rest as it was, three cells in place of one. */
static void put_line(FILE *out, const csv_line *header, const csv_line *r, const char *schema,
                     const char *const shares[3], const double values[3])
{
    const int operation = csv_column(header, "operation"),
              old = csv_column(header, "roofline_share");
    fprintf(out, "%s,", schema);
    csv_text(out, r->cells[operation]);
    for (int i = 1; i < r->count; i++) {
        if (i == operation) continue;
        for (int k = 0; k < 3 && i == old; k++)
            if (shares)
                fprintf(out, ",%s", shares[k]);
            else
                put_number(out, values[k]);
        if (i == old) continue;
        putc(',', out);
        csv_text(out, r->cells[i]);
    }
    putc('\n', out);
}

enum status old_rows_convert(FILE *in, const char *name, const machine_limits *limits, FILE *out,
                             error_text *error)
{
    static const char *const SHARES[3] = {"bound_ms", "bound_share", "gather_share"};
    char *line = NULL, *first = NULL;
    size_t bytes = 0, first_bytes = 0, number_of_line = 1;
    csv_line header = {.count = 0}, r;
    enum status status = STATUS_OK;
    if (getline(&first, &first_bytes, in) < 0) first = NULL;
    const bool is_old = first && strstr(first, "roofline_share") && strstr(first, "operation");
    if (first && !is_old) fputs(first, out);
    if (is_old) {
        csv_split(first, &header);
        put_line(out, &header, &header, "schema", SHARES, NULL);
    }
    while (status == STATUS_OK && getline(&line, &bytes, in) >= 0) {
        double values[3];
        number_of_line++;
        if (!is_old) {
            fputs(line, out);
            continue;
        }
        csv_split(line, &r);
        if (r.count != header.count) {
            status = fail(error, STATUS_DATASET, "%s:%zu: %d cells, not the %d of the first line",
                          name, number_of_line, r.count, header.count);
            continue;
        }
        old_row_shares(&header, &r, limits, &values[0], &values[1], &values[2]);
        put_line(out, &header, &r, "2", NULL, values);
    }
    free(first);
    free(line);
    return status;
}
