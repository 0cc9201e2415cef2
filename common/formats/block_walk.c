/*
 * block_walk.c - from a layout to lists of groups, on the host: a merge of the lists of a group's outputs, which ascend.
 */
#include "formats/block_walk.h"

#include "device/cuda_try.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* Lists of blocks by output. */
typedef struct lists {
    int outs;
    const int *ptr, *block; /* of each output */
    const int *input;       /* of each block */
} lists;

/* Writes the entries of a group to `entry`, or only counts them where that is NULL. */
static int merge(const lists *l, const block_walk *w, int g, int *entry)
{
    enum { MOST = 32 };
    int next[MOST], entries = 0;
    const int first = g * w->group;
    const int outs = l->outs - first < w->group ? l->outs - first : w->group;
    for (int j = 0; j < outs; j++)
        next[j] = l->ptr[first + j];
    for (;; entries++) {
        int input = INT_MAX;
        for (int j = 0; j < outs; j++)
            if (next[j] < l->ptr[first + j + 1] && l->input[l->block[next[j]]] < input)
                input = l->input[l->block[next[j]]];
        if (input == INT_MAX) return entries;
        int *e = entry ? entry + (size_t)entries * w->stride : NULL;
        for (int i = 0; e && i < w->stride; i++)
            e[i] = i ? -1 : input;
        for (int j = 0; j < outs; j++) {
            const bool is_here =
                next[j] < l->ptr[first + j + 1] && l->input[l->block[next[j]]] == input;
            if (is_here && e) e[1 + j] = l->block[next[j]];
            next[j] += is_here;
        }
    }
}

static cudaError_t publish(const int *from, size_t count, int **to)
{
    CUDA_TRY(cudaMalloc((void **)to, (count + 1) * sizeof **to));
    return cudaMemcpy(*to, from, count * sizeof **to, cudaMemcpyHostToDevice);
}

/* Makes the lists of all groups, on the host. */
static cudaError_t merge_all(const lists *l, block_walk *w)
{
    const size_t starts = (size_t)w->groups * w->pieces + 1;
    for (int g = 0; g < w->groups; g++)
        w->entries += merge(l, w, g, NULL);
    w->host_entry = malloc(((size_t)w->entries * w->stride + 1) * sizeof *w->host_entry);
    w->host_start = malloc(starts * sizeof *w->host_start);
    if (!w->host_entry || !w->host_start) return cudaErrorMemoryAllocation;
    int first = 0;
    for (int g = 0; g < w->groups; g++) {
        const int n = merge(l, w, g, w->host_entry + (size_t)first * w->stride);
        for (int p = 0; p < w->pieces; p++)
            w->host_start[g * w->pieces + p] = first + (int)((int64_t)n * p / w->pieces);
        first += n;
    }
    w->host_start[starts - 1] = first;
    return cudaSuccess;
}

static size_t starts_of(const block_walk *w)
{
    return (size_t)w->bundles * w->pieces + 1;
}

static cudaError_t publish_all(block_walk *w)
{
    CUDA_TRY(publish(w->host_entry, (size_t)w->entries * w->stride, &w->d_entry));
    return publish(w->host_start, starts_of(w), &w->d_start);
}

/* ---- bundles ---------------------------------------------------------------------------------- */

/* Returns which stripes have an input in a step. */
static unsigned busy(const block_walk *w, const int *step)
{
    unsigned set = 0;
    for (int p = 0; p < w->stripes; p++)
        set |= (unsigned)(step[(size_t)p * w->stride] >= 0) << p;
    return set;
}

/* Writes the steps of a bundle to `to`, and returns their number. By ascending input, each goes to the first step in
 * which all its stripes are free. */
static int pack(const block_walk *w, int bundle, int *to)
{
    const size_t step_ints = (size_t)w->stripes * w->stride;
    const int first = bundle * w->stripes;
    const int groups = w->groups - first < w->stripes ? w->groups - first : w->stripes;
    const int *next[8], *end[8];
    int steps = 0, full = 0; /* steps before `full` have no stripe free */
    for (int p = 0; p < groups; p++) {
        next[p] = w->host_entry + (size_t)w->host_start[first + p] * w->stride;
        end[p] = w->host_entry + (size_t)w->host_start[first + p + 1] * w->stride;
    }
    for (;;) {
        int input = INT_MAX;
        for (int p = 0; p < groups; p++)
            if (next[p] < end[p] && *next[p] < input) input = *next[p];
        if (input == INT_MAX) return steps;
        unsigned set = 0;
        for (int p = 0; p < groups; p++)
            set |= (unsigned)(next[p] < end[p] && *next[p] == input) << p;
        while (full < steps && busy(w, to + full * step_ints) == (1u << groups) - 1)
            full++;
        int s = full;
        while (s < steps && busy(w, to + s * step_ints) & set)
            s++;
        if (s == steps) memset(to + steps++ * step_ints, -1, step_ints * sizeof *to);
        for (int p = 0; p < groups; p++) {
            if (!(set >> p & 1)) continue;
            int *e = to + s * step_ints + (size_t)p * w->stride;
            memcpy(e, next[p], (size_t)w->stride * sizeof *e);
            e[w->stride - 1] = (int)set;
            next[p] += w->stride;
        }
    }
}

/* Puts the lists of groups together. Each of their entries makes one step at most. */
static cudaError_t pack_all(block_walk *w)
{
    const size_t step_ints = (size_t)w->stripes * w->stride;
    int *entry = malloc(((size_t)w->entries * step_ints + 1) * sizeof *entry);
    int *start = malloc(starts_of(w) * sizeof *start);
    if (!entry || !start) {
        free(entry);
        free(start);
        return cudaErrorMemoryAllocation;
    }
    start[0] = 0;
    for (int b = 0; b < w->bundles; b++)
        start[b + 1] = start[b] + pack(w, b, entry + start[b] * step_ints);
    free(w->host_entry);
    free(w->host_start);
    w->host_entry = entry;
    w->host_start = start;
    w->entries = start[w->bundles] * w->stripes;
    return cudaSuccess;
}

/* ---- both ------------------------------------------------------------------------------------- */

/* stripes: 0 for lists without bundles. */
static cudaError_t build(const block_layout *layout, bool rows, int group, int pieces, int stripes,
                         block_walk **walk)
{
    const lists l = {.outs = rows ? layout->rows : layout->cols,
                     .ptr = rows ? layout->row_ptr : layout->col_ptr,
                     .block = rows ? layout->of_row : layout->of_col,
                     .input = rows ? layout->col : layout->row};
    const int each = stripes ? stripes : 1;
    *walk = NULL;
    block_walk *w = calloc(1, sizeof *w);
    if (!w) return cudaErrorMemoryAllocation;
    w->group = group;
    w->stride = (1 + group + (stripes > 0) + 3) / 4 * 4;
    w->groups = (l.outs + group - 1) / group;
    w->pieces = pieces;
    w->stripes = each;
    w->bundles = (w->groups + each - 1) / each;
    cudaError_t error = merge_all(&l, w);
    if (error == cudaSuccess && stripes) error = pack_all(w);
    if (error == cudaSuccess) error = publish_all(w);
    if (error != cudaSuccess) {
        block_walk_free(w);
        return error;
    }
    *walk = w;
    return cudaSuccess;
}

cudaError_t block_walk_build(const block_layout *layout, bool rows, int group, int pieces,
                             block_walk **walk)
{
    return build(layout, rows, group, pieces, 0, walk);
}

cudaError_t block_walk_build_bundles(const block_layout *layout, bool rows, int group, int stripes,
                                     block_walk **walk)
{
    return build(layout, rows, group, 1, stripes, walk);
}

size_t block_walk_bytes(const block_walk *walk)
{
    return sizeof(int) * ((size_t)walk->entries * walk->stride + starts_of(walk));
}

void block_walk_free(block_walk *walk)
{
    if (!walk) return;
    free(walk->host_entry);
    free(walk->host_start);
    cudaFree(walk->d_entry);
    cudaFree(walk->d_start);
    free(walk);
}
