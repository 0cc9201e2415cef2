#include "results/limits.h"

#include "device/facts.h"
#include "matrix/dataset.h"
#include "matrix/files.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

/* The figures of one number, as files call them. */
static const struct {
    const char *name;
    size_t offset;
    int decimals;
} FIGURES[] = {
    {"copy_gbs", offsetof(machine_limits, copy_gbs), 1},
    {"read_gbs", offsetof(machine_limits, read_gbs), 1},
    {"l2_read_gbs", offsetof(machine_limits, l2_read_gbs), 1},
    {"l2_bytes", offsetof(machine_limits, l2_bytes), 0},
    {"fp32_gflops", offsetof(machine_limits, fp32_gflops), 0},
    {"tf32_gflops", offsetof(machine_limits, tf32_gflops), 0},
    {"fp16_gflops", offsetof(machine_limits, fp16_gflops), 0},
    {"bf16_gflops", offsetof(machine_limits, bf16_gflops), 0},
    {"launch_us", offsetof(machine_limits, launch_us), 2},
};
enum { NUM_FIGURES = sizeof FIGURES / sizeof FIGURES[0] };

static double *figure(machine_limits *l, int i)
{
    return (double *)((char *)l + FIGURES[i].offset);
}

bool limits_read(const char *path, machine_limits *l)
{
    char line[256], key[32];
    FILE *in = fopen(path, "r");
    *l = (machine_limits){0};
    if (!in) return false;
    while (fgets(line, sizeof line, in)) {
        double a, b, c;
        const int fields = sscanf(line, "%31s %lf %lf %lf", key, &a, &b, &c);
        for (int i = 0; i < NUM_FIGURES; i++)
            if (fields == 2 && !strcmp(key, FIGURES[i].name) && a > 0) *figure(l, i) = a;
        if (fields == 4 && !strcmp(key, "gather_gbs") && a > 0 && b > 0 && c > 0 &&
            l->num_gather < MAX_GATHER_POINTS)
            l->gather[l->num_gather++] = (gather_point){a, b, c};
    }
    fclose(in);
    return l->copy_gbs > 0 && l->fp32_gflops > 0 && l->num_gather > 0;
}

bool limits_load(const char *device, machine_limits *l)
{
    char slug[256], name[300], path[4096];
    *l = (machine_limits){0};
    device_slug(device, slug, sizeof slug);
    snprintf(name, sizeof name, "limits-%s.tsv", slug);
    if (cache_path(name, path, sizeof path, NULL) != STATUS_OK || !limits_read(path, l)) {
        *l = (machine_limits){0};
        if (!project_root()) return false;
        snprintf(path, sizeof path, "%s/report/results/%s/limits.tsv", project_root(), slug);
        if (!limits_read(path, l)) return false;
    }
    snprintf(l->device, sizeof l->device, "%s", device);
    return true;
}

enum status limits_save(const machine_limits *l, char *path, size_t bytes, error_text *error)
{
    char slug[256], name[300];
    output_file file;
    device_slug(l->device, slug, sizeof slug);
    snprintf(name, sizeof name, "limits-%s.tsv", slug);
    enum status status = cache_path(name, path, bytes, error);
    if (status == STATUS_OK) status = output_open(&file, path, error);
    if (status != STATUS_OK) return status;
    machine_limits own = *l;
    fprintf(file.stream, "# limits of %s, measured by ./limits\n", own.device);
    for (int i = 0; i < NUM_FIGURES; i++)
        if (*figure(&own, i) > 0)
            fprintf(file.stream, "%s\t%.*f\n", FIGURES[i].name, FIGURES[i].decimals,
                    *figure(&own, i));
    fputs("# gather_gbs\trow bytes\tspan bytes\tGB/s\n", file.stream);
    for (int i = 0; i < l->num_gather; i++)
        fprintf(file.stream, "gather_gbs\t%.0f\t%.0f\t%.1f\n", l->gather[i].row_bytes,
                l->gather[i].span_bytes, l->gather[i].gbs);
    return output_close(&file, error);
}

/* The measured row size whose logarithm is nearest. */
static double nearest_row_bytes(const machine_limits *l, double row_bytes)
{
    double best = l->gather[0].row_bytes;
    for (int i = 1; i < l->num_gather; i++)
        if (fabs(log(l->gather[i].row_bytes / row_bytes)) < fabs(log(best / row_bytes)))
            best = l->gather[i].row_bytes;
    return best;
}

double limits_gather_gbs(const machine_limits *l, double row_bytes, double span_bytes)
{
    const double size = nearest_row_bytes(l, row_bytes);
    const gather_point *below = NULL, *above = NULL;
    for (int i = 0; i < l->num_gather; i++) {
        const gather_point *g = &l->gather[i];
        if (g->row_bytes != size) continue;
        if (g->span_bytes <= span_bytes && (!below || g->span_bytes > below->span_bytes)) below = g;
        if (g->span_bytes >= span_bytes && (!above || g->span_bytes < above->span_bytes)) above = g;
    }
    if (!below || !above) return below ? below->gbs : above->gbs;
    if (above->span_bytes == below->span_bytes) return above->gbs;
    const double at =
        log(span_bytes / below->span_bytes) / log(above->span_bytes / below->span_bytes);
    return below->gbs + at * (above->gbs - below->gbs);
}

/* Copies write as much as they read, and a change of direction costs memory time: what only reads may be
 * faster. Gathers out of the largest span show a rate of memory, too. L2 holds l2_bytes of the span, so
 * no more than that share of the gathered bytes can have come out of L2. A bound needs the highest rate
 * that was seen. */
double limits_memory_gbs(const machine_limits *l)
{
    double best = fmax(l->copy_gbs, l->read_gbs), largest = 0;
    for (int i = 0; i < l->num_gather; i++)
        largest = fmax(largest, l->gather[i].span_bytes);
    const double missed = largest > l->l2_bytes ? 1 - l->l2_bytes / largest : 0;
    for (int i = 0; i < l->num_gather; i++)
        if (l->gather[i].span_bytes == largest) best = fmax(best, missed * l->gather[i].gbs);
    return best;
}

double limits_gflops(const machine_limits *l, enum unit unit, enum precision precision)
{
    if (unit == UNIT_CUDA_CORES) return l->fp32_gflops;
    return precision == PRECISION_FP16   ? l->fp16_gflops
           : precision == PRECISION_BF16 ? l->bf16_gflops
                                         : l->tf32_gflops;
}
