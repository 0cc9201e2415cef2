#include "harness/limits.h"

#include "harness/device.h"
#include "matrix/dataset.h"
#include "matrix/files.h"

#include <math.h>
#include <string.h>

static bool read_file(const char *path, machine_limits *l)
{
    char line[256], key[32];
    FILE *in = fopen(path, "r");
    if (!in) return false;
    while (fgets(line, sizeof line, in)) {
        double a, b, c;
        const int fields = sscanf(line, "%31s %lf %lf %lf", key, &a, &b, &c);
        if (fields == 2 && !strcmp(key, "copy_gbs")) l->copy_gbs = a;
        if (fields == 2 && !strcmp(key, "fp32_gflops")) l->fp32_gflops = a;
        if (fields == 2 && !strcmp(key, "launch_us")) l->launch_us = a;
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
    if (cache_path(name, path, sizeof path, NULL) != STATUS_OK || !read_file(path, l)) {
        *l = (machine_limits){0};
        if (!project_root()) return false;
        snprintf(path, sizeof path, "%s/report/results/%s/limits.tsv", project_root(), slug);
        if (!read_file(path, l)) return false;
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
    fprintf(file.stream,
            "# limits of %s, measured by ./limits\n"
            "copy_gbs\t%.1f\nfp32_gflops\t%.0f\nlaunch_us\t%.2f\n"
            "# gather_gbs\trow bytes\tspan bytes\tGB/s\n",
            l->device, l->copy_gbs, l->fp32_gflops, l->launch_us);
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

double limits_least_ms(const machine_limits *l, const cost_model *m)
{
    const double gather = limits_gather_gbs(l, m->gather_row, m->gather_span);
    const double least = fmax(fmax(m->compulsory_bytes / l->copy_gbs, m->gather_bytes / gather),
                              m->flops / l->fp32_gflops);
    return least * 1e-6; /* bytes / (GB/s) = ns */
}
