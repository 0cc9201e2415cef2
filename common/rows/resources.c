/*
 * resources.c - what bounds each case: the fullest of the GPU's resources, of rows of scripts/ncu-resources.
 *
 * A line a matrix, N and kernel: the time of the launch, the three fullest resources in percent of their
 * peaks, and the fullest of those that only instructions fill; what memory gave, hits in L2 and L1, and warps
 * at work as a share of what a multiprocessor can hold.
 *
 * ncu says what the throughput of computing and of memory are made of, metric by metric. Some metrics are
 * two views of one resource: it is as full as the fuller of them, and counts once.
 */
#include "rows/rows.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { FULLEST = 3 };

/* A resource: whether only instructions fill it, its name here, and ncu's metrics of it. */
static const struct {
    bool is_work;
    const char *words, *metrics;
} RESOURCES[] = {
    /* From the chips to an SM. What the chips' bus is busy with, what it carries, and the same bytes as L2 takes them in. */
    {false, "memory", "dram__cycles_active fbpa__dram_sectors lts__d_sectors_fill_device"},
    /* The same, of what lies in the host's memory. */
    {false, "the host's memory", "lts__d_sectors_fill_sysmem"},
    /* L2 looks up tags: requests of up to four sectors, and the sectors. */
    {false, "L2's lookups", "lts__t_sectors lts__t_tag_requests"},
    /* Sectors in and out of L2's own memory, those that it takes in among them. */
    {false, "L2's data", "lts__d_sectors"},
    /* Atomics that L2 does, and compressed data that it unpacks. */
    {false, "L2's atomics", "lts__d_atomic_input_cycles_active"},
    {false, "L2's decompression", "lts__d_decomp_input_sectors"},
    /* The crossbar's four ports: L2's and the SM's are as many as there are slices and SMs, so one way may be full at one end. */
    {false, "L2 to the crossbar", "lts__lts2xbar_cycles_active"},
    {false, "the crossbar to L2", "lts__xbar2lts_cycles_active"},
    {false, "the crossbar to L1", "l1tex__m_xbar2l1tex_read_sectors"},
    {false, "L1 to the crossbar", "l1tex__m_l1tex2xbar_req_cycles_active"},
    /* Reads of SMs of a cluster from each other. */
    {false, "other SMs' shared memory", "l1tex__m_xbar2l1tex_read_sectors_mem_dshared"},
    /* L1 and shared memory are one memory: a wavefront is what it serves in a cycle, and loads write back what it brought. */
    {false, "L1/shared memory's data pipe (wavefronts)",
     "l1tex__data_pipe_lsu_wavefronts l1tex__lsu_writeback_active"},
    /* Its banks, by what is read and written of them. */
    {false, "L1/shared memory's banks", "l1tex__data_bank_reads l1tex__data_bank_writes"},
    /* Textures have a way of their own through L1. */
    {false, "textures",
     "l1tex__data_pipe_tex_wavefronts l1tex__tex_writeback_active "
     "l1tex__texin_sm2tex_req_cycles_active l1tex__tmain_requests l1tex__f_wavefronts "
     "sm__inst_executed_pipe_tex"},
    /* Within an SM. Instructions that the schedulers issue, and those that were carried out. */
    {true, "issue slots", "sm__issue_active sm__inst_executed"},
    /* Loads and stores as instructions, and as L1 takes them in. */
    {true, "load and store instructions", "sm__inst_executed_pipe_lsu l1tex__lsuin_requests"},
    /* Whatever goes to L1, shared memory, branches or constants waits in one queue, is fetched its registers, and answers. */
    {true, "the queue to L1 and branches (MIO)",
     "sm__mio_inst_issued sm__mio_pq_read_cycles_active sm__mio_pq_write_cycles_active"},
    {true, "what comes back from there (MIO)", "sm__mio2rf_writeback_active"},
    /* Integers, bits, comparisons, selections. */
    {true, "integers and logic (ALU)", "sm__pipe_alu_cycles_active"},
    /* Multiply-add in fp32, and, in the heavier half of that pipe, of integers. */
    {true, "multiply-add (FMA)", "sm__pipe_fma_cycles_active sm__pipe_fmaheavy_cycles_active"},
    {true, "fp64", "sm__pipe_fp64_cycles_active"},
    /* By any of their types; "shared" is what they have in common with fp64. */
    {true, "tensor cores",
     "sm__pipe_tensor_cycles_active sm__pipe_tensor_op_dmma_cycles_active "
     "sm__pipe_tensor_type_hmma_hgmma_qgmma_imma_igmma_bmma_bgmma_cycles_active "
     "sm__pipe_shared_cycles_active"},
    /* Bulk copies. */
    {true, "bulk copies (TMA)", "sm__pipe_tma_cycles_active"},
    /* Conversions, counting bits, roots and the like. */
    {true, "conversions and special functions (XU)", "sm__inst_executed_pipe_xu"},
    /* Work that a warp does once for all its lanes. */
    {true, "the uniform pipe", "sm__inst_executed_pipe_uniform"},
    /* Branches and barriers; addresses of both, and of constants; constants by a computed address. */
    {true, "branches (CBU)", "sm__inst_executed_pipe_cbu_pred_on_any"},
    {true, "addresses of branches (ADU)", "sm__inst_executed_pipe_adu"},
    {true, "constants by address (IDC)", "idc__request_cycles_active"},
    /* Interpolation, of graphics. */
    {true, "interpolation", "sm__inst_executed_pipe_ipa"},
};
enum { NUM_RESOURCES = sizeof RESOURCES / sizeof RESOURCES[0] };

typedef struct resources {
    const char *machine;
    names commits, cases, seen; /* seen: resources in the order of their coming */
    texts value;                /* by "case metric" */
    numbers full;               /* by "case resource" */
    numbers is_work;            /* of those that are no entry of RESOURCES: of another GPU */
} resources;

static const char SHARE[] = ".avg.pct_of_peak_sustained_elapsed";

static bool ends_with(const char *name, const char *ending)
{
    const size_t length = strlen(name), end = strlen(ending);
    return length >= end && !strcmp(name + length - end, ending);
}

/* The resource behind a metric, and whether only instructions fill it. */
static const char *resource_of(resources *s, const char *metric)
{
    for (int i = 0; i < NUM_RESOURCES; i++)
        if (is_among(metric, RESOURCES[i].metrics, ' ')) {
            numbers_at(&s->is_work, RESOURCES[i].words, RESOURCES[i].is_work);
            return RESOURCES[i].words;
        }
    numbers_at(&s->is_work, metric, starts_with(metric, "sm__") || starts_with(metric, "idc__"));
    return metric;
}

static void take_row(resources *s, row_of r)
{
    one_machine(&s->machine, r);
    names_add(&s->commits, get(r, "commit"));
    const char *key = text("%s" KEY "%s" KEY "%s" KEY "%s", get(r, "dataset"), get(r, "origin"),
                           get(r, "N"), get(r, "kernel"));
    const char *metric = get(r, "metric"), *value = get(r, "value");
    names_add(&s->cases, key);
    if (isdigit((unsigned char)*value))
        *texts_at(&s->value, text("%s" KEY "%s", key, metric)) = value;

    /* Metrics named ...throughput are the most of several; ncu does not say what ...internal_activity is. */
    if (!ends_with(metric, SHARE)) return;
    metric = text("%.*s", (int)(strlen(metric) - strlen(SHARE)), metric);
    if (ends_with(metric, "throughput") || ends_with(metric, "internal_activity")) return;
    const char *resource = resource_of(s, metric);
    names_add(&s->seen, resource);
    double *full = numbers_at(&s->full, text("%s" KEY "%s", key, resource), 0);
    if (strtod(value, NULL) > *full) *full = strtod(value, NULL);
}

/* The fullest resources of a case: of all, or of those that only instructions fill. */
static const char *fullest(const resources *s, const char *key, int count, bool work_alone)
{
    const char *told = "";
    names is_told = {0};
    for (int k = 0; k < count; k++) {
        double most = 0;
        const char *which = NULL;
        for (long i = 0; i < s->seen.count; i++) {
            const char *own = s->seen.name[i];
            const double *full = numbers_find(&s->full, text("%s" KEY "%s", key, own));
            if (names_find(&is_told, own) != NONE || !full || *full <= most) continue;
            if (work_alone && !*numbers_find(&s->is_work, own)) continue;
            most = *full;
            which = own;
        }
        if (!which) break;
        names_add(&is_told, which);
        told = text("%s%s%s %.0f %%", told, k ? "; " : "", which, most);
    }
    return *told ? told : "-";
}

/* A number of a case, as `format` has it, in a unit; "-" where there is none. */
static double value_of(const resources *s, const char *key, const char *metric)
{
    const char *value = texts_find(&s->value, text("%s" KEY "%s", key, metric));
    return value ? strtod(value, NULL) : -1;
}

static const char *percent(double value)
{
    return value < 0 ? "-" : text("%.0f %%", value);
}

static void print_case(const resources *s, const char *key)
{
    const char *kernel = key_part(key, 3), *line = strchr(kernel, '_');
    size_t letters = 0; /* of the operation, which the name begins with */
    while (isdigit((unsigned char)kernel[letters]) || islower((unsigned char)kernel[letters]))
        letters++;
    if (line && letters && kernel[letters] == '_') kernel += letters + 1;
    const char *end = strstr(kernel, "_kernel");
    if (end) kernel = text("%.*s%s", (int)(end - kernel), kernel, end + strlen("_kernel"));
    const double ns = value_of(s, key, "gpu__time_duration.sum");
    const double bytes = value_of(s, key, "dram__bytes.sum");
    fprintf(out, "| %s (%s) | %s | `%s` | %s | %s | %s | %s | %s | %s | %s |\n", key_part(key, 0),
            key_part(key, 1), key_part(key, 2), kernel, ns < 0 ? "-" : text("%.1f", ns / 1000),
            fullest(s, key, FULLEST, false), fullest(s, key, 1, true),
            ns > 0 && bytes >= 0 ? text("%.0f", bytes / ns) : "-",
            percent(value_of(s, key, "lts__t_sector_hit_rate.pct")),
            percent(value_of(s, key, "l1tex__t_sector_hit_rate.pct")),
            percent(value_of(s, key, "sm__warps_active.avg.pct_of_peak_sustained_active")));
}

enum status run_resources(const request *q)
{
    resources *s = calloc(1, sizeof *s);
    if (!s) refuse(STATUS_MEMORY, "out of memory");
    for (int i = 0; i < q->count; i++) {
        if (!is_readable(q->files[i]))
            refuse(STATUS_DATASET, "%s: no such rows; make resources measures them", q->files[i]);
        table *t = table_read(q->files[i]);
        for (long row = 0; row < t->count && names_find(&t->columns, "metric") != NONE; row++)
            take_row(s, (row_of){t, row});
    }
    if (!s->cases.count) refuse(STATUS_DATASET, "no rows of ncu; make resources measures them");
    fprintf(out, "%s, commit %s. One launch of the kernel, as ncu has it:\n\n", s->machine,
            names_sorted(&s->commits, "`"));
    fputs("| matrix | N | kernel | us | the fullest of all resources | the fullest of instructions "
          "| memory,"
          " GB/s | hits in L2 | in L1 | warps |\n|---|---:|---|---:|---|---|---:|---:|---:|---:|\n",
          out);
    for (long i = 0; i < s->cases.count; i++)
        print_case(s, s->cases.name[i]);
    return STATUS_OK;
}
