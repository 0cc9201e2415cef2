#include "harness/inspect.h"

#include "matrix/dataset.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A copy of `count` elements; of none, one byte, for NULL means that there was no memory. */
static void *copied(const void *from, size_t count, size_t size)
{
    void *copy = malloc(count * size + 1);
    if (copy && count) memcpy(copy, from, count * size);
    return copy;
}

/* Places of the project by their name in it, wherever the program was started. */
static void shorten(char *where)
{
    const char *root = project_root();
    const size_t length = root ? strlen(root) : 0;
    if (length > 1 && !strncmp(where, root, length) && where[length] == '/')
        memmove(where, where + length + 1, strlen(where + length + 1) + 1);
}

static bool take_kernels(inspection *i, const kernel_profile *all, size_t count)
{
    i->kernels = copied(all, count, sizeof *all);
    if (!i->kernels) return false;
    for (size_t k = 0; k < count; k++) {
        kernel_profile *mine = &i->kernels[k];
        mine->lines = copied(all[k].lines, all[k].num_lines, sizeof *mine->lines);
        if (!mine->lines) return false;
        for (size_t l = 0; l < mine->num_lines; l++)
            shorten(mine->lines[l].where);
        i->num_kernels++;
        if (mine->in_prepare) continue;
        counters_add(&i->run, &mine->total);
        i->run_kernels++;
    }
    i->run_sectors = global_sectors(&i->run);
    return true;
}

inspection *inspection_take(const instruments *from, const options *o)
{
    inspection *i = calloc(1, sizeof *i);
    if (!i) return NULL;
    const kernel_profile *kernels = NULL;
    const finding *findings = NULL;
    const size_t num_kernels = from->profiles(&kernels), num_findings = from->findings(&findings);
    i->which = o->instruments;
    i->counted = o->instruments & INSTRUMENT_COUNTERS;
    i->predicted = o->predict;
    i->sample = options_sampled(o) ? o->sample : 1;
    i->model = from->model_name();
    i->model_text = from->model_text();
    if (o->predict) from->predict(&i->prediction);
    i->findings = copied(findings, num_findings, sizeof *findings);
    i->num_findings = i->findings ? num_findings : 0;
    for (size_t f = 0; f < i->num_findings; f++) {
        shorten(i->findings[f].where);
        shorten(i->findings[f].other);
    }
    if (from->recordings) i->recordings = from->recordings(&i->num_recordings);
    for (size_t r = 0; r < i->num_recordings; r++)
        for (size_t l = 0; l < i->recordings[r].num_lines; l++)
            shorten(i->recordings[r].lines[l]);
    if (i->findings && take_kernels(i, kernels, num_kernels)) return i;
    inspection_free(i);
    return NULL;
}

void inspection_free(inspection *i)
{
    if (!i) return;
    for (size_t k = 0; k < i->num_kernels; k++)
        free(i->kernels[k].lines);
    free(i->kernels);
    free(i->findings);
    recordings_free(i->recordings, i->num_recordings);
    free(i);
}

void inspection_void(inspection *i)
{
    i->counted = i->predicted = false;
}

const char *checks_text(int which)
{
    const bool memory = which & INSTRUMENT_MEMCHECK, races = which & INSTRUMENT_RACECHECK;
    return memory && races ? "memcheck, racecheck" : memory ? "memcheck" : races ? "racecheck" : "";
}

bool is_shared(enum access_kind kind)
{
    return kind >= SHARED_LOAD;
}

double share_of(int64_t part, int64_t whole)
{
    return whole ? (double)part / (double)whole : NAN;
}

double per_request(int64_t amount, const access_counters *n)
{
    return share_of(amount, n->requests);
}

double coalescing(const access_counters *n)
{
    return share_of(n->bytes, 32 * n->cost);
}

double simt_efficiency(int64_t lanes, int64_t steps)
{
    return share_of(lanes, 32 * steps);
}

double imbalance(int64_t most, int64_t work, int64_t count)
{
    return work ? (double)most * (double)count / (double)work : NAN;
}

int64_t bank_conflicts(const access_counters *n)
{
    return n->cost - n->ideal;
}

int64_t global_sectors(const counters *n)
{
    return n->access[GLOBAL_LOAD].cost + n->access[GLOBAL_STORE].cost +
           n->access[GLOBAL_ATOMIC].cost;
}
