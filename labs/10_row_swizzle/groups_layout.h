/*
 * groups_layout.h - how the lists of row groups and a block's shared memory are laid out: what
 * groups.cu (the product), groups_lists.cu (prepare) and groups_model.cu (the choice) share.
 *
 * The lists of a visit, in order: for each group the number of its first column, and the total;
 * for each column its place in the tile, in bytes; for each column R values. Each of the three
 * begins at a multiple of 16 bytes. Sizes and positions are in units of that, a float4.
 */
#ifndef LAB10_GROUPS_LAYOUT_H
#define LAB10_GROUPS_LAYOUT_H

#include "groups.h"

#include <algorithm>

constexpr int MAX_WARPS = 16;

/* A warp owns four rows at least, so that a tile of B serves enough of them: groups in a warp. */
__host__ __device__ constexpr int groups_per_warp(int R)
{
    return R < 4 ? 4 / R : 1;
}

/* Blocks of MAX_WARPS that registers should leave room for on an SM. */
__host__ __device__ constexpr int resident_blocks(int R, int C)
{
    return groups_per_warp(R) * R * C <= 32 ? 2 : 1;
}

/* 16-byte units that the heads of `groups` groups take, and those with `columns` places. */
__host__ __device__ constexpr int head_units(int groups)
{
    return (groups + 1 + 3) / 4;
}
__host__ __device__ constexpr int value_units(int groups, int columns)
{
    return head_units(groups) + (columns + 3) / 4;
}

/* Whether there is such a kernel. */
inline bool groups_kernel_exists(const groups_shape &s)
{
    return s.C == 8 || (s.C == 16 && s.R < 8 && s.width > 32);
}

/* Groups of a panel. */
inline int panel_groups(const groups_shape &s)
{
    return s.warps / s.ways * groups_per_warp(s.R);
}

/* 16-byte units of a tile of B. */
inline int tile_units(const groups_shape &s)
{
    return s.tile_rows * (s.width / 4);
}

/* Of a block. One stage is worked on while the other one is filled; in the end the parts of the
 * sums lie there. */
inline size_t groups_shared_bytes(const groups_shape &s, double stage)
{
    const size_t stages = 2 * sizeof(float4) * (size_t)stage;
    const size_t parts = sizeof(float) * panel_groups(s) * s.R * s.ways * s.width;
    return s.ways > 1 ? std::max(stages, parts) : stages;
}

/* 16-byte units of the lists of a visit with so many columns. */
inline int list_units(const groups_shape &s, int columns)
{
    return value_units(panel_groups(s), columns) + (columns * s.R + 3) / 4;
}

/* Lets the kernel for this shape have up to so many bytes of shared memory: all that a block can
 * have, since plans with lists of other lengths use the same kernel. */
cudaError_t groups_allow_shared(const groups_shape *shape, int N, int bytes);

#endif
