/*
 * groups_lists.cu - the lists of row groups, made on the host by several threads.
 */
#include "device/cuda_try.h"
#include "groups_layout.h"

#include <algorithm>
#include <limits.h>
#include <new>
#include <thread>
#include <vector>

constexpr int MIN_PANELS = 8; /* less is not worth a thread */

/* A nonzero on its way into the lists: its tile, and its place among the tile's nonzeros. */
struct placed {
    int tile;
    int place; /* (group * tile_rows + row of the tile) * R + row of the group */
    float value;
};

/* Makes the lists of one panel after the other. */
struct list_builder {
    const groups_shape shape;
    const csr_matrix &A;
    const float *values; /* of A */
    const std::vector<int> &order;
    std::vector<int> panel_visit;
    std::vector<int2> visits;
    std::vector<float4> lists;
    int longest = 0; /* of a visit */
    bool out_of_memory = false;
    /* Scratch: the panel's nonzeros by tile; of one tile the values by place and who has any. */
    std::vector<int> count, touched;
    std::vector<placed> unsorted, sorted;
    std::vector<float> dense;
    std::vector<char> used;

    list_builder(const groups_shape &s, const csr_matrix &matrix, const float *of_matrix,
                 const std::vector<int> &row_order)
        : shape(s), A(matrix), values(of_matrix), order(row_order)
    {
        const int tiles = (int)((A.cols + s.tile_rows - 1) / s.tile_rows);
        count.resize(tiles);
        used.resize((size_t)panel_groups(s) * s.tile_rows);
        dense.resize(used.size() * s.R);
    }

    /* The nonzeros of rows `first` .. of the order, grouped by tile, tiles ascending. */
    void collect(int first)
    {
        const int R = shape.R, rows = panel_groups(shape) * R;
        unsorted.clear();
        touched.clear();
        for (int i = 0; i < rows && first + i < A.rows; i++) {
            const int64_t row = order.empty() ? first + i : order[first + i];
            for (int64_t k = A.row_ptr[row]; k < A.row_ptr[row + 1]; k++) {
                const int tile = A.col_idx[k] / shape.tile_rows;
                const int inside = A.col_idx[k] % shape.tile_rows;
                if (count[tile]++ == 0) touched.push_back(tile);
                unsorted.push_back(
                    {tile, (i / R * shape.tile_rows + inside) * R + i % R, values[k]});
            }
        }
        std::sort(touched.begin(), touched.end());
        int begin = 0;
        for (const int tile : touched) {
            const int n = count[tile];
            count[tile] = begin;
            begin += n;
        }
        sorted.resize(unsorted.size());
        for (const placed &x : unsorted)
            sorted[count[x.tile]++] = x;
    }

    /* The lists of the nonzeros begin .. end-1 of `sorted`, all of one tile. */
    void add_visit(int tile, int begin, int end)
    {
        const int R = shape.R, groups = panel_groups(shape), rows = shape.tile_rows;
        std::fill(used.begin(), used.end(), 0);
        std::fill(dense.begin(), dense.end(), 0.0f);
        for (int i = begin; i < end; i++) {
            dense[sorted[i].place] += sorted[i].value; /* entries that repeat a column add up */
            used[sorted[i].place / R] = 1;
        }
        const int columns = (int)std::count(used.begin(), used.end(), 1);
        const size_t at = lists.size();
        visits.push_back(make_int2(tile, (int)at));
        longest = std::max(longest, list_units(shape, columns));
        lists.resize(at + list_units(shape, columns));
        int *const heads = reinterpret_cast<int *>(&lists[at]);
        int *const places = heads + 4 * head_units(groups);
        float *value = reinterpret_cast<float *>(&lists[at + value_units(groups, columns)]);
        int n = 0;
        for (int i = 0; i < groups * rows; i++) {
            if (i % rows == 0) heads[i / rows] = n;
            if (!used[i]) continue;
            places[n++] = i % rows * shape.width * (int)sizeof(float);
            value = std::copy_n(&dense[(size_t)i * R], R, value);
        }
        heads[groups] = n;
    }

    void add_panel(int first)
    {
        panel_visit.push_back((int)visits.size());
        collect(first);
        int begin = 0;
        for (const int tile : touched) {
            add_visit(tile, begin, count[tile]);
            begin = count[tile];
            count[tile] = 0;
        }
    }

    /* Panels begin .. end-1. A thread of its own may do this. */
    void build(int begin, int end)
    {
        try {
            for (int panel = begin; panel < end; panel++)
                add_panel(panel * panel_groups(shape) * shape.R);
        } catch (const std::bad_alloc &) {
            out_of_memory = true;
        }
    }
};

void groups_free(row_groups *groups)
{
    cudaFree(groups->d_panel_visit);
    cudaFree(groups->d_visit);
    cudaFree(groups->d_lists);
    *groups = {};
}

/* The lists of all builders one after the other. */
static cudaError_t upload(std::vector<list_builder> &builders, row_groups *groups)
{
    std::vector<int> panel_visit;
    std::vector<int2> visits;
    size_t units = 0;
    for (const list_builder &b : builders) {
        for (const int visit : b.panel_visit)
            panel_visit.push_back((int)visits.size() + visit);
        for (const int2 &visit : b.visits)
            visits.push_back(make_int2(visit.x, (int)units + visit.y));
        units += b.lists.size();
    }
    if (units > INT_MAX) return cudaErrorMemoryAllocation;
    panel_visit.push_back((int)visits.size());
    visits.push_back(make_int2(0, (int)units));
    groups->panels = (int)panel_visit.size() - 1;
    CUDA_TRY(cudaMalloc((void **)&groups->d_panel_visit, panel_visit.size() * sizeof(int)));
    CUDA_TRY(cudaMalloc((void **)&groups->d_visit, visits.size() * sizeof(int2)));
    CUDA_TRY(cudaMalloc((void **)&groups->d_lists, std::max<size_t>(units, 1) * sizeof(float4)));
    CUDA_TRY(cudaMemcpy(groups->d_panel_visit, panel_visit.data(), panel_visit.size() * sizeof(int),
                        cudaMemcpyHostToDevice));
    CUDA_TRY(cudaMemcpy(groups->d_visit, visits.data(), visits.size() * sizeof(int2),
                        cudaMemcpyHostToDevice));
    float4 *to = groups->d_lists;
    for (const list_builder &b : builders) {
        CUDA_TRY(
            cudaMemcpy(to, b.lists.data(), b.lists.size() * sizeof *to, cudaMemcpyHostToDevice));
        to += b.lists.size();
    }
    return cudaSuccess;
}

/* Runs of panels, each by a thread of its own, MIN_PANELS at least. */
static void build_all(std::vector<list_builder> &builders, int panels)
{
    const int64_t count = builders.size();
    std::vector<std::thread> threads;
    for (int64_t i = 1; i < count; i++)
        threads.emplace_back(&list_builder::build, &builders[i], (int)(panels * i / count),
                             (int)(panels * (i + 1) / count));
    builders[0].build(0, (int)(panels / count));
    for (std::thread &thread : threads)
        thread.join();
}

/* Lists for groups->shape, or for smaller tiles if a block cannot have so much shared memory. */
static cudaError_t build(const spmm_plan *plan, size_t shared_limit, row_groups *groups)
{
    std::vector<int> order;
    if (plan->d_row_order) {
        order.resize(plan->A.rows);
        CUDA_TRY(cudaMemcpy(order.data(), plan->d_row_order, order.size() * sizeof(int),
                            cudaMemcpyDeviceToHost));
    }
    std::vector<float> values;
    if (!plan->A.host->values) { /* the host has the pattern alone */
        values.resize(plan->A.nnz);
        CUDA_TRY(cudaMemcpy(values.data(), plan->A.d_values, values.size() * sizeof(float),
                            cudaMemcpyDeviceToHost));
    }
    const float *const of_matrix = values.empty() ? plan->A.host->values : values.data();
    for (groups_shape &s = groups->shape;;) {
        const int rows = panel_groups(s) * s.R, panels = (plan->A.rows + rows - 1) / rows;
        const int threads = std::clamp(panels / MIN_PANELS, 1,
                                       std::max(1, (int)std::thread::hardware_concurrency()));
        std::vector<list_builder> builders(threads,
                                           list_builder(s, *plan->A.host, of_matrix, order));
        build_all(builders, panels);
        groups->stage = 0;
        for (const list_builder &b : builders) {
            if (b.out_of_memory) return cudaErrorMemoryAllocation;
            groups->stage = std::max(groups->stage, tile_units(s) + b.longest);
        }
        if (groups_shared_bytes(s, groups->stage) <= shared_limit) return upload(builders, groups);
        /* 32 rows for 4 warps fit into the 48 KB of any device. */
        if (s.tile_rows > 32)
            s.tile_rows /= 2;
        else
            s.warps /= 2, s.ways = 1;
    }
}

cudaError_t groups_prepare(const spmm_plan *plan, const groups_shape *shape, row_groups *groups)
{
    int device, limit;
    cudaError_t error;
    *groups = {.shape = *shape};
    if (!groups_kernel_exists(*shape) || plan->N % 4) groups->shape.C = 8;
    CUDA_TRY(cudaGetDevice(&device));
    CUDA_TRY(cudaDeviceGetAttribute(&limit, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
    try {
        error = build(plan, (size_t)limit, groups);
    } catch (const std::bad_alloc &) {
        error = cudaErrorMemoryAllocation;
    }
    if (error == cudaSuccess) error = groups_allow_shared(&groups->shape, plan->N, limit);
    if (error != cudaSuccess) groups_free(groups);
    return error;
}
