/*
 * block_walk.c - from a layout to lists of groups, on the host: a merge of the lists of a group's outputs, which ascend.
 */
#include "formats/block_walk.h"

#include "device/cuda_try.h"

#include <limits.h>
#include <stdlib.h>

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

static cudaError_t fill(const lists *l, block_walk *w)
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
    CUDA_TRY(publish(w->host_entry, (size_t)w->entries * w->stride, &w->d_entry));
    return publish(w->host_start, starts, &w->d_start);
}

cudaError_t block_walk_build(const block_layout *layout, bool rows, int group, int pieces,
                             block_walk **walk)
{
    const lists l = {.outs = rows ? layout->rows : layout->cols,
                     .ptr = rows ? layout->row_ptr : layout->col_ptr,
                     .block = rows ? layout->of_row : layout->of_col,
                     .input = rows ? layout->col : layout->row};
    *walk = NULL;
    block_walk *w = calloc(1, sizeof *w);
    if (!w) return cudaErrorMemoryAllocation;
    w->group = group;
    w->stride = (1 + group + 3) / 4 * 4;
    w->groups = (l.outs + group - 1) / group;
    w->pieces = pieces;
    const cudaError_t error = fill(&l, w);
    if (error != cudaSuccess) {
        block_walk_free(w);
        return error;
    }
    *walk = w;
    return cudaSuccess;
}

size_t block_walk_bytes(const block_walk *walk)
{
    return sizeof(int) *
           ((size_t)walk->entries * walk->stride + (size_t)walk->groups * walk->pieces + 1);
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
