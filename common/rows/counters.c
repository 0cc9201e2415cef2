/*
 * counters.c - counts of the CPU backend beside ncu's, kernel by kernel and metric by metric.
 *
 * CPU.tsv holds a line a kernel of run (scripts/compare-counters), NCU.csv the lines of scripts/ncu-counters. Prints
 * CSV; a summary goes to standard error. Exit status 1: a value is outside of its tolerance.
 */
#include "rows/rows.h"

#include "results/csv.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* How far the CPU may be off where the lanes of a warp stay together, and where they part. */
static const double SECTORS = 0.02, SECTORS_APART = 0.03, REQUESTS = 0.02, REQUESTS_APART = 0.10,
                    BYTES = 0.15;

#define G "_pipe_lsu_mem_global_op_"
#define S "_pipe_lsu_wavefronts_mem_shared_op_"
#define B "_bank_conflicts_pipe_lsu_mem_shared_op_"
#define L2 "lts__t_sectors_srcunit_tex_op_"

/* The columns of CPU.tsv. */
enum {
    DATASET,
    N,
    LAB,
    COMMIT,
    KERNEL,
    STEPS,
    LANE_STEPS,
    LD_REQUESTS,
    LD_SECTORS,
    ST_REQUESTS,
    ST_SECTORS,
    ATOMIC_REQUESTS,
    ATOMIC_SECTORS,
    SHARED_LD,
    SHARED_LD_WAVEFRONTS,
    SHARED_LD_IDEAL,
    SHARED_ST,
    SHARED_ST_WAVEFRONTS,
    SHARED_ST_IDEAL,
    L2_READ,
    L2_WRITE,
    DRAM_READ,
    DRAM_WRITE,
    L1_HITS,
    NUM_CPU
};

typedef struct counters {
    texts cpu;                /* the line of CPU.tsv by kernel */
    numbers value;            /* of ncu, by "kernel metric" */
    names order;              /* kernels of ncu */
    texts origin, name, back; /* of a kernel */
    names missing, outside, unknown;
    long within;
    /* The kernel at hand. */
    const char *key;
    char **f;
    bool apart;
} counters;

/* A kernel's name as both spell it: without arguments and template arguments. */
static char *plain(const char *kernel)
{
    size_t length = strcspn(kernel, "<(");
    const char ending[] = "_kernel";
    if (length >= strlen(ending) && starts_with(kernel + length - strlen(ending), ending))
        length -= strlen(ending);
    return text("%.*s", (int)length, kernel);
}

static const double *ncu_value(const counters *c, const char *metric)
{
    return numbers_find(&c->value, text("%s" KEY "%s", c->key, metric));
}

static double cpu_value(const counters *c, int column)
{
    return strtod(c->f[column], NULL);
}

/* One line. `whole` is the measure of a difference: a few conflicts more or fewer among a million wavefronts
 * are no difference. A tolerance of NAN: no verdict. */
static void compare(counters *c, const char *metric, double ncu, double ours, double whole,
                    double tolerance)
{
    if (ncu == 0 && ours == 0) return;
    const double difference = whole > 0 ? (ours - ncu) / whole : ours == ncu ? 0 : 1;
    const char *verdict = "outside", *name = texts_find(&c->name, c->key);
    if (isnan(tolerance))
        verdict = "information";
    else if (difference <= tolerance && difference >= -tolerance) {
        verdict = "within";
        c->within++;
    } else
        names_add(&c->outside,
                  text("%s N=%s lab%s %s %s: ncu %.0f, CPU %.0f (%+.1f %%)", c->f[DATASET], c->f[N],
                       c->f[LAB], name, metric, ncu, ours, 100 * difference));
    csv_text(out, c->f[DATASET]);
    fprintf(out, ",%s,%s,%s,", texts_find(&c->origin, c->key), c->f[N], c->f[LAB]);
    csv_text(out, name);
    fprintf(out, ",%s,%.10g,%.10g,%.4f,%s,%s,%s,%s\n", metric, ncu, ours, difference,
            isnan(tolerance) ? "" : digits(tolerance), verdict, texts_find(&c->back, c->key),
            c->f[COMMIT]);
}

/* Compares, if ncu knows all metrics (separated by blanks): their sum, times `unit`. The whole is no less
 * than `floor`. */
static void compare_sum(counters *c, const char *metric, const char *metrics, double unit,
                        double ours, double tolerance, double floor)
{
    size_t count;
    char **list = parts_of(metrics, ' ', &count);
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        const double *value = ncu_value(c, list[i]);
        if (!value) {
            names_add(&c->missing, list[i]);
            return;
        }
        sum += *value * unit;
    }
    compare(c, metric, sum, ours, sum < floor ? floor : sum, tolerance);
}

static void compare_shared(counters *c, const char *kind, int requests)
{
    const double wavefronts = cpu_value(c, requests + 1), ideal = cpu_value(c, requests + 2);
    const double tolerance = c->apart ? SECTORS_APART : SECTORS;
    const char *sass = text("smsp__sass_l1tex_data" S "%s.sum", kind);
    const double *l1 = ncu_value(c, text("l1tex__data" S "%s.sum", kind));
    const double *l1_conflicts = ncu_value(c, text("l1tex__data" B "%s.sum", kind));
    const double *sass_wavefronts = ncu_value(c, sass);
    const double *sass_conflicts = ncu_value(c, text("smsp__sass_l1tex_data" B "%s.sum", kind));
    /* No verdict: ncu counts instructions here, those that no lane carries out (all predicated off) with
     * the others. Wavefronts show the rest. */
    compare_sum(c, text("shared_%s_requests", kind),
                text("smsp__inst_executed_op_shared_%s.sum", kind), 1, cpu_value(c, requests), NAN,
                0);
    compare_sum(c, text("shared_%s_wavefronts", kind), sass, 1, wavefronts, tolerance, 0);
    if (l1 && l1_conflicts)
        compare(c, text("shared_%s_ideal_wavefronts", kind), *l1 - *l1_conflicts, ideal,
                *l1 - *l1_conflicts, tolerance);
    if (sass_wavefronts && sass_conflicts)
        compare(c, text("shared_%s_conflicts", kind), *sass_conflicts, wavefronts - ideal,
                *sass_wavefronts, SECTORS);
}

static double ncu_or_0(const counters *c, const char *metric)
{
    return ncu_value(c, metric) ? *ncu_value(c, metric) : 0;
}

static void compare_kernel(counters *c)
{
    /* Lanes part where half of them or fewer are active on average. */
    c->apart = cpu_value(c, LANE_STEPS) < 16 * cpu_value(c, STEPS);
    const double requests = c->apart ? REQUESTS_APART : REQUESTS;
    const double sectors = c->apart ? SECTORS_APART : SECTORS;
    compare_sum(c, "ld_requests", "l1tex__t_requests" G "ld.sum", 1, cpu_value(c, LD_REQUESTS),
                requests, 0);
    compare_sum(c, "ld_sectors", "l1tex__t_sectors" G "ld.sum", 1, cpu_value(c, LD_SECTORS),
                sectors, 0);
    compare_sum(c, "st_requests", "l1tex__t_requests" G "st.sum", 1, cpu_value(c, ST_REQUESTS),
                requests, 0);
    compare_sum(c, "st_sectors", "l1tex__t_sectors" G "st.sum", 1, cpu_value(c, ST_SECTORS),
                sectors, 0);
    compare_sum(c, "atomic_requests",
                "l1tex__t_requests" G "red.sum l1tex__t_requests" G "atom.sum", 1,
                cpu_value(c, ATOMIC_REQUESTS), requests, 0);
    compare_sum(c, "atomic_sectors", "l1tex__t_sectors" G "red.sum l1tex__t_sectors" G "atom.sum",
                1, cpu_value(c, ATOMIC_SECTORS), sectors, 0);
    compare_shared(c, "ld", SHARED_LD);
    compare_shared(c, "st", SHARED_ST);
    compare_sum(c, "l2_read_bytes", L2 "read.sum", 32, cpu_value(c, L2_READ), BYTES, 0);
    compare_sum(c, "l2_write_bytes", L2 "write.sum " L2 "red.sum " L2 "atom.sum", 32,
                cpu_value(c, L2_WRITE), BYTES, 0);
    /* Some bytes of a kernel that leaves all its results in L2 are none: a hundredth of its traffic. */
    const double few =
        0.01 * (ncu_or_0(c, "dram__bytes_read.sum") + ncu_or_0(c, "dram__bytes_write.sum"));
    compare_sum(c, "dram_read_bytes", "dram__bytes_read.sum", 1, cpu_value(c, DRAM_READ), BYTES,
                few);
    compare_sum(c, "dram_write_bytes", "dram__bytes_write.sum", 1, cpu_value(c, DRAM_WRITE), BYTES,
                few);
    compare_sum(c, "l1_hit_sectors", "l1tex__t_sectors" G "ld_lookup_hit.sum", 1,
                cpu_value(c, L1_HITS), NAN, 0);
    const double executed = ncu_or_0(c, "smsp__inst_executed.sum"), steps = cpu_value(c, STEPS);
    if (executed > 0 && steps > 0)
        compare(c, "simt_efficiency",
                ncu_or_0(c, "smsp__thread_inst_executed.sum") / (32 * executed),
                cpu_value(c, LANE_STEPS) / (32 * steps), 1, NAN);
}

/* A cell of a list that is written as CSV. */
static char *quoted(const char *cell)
{
    char *result = NULL;
    size_t bytes = 0;
    FILE *to = open_memstream(&result, &bytes);
    if (!to) refuse(STATUS_MEMORY, "out of memory");
    csv_text(to, cell);
    fclose(to);
    return result;
}

static void read_cpu(counters *c, const char *path)
{
    FILE *in = fopen(path, "r");
    char *line = NULL;
    size_t bytes = 0, count;
    if (!in) refuse(STATUS_DATASET, "%s: cannot be read", path);
    while (getline(&line, &bytes, in) >= 0) {
        char *whole = text("%.*s", (int)strcspn(line, "\n"), line);
        char **f = parts_of(whole, '\t', &count);
        if (count != NUM_CPU) refuse(STATUS_DATASET, "%s: %zu cells, not %d", path, count, NUM_CPU);
        const char **own =
            texts_at(&c->cpu, text("%s" KEY "%s" KEY "%s", f[DATASET], f[N], plain(f[KERNEL])));
        if (!*own) *own = whole; /* of a lab that has a row for several settings, the first */
    }
    fclose(in);
}

enum status run_counters(const request *q)
{
    counters *c = calloc(1, sizeof *c);
    if (!c) refuse(STATUS_MEMORY, "out of memory");
    read_cpu(c, q->files[0]);
    table *t = table_read(q->files[1]);
    for (long row = 0; row < t->count; row++) {
        const row_of r = {t, row};
        const char *value = get(r, "value");
        const char *key =
            text("%s" KEY "%s" KEY "%s", get(r, "dataset"), get(r, "N"), plain(get(r, "kernel")));
        names_add(&c->order, key);
        if (*value >= '0' && *value <= '9')
            *numbers_at(&c->value, text("%s" KEY "%s", key, get(r, "metric")), 0) =
                strtod(value, NULL);
        *texts_at(&c->origin, key) = get(r, "origin");
        *texts_at(&c->name, key) = get(r, "kernel");
        *texts_at(&c->back, key) =
            text("%s,%s,%s,%s", quoted(get(r, "device")), quoted(get(r, "driver")),
                 quoted(get(r, "toolkit")), quoted(get(r, "commit")));
    }
    fputs("dataset,origin,N,lab,kernel,metric,ncu,cpu,difference,tolerance,verdict,device,driver,"
          "toolkit,commit,cpu_commit\n",
          out);
    for (long k = 0; k < c->order.count; k++) {
        size_t count;
        c->key = c->order.name[k];
        const char *line = texts_find(&c->cpu, c->key);
        if (!line) {
            names_add(&c->unknown, texts_find(&c->name, c->key));
            continue;
        }
        c->f = parts_of(line, '\t', &count);
        compare_kernel(c);
    }
    fprintf(stderr, "%ld of %ld values within their tolerance\n", c->within,
            c->within + c->outside.count);
    for (long i = 0; i < c->outside.count; i++)
        fprintf(stderr, "  outside: %s\n", c->outside.name[i]);
    for (long i = 0; i < c->unknown.count; i++)
        fprintf(stderr, "  not counted on the CPU: %s\n", c->unknown.name[i]);
    for (long i = 0; i < c->missing.count; i++)
        fprintf(stderr, "  not measured by ncu: %s\n", c->missing.name[i]);
    return c->outside.count + c->unknown.count > 0 || !c->within ? STATUS_WRONG : STATUS_OK;
}
