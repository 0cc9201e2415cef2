/*
 * row_windows.cu - from CSR to windows of rows and runs of eight nonzeros, on the GPU or on the host.
 *
 * No window is sorted. Its 16 rows are sorted lists, so a nonzero's place is counted: those before it in its own
 * row, and in each other row those of smaller columns, by halving. Threads share nothing, however long a window is.
 */
#include "formats/row_windows.h"

#include "device/exec_space.cuh"
#include "formats/ascending.h"
#include "formats/column_search.cuh"

#include <limits.h>
#include <stdlib.h>

#include <algorithm>
#include <new>

/* Counts of each window; prefix sums of them say where the window begins. */
enum { COUNT_RUNS, COUNT_REST, COUNT_ITEMS, COUNT_SHARED, COUNT_PARTS, COUNTS };

/* Classes of length by which items are sorted. In a class they keep their order: neighbours share rows of B. */
constexpr int ITEM_CLASSES = 8;

/* The arguments of the steps. All arrays lie in the space that builds. */
struct packing {
    row_windows w;
    const int *row_ptr, *column; /* columns ascend in each row */
    const int *number;           /* of each: its place in CSR; NULL: the same */
    const float *values;
    const int *order, *position; /* of rows, and where each row stands in it; NULL: as they come */
    const int *before;    /* nonzeros before each position, and of all; row_ptr without an order */
    const int *count;     /* [COUNTS][windows], then all: prefix sums of all of them */
    const int *rest_rows; /* of each window, then all: prefix sums */
    uint8_t *rest_key;    /* of each nonzero that is left over: its row in the window */

    __host__ __device__ int first(int which, int window) const
    {
        return count[which * w.windows + window] - count[which * w.windows];
    }
    __host__ __device__ int row_at(int p) const { return order ? order[p] : p; }
    __host__ __device__ int nonzeros(int window) const
    {
        const int end = window + 1 < w.windows ? (window + 1) * WINDOW_ROWS : w.window_rows;
        return before[end] - before[window * WINDOW_ROWS];
    }
    __host__ __device__ int runs_of(int window) const
    {
        return first(COUNT_RUNS, window + 1) - first(COUNT_RUNS, window);
    }
};

/* ---- rows and windows ------------------------------------------------------------------------- */

struct find_short_rows {
    const int *row_ptr;
    int short_row, *key;

    __host__ __device__ void operator()(int64_t row) const
    {
        key[row] = row_ptr[row + 1] - row_ptr[row] < short_row;
    }
};

/* Inverts the order, and takes the lengths of its rows. */
struct place_rows {
    const int *row_ptr, *order;
    int *position, *length;

    __host__ __device__ void operator()(int64_t p) const
    {
        const int row = order[p];
        position[row] = (int)p;
        length[p] = row_ptr[row + 1] - row_ptr[row];
    }
};

struct count_windows {
    packing p;
    int *count;

    __host__ __device__ void operator()(int64_t window) const
    {
        const int n = p.nonzeros((int)window), longest = p.w.shape.longest;
        const int runs = p.w.shape.residual ? n / RUN : (n + RUN - 1) / RUN;
        const int items = runs > longest ? (runs + longest - 1) / longest : 1;
        const int of[COUNTS] = {runs, p.w.shape.residual ? n % RUN : 0, items, items > 1,
                                items > 1 ? items : 0};
        for (int i = 0; i < COUNTS; i++)
            count[i * (int64_t)p.w.windows + window] = of[i];
    }
};

/* ---- nonzeros --------------------------------------------------------------------------------- */

/* Nonzero i: to its place in a run, or in the residual. */
struct place_nonzeros {
    packing p;

    /* How many nonzeros of the window come before i, which is in row `row` at position `at`. */
    __host__ __device__ int rank(int i, int row, int at) const
    {
        const int begin = at / WINDOW_ROWS * WINDOW_ROWS, column = p.column[i];
        const int end =
            begin + WINDOW_ROWS < p.w.window_rows ? begin + WINDOW_ROWS : p.w.window_rows;
        int before = i - p.row_ptr[row];
        for (int q = begin; q < end; q++) {
            if (q == at) continue;
            const int other = p.row_at(q), from = p.row_ptr[other];
            /* Places rows of one column from above. */
            before +=
                first_from_column(p.column, from, p.row_ptr[other + 1], column + (q < at)) - from;
        }
        return before;
    }

    __host__ __device__ void put(int64_t to, int i, uint32_t key) const
    {
        p.w.d_key[to] = key;
        p.w.d_source[to] = p.number ? p.number[i] : i;
        p.w.d_value[to] = p.values[p.w.d_source[to]];
    }

    __host__ __device__ void put_rest(int to, int i) const
    {
        const int64_t source = (int64_t)p.w.runs * RUN + to;
        p.w.d_rest_column[to] = p.column[i];
        p.w.d_source[source] = p.number ? p.number[i] : i;
        p.w.d_rest_value[to] = p.values[p.w.d_source[source]];
    }

    __host__ __device__ void operator()(int64_t k) const
    {
        const int i = (int)k;
        const int row = first_from_column(p.row_ptr, 0, p.w.rows + 1, i + 1) - 1;
        const int at = p.position ? p.position[row] : row;
        if (at >= p.w.window_rows) { /* a short row: behind what windows have left over */
            const int windows_rest = p.first(COUNT_REST, p.w.windows);
            put_rest(windows_rest + p.before[at] - p.before[p.w.window_rows] + i - p.row_ptr[row],
                     i);
            return;
        }
        const int window = at / WINDOW_ROWS, runs = p.runs_of(window), place = rank(i, row, at);
        const int64_t first = (int64_t)p.first(COUNT_RUNS, window) * RUN;
        const uint32_t key = (uint32_t)p.column[i] * WINDOW_ROWS + at % WINDOW_ROWS;
        if (place < runs * RUN) {
            put(first + place, i, key);
            if (place == p.nonzeros(window) - 1) /* the last one: fills up its run */
                for (int to = place + 1; to < runs * RUN; to++)
                    p.w.d_key[first + to] = key;
        } else {
            const int to = p.first(COUNT_REST, window) + place - runs * RUN;
            put_rest(to, i);
            p.rest_key[to] = at % WINDOW_ROWS;
        }
    }
};

/* ---- the residual ------------------------------------------------------------------------------ */

/* Sorts what a window has left over by row: seven at most. Of a row they stay sorted by column. */
struct sort_rest {
    packing p;
    int *rest_rows;

    __host__ __device__ void operator()(int64_t window) const
    {
        const int begin = p.first(COUNT_REST, (int)window);
        const int end = p.first(COUNT_REST, (int)window + 1);
        int *const source = &p.w.d_source[(int64_t)p.w.runs * RUN];
        int rows = 0;
        for (int i = begin; i < end; i++) {
            const uint8_t key = p.rest_key[i];
            const int column = p.w.d_rest_column[i], from = source[i];
            const float value = p.w.d_rest_value[i];
            int to = i;
            for (; to > begin && p.rest_key[to - 1] > key; to--) {
                p.rest_key[to] = p.rest_key[to - 1];
                p.w.d_rest_column[to] = p.w.d_rest_column[to - 1];
                p.w.d_rest_value[to] = p.w.d_rest_value[to - 1];
                source[to] = source[to - 1];
            }
            p.rest_key[to] = key;
            p.w.d_rest_column[to] = column;
            p.w.d_rest_value[to] = value;
            source[to] = from;
        }
        for (int i = begin; i < end; i++)
            rows += i == begin || p.rest_key[i] != p.rest_key[i - 1];
        rest_rows[window] = rows;
    }
};

struct list_rest_rows {
    packing p;

    __host__ __device__ void operator()(int64_t window) const
    {
        const int begin = p.first(COUNT_REST, (int)window);
        const int end = p.first(COUNT_REST, (int)window + 1);
        int to = p.rest_rows[window];
        for (int i = begin; i < end; i++)
            if (i == begin || p.rest_key[i] != p.rest_key[i - 1]) {
                p.w.d_rest_row[to] =
                    p.row_at((int)window * WINDOW_ROWS + p.rest_key[i]) | RESIDUAL_ADDS;
                p.w.d_rest_start[to++] = i;
            }
    }
};

/* Short row i, or the end of the last one. */
struct list_short_rows {
    packing p;

    __host__ __device__ void operator()(int64_t i) const
    {
        const int at = p.w.window_rows + (int)i, to = p.rest_rows[p.w.windows] + (int)i;
        if (at < p.w.rows) p.w.d_rest_row[to] = p.row_at(at);
        p.w.d_rest_start[to] =
            p.first(COUNT_REST, p.w.windows) + p.before[at] - p.before[p.w.window_rows];
    }
};

/* ---- items ------------------------------------------------------------------------------------- */

struct cut_windows {
    packing p;
    window_item *item; /* in the windows' order */
    int *key;

    __host__ __device__ void operator()(int64_t window) const
    {
        const int longest = p.w.shape.longest, runs = p.runs_of((int)window);
        const int first = p.first(COUNT_RUNS, (int)window);
        const int begin = p.first(COUNT_ITEMS, (int)window);
        const int items = p.first(COUNT_ITEMS, (int)window + 1) - begin;
        const int shared = p.first(COUNT_SHARED, (int)window);
        if (items > 1)
            p.w.d_shared[shared] = {(int)window, first, items, p.first(COUNT_PARTS, (int)window)};
        for (int i = 0; i < items; i++) {
            const int own = runs - i * longest < longest ? runs - i * longest : longest;
            item[begin + i] = {(int)window, first + i * longest, own, items > 1 ? shared : -1};
            key[begin + i] = (longest - own) * ITEM_CLASSES / (longest + 1);
        }
    }
};

struct order_items {
    const window_item *item;
    const int *order;
    window_item *to;

    __host__ __device__ void operator()(int64_t i) const { to[i] = item[order[i]]; }
};

/* ---- the steps --------------------------------------------------------------------------------- */

/* Arrays that are needed while a format is built. */
struct scratch {
    int *row_ptr, *column, *number, *order, *position, *before, *count, *rest_rows, *key,
        *item_order;
    float *values;
    window_item *item;
    uint8_t *rest_key;
};

/* Sorts the columns of each row on the host, as nonzeros_sort_columns does on the device. */
static cudaError_t sort_columns_on_host(const device_csr *A, scratch *s)
{
    CUDA_TRY(allocate(ON_HOST, &s->number, A->nnz));
    CUDA_TRY(space_identity(ON_HOST, s->number, A->nnz));
    try {
        for (int row = 0; row < A->rows; row++)
            std::stable_sort(
                s->number + s->row_ptr[row], s->number + s->row_ptr[row + 1],
                [A](int a, int b) { return A->host->col_idx[a] < A->host->col_idx[b]; });
    } catch (const std::bad_alloc &) {
        return cudaErrorMemoryAllocation;
    }
    for (int i = 0; i < A->nnz; i++)
        s->column[i] = A->host->col_idx[s->number[i]];
    return cudaSuccess;
}

/* Brings A to the space that builds. */
static cudaError_t fetch_matrix(const device_csr *A, exec_space where, scratch *s, packing *p)
{
    p->row_ptr = A->d_row_ptr;
    p->column = A->d_col_idx;
    p->values = A->d_values;
    if (where == ON_DEVICE) {
        CUDA_TRY(nonzeros_sort_columns(A, &s->number, &s->column));
        if (s->column) p->column = s->column;
    } else {
        CUDA_TRY(allocate(where, &s->row_ptr, A->rows + 1));
        CUDA_TRY(allocate(where, &s->column, A->nnz));
        CUDA_TRY(allocate(where, &s->values, A->nnz));
        CUDA_TRY(space_fetch(ON_DEVICE, s->row_ptr, A->d_row_ptr, (A->rows + 1) * sizeof(int)));
        CUDA_TRY(space_fetch(ON_DEVICE, s->values, A->d_values, A->nnz * sizeof(float)));
        CUDA_TRY(sort_columns_on_host(A, s));
        p->row_ptr = s->row_ptr;
        p->column = s->column;
        p->values = s->values;
    }
    p->number = s->number;
    return cudaSuccess;
}

/* Puts short rows behind the others; *own says where rows are, if not as they come. */
static cudaError_t order_rows(const device_csr *A, const int *d_row_order, scratch *s, packing *p)
{
    const exec_space where = p->w.shape.where;
    const int rows = A->rows, short_row = p->w.shape.short_row;
    p->before = p->row_ptr;
    p->w.window_rows = rows;
    if (!d_row_order && short_row == 0) return cudaSuccess;
    CUDA_TRY(allocate(where, &s->order, rows));
    CUDA_TRY(allocate(where, &s->position, rows));
    CUDA_TRY(allocate(where, &s->before, rows + 1));
    if (d_row_order && where == ON_HOST)
        CUDA_TRY(space_fetch(ON_DEVICE, s->order, d_row_order, rows * sizeof(int)));
    else if (d_row_order)
        CUDA_TRY(cudaMemcpy(s->order, d_row_order, rows * sizeof(int), cudaMemcpyDeviceToDevice));
    else
        CUDA_TRY(space_identity(where, s->order, rows));
    if (short_row > 0) {
        const find_short_rows is_short = {p->row_ptr, short_row, s->position};
        CUDA_TRY(parallel_for(where, rows, is_short));
        CUDA_TRY(space_argsort(where, s->position, 1, s->order, rows));
        for (int64_t row = 0; row < rows; row++)
            p->w.window_rows -= A->host->row_ptr[row + 1] - A->host->row_ptr[row] < short_row;
    }
    CUDA_TRY(parallel_for(where, rows, place_rows{p->row_ptr, s->order, s->position, s->before}));
    CUDA_TRY(space_exclusive_scan(where, s->before, rows + 1));
    p->order = s->order;
    p->position = s->position;
    p->before = s->before;
    return cudaSuccess;
}

/* Counts runs, items and what is left over; leaves where each window's begin. */
static cudaError_t measure(scratch *s, packing *p)
{
    const exec_space where = p->w.shape.where;
    row_windows *const w = &p->w;
    w->windows = (w->window_rows + WINDOW_ROWS - 1) / WINDOW_ROWS;
    const int64_t counts = (int64_t)COUNTS * w->windows + 1;
    if (counts > INT_MAX) return cudaErrorNotSupported;
    CUDA_TRY(allocate(where, &s->count, counts));
    CUDA_TRY(parallel_for(where, w->windows, count_windows{*p, s->count}));
    CUDA_TRY(space_exclusive_scan(where, s->count, (int)counts));
    p->count = s->count;
    int total[COUNTS + 1];
    for (int i = 0; i <= COUNTS; i++)
        CUDA_TRY(space_fetch(where, &total[i], &s->count[(int64_t)i * w->windows], sizeof(int)));
    w->runs = total[COUNT_RUNS + 1] - total[COUNT_RUNS];
    w->items = total[COUNT_ITEMS + 1] - total[COUNT_ITEMS];
    w->shared = total[COUNT_SHARED + 1] - total[COUNT_SHARED];
    w->parts = total[COUNT_PARTS + 1] - total[COUNT_PARTS];
    w->rest = total[COUNT_REST + 1] - total[COUNT_REST];
    if (w->window_rows == w->rows) return cudaSuccess;
    int ends[2]; /* the nonzeros of windows, and of all */
    CUDA_TRY(space_fetch(where, &ends[0], &p->before[w->window_rows], sizeof(int)));
    CUDA_TRY(space_fetch(where, &ends[1], &p->before[w->rows], sizeof(int)));
    w->rest += ends[1] - ends[0];
    return cudaSuccess;
}

static cudaError_t list_rest(scratch *s, packing *p)
{
    const exec_space where = p->w.shape.where;
    row_windows *const w = &p->w;
    int rows = 0;
    CUDA_TRY(allocate(where, &s->rest_rows, w->windows + 1));
    p->rest_rows = s->rest_rows;
    if (w->shape.residual) {
        CUDA_TRY(parallel_for(where, w->windows, sort_rest{*p, s->rest_rows}));
        CUDA_TRY(space_exclusive_scan(where, s->rest_rows, w->windows + 1));
        CUDA_TRY(space_fetch(where, &rows, &s->rest_rows[w->windows], sizeof rows));
    }
    w->rest_rows = rows + w->rows - w->window_rows;
    CUDA_TRY(allocate(where, &w->d_rest_row, w->rest_rows));
    CUDA_TRY(allocate(where, &w->d_rest_start, w->rest_rows + 1));
    if (w->shape.residual) CUDA_TRY(parallel_for(where, w->windows, list_rest_rows{*p}));
    return parallel_for(where, (int64_t)w->rows - w->window_rows + 1, list_short_rows{*p});
}

static cudaError_t list_items(scratch *s, packing *p)
{
    const exec_space where = p->w.shape.where;
    row_windows *const w = &p->w;
    CUDA_TRY(allocate(where, &s->item, w->items));
    CUDA_TRY(allocate(where, &s->key, w->items));
    CUDA_TRY(allocate(where, &s->item_order, w->items));
    CUDA_TRY(allocate(where, &w->d_item, w->items));
    CUDA_TRY(allocate(where, &w->d_shared, w->shared));
    CUDA_TRY(parallel_for(where, w->windows, cut_windows{*p, s->item, s->key}));
    CUDA_TRY(space_identity(where, s->item_order, w->items));
    CUDA_TRY(space_argsort(where, s->key, ITEM_CLASSES - 1, s->item_order, w->items));
    return parallel_for(where, w->items, order_items{s->item, s->item_order, w->d_item});
}

/* Moves a format that the host has built to the device. */
static cudaError_t publish(row_windows *w)
{
    const size_t rest = w->rest, slots = (size_t)w->runs * RUN;
    const array_ref arrays[] = {
        {(void **)&w->d_value, slots * sizeof(float)},
        {(void **)&w->d_key, slots * sizeof(uint32_t)},
        {(void **)&w->d_item, w->items * sizeof(window_item)},
        {(void **)&w->d_shared, w->shared * sizeof(shared_window)},
        {(void **)&w->d_rest_row, w->rest_rows * sizeof(int)},
        {(void **)&w->d_rest_start, (w->rest_rows + (size_t)1) * sizeof(int)},
        {(void **)&w->d_rest_column, rest * sizeof(int)},
        {(void **)&w->d_rest_value, rest * sizeof(float)},
        {(void **)&w->d_source, (slots + rest) * sizeof(int)},
        {(void **)&w->d_row, w->window_rows * sizeof(int)}, /* last: there may be none */
    };
    const int count = sizeof arrays / sizeof *arrays;
    return space_publish(&w->shape.where, arrays, w->d_row ? count : count - 1);
}

static cudaError_t build(const device_csr *A, const int *d_row_order, scratch *s, packing *p)
{
    const exec_space where = p->w.shape.where;
    row_windows *const w = &p->w;
    CUDA_TRY(fetch_matrix(A, where, s, p));
    CUDA_TRY(order_rows(A, d_row_order, s, p));
    CUDA_TRY(measure(s, p));
    const int64_t slots = (int64_t)w->runs * RUN;
    CUDA_TRY(allocate(where, &w->d_value, slots));
    CUDA_TRY(allocate(where, &w->d_key, slots));
    CUDA_TRY(allocate(where, &w->d_rest_column, w->rest));
    CUDA_TRY(allocate(where, &w->d_rest_value, w->rest));
    CUDA_TRY(allocate(where, &w->d_source, slots + w->rest, 0xff));
    CUDA_TRY(allocate(where, &s->rest_key, w->rest));
    p->rest_key = s->rest_key;
    CUDA_TRY(parallel_for(where, w->nnz, place_nonzeros{*p}));
    CUDA_TRY(list_rest(s, p));
    CUDA_TRY(list_items(s, p));
    w->d_row = s->order; /* which is the format's now */
    s->order = NULL;
    CUDA_TRY(publish(w));
    return cudaDeviceSynchronize();
}

/* ---- the interface ------------------------------------------------------------------------------ */

static void free_arrays(row_windows *w)
{
    void *const arrays[] = {w->d_value,      w->d_key,      w->d_item,       w->d_shared,
                            w->d_row,        w->d_rest_row, w->d_rest_start, w->d_rest_column,
                            w->d_rest_value, w->d_source};
    for (void *array : arrays)
        space_free(w->shape.where, array);
}

cudaError_t row_windows_build(const device_csr *A, const int *d_row_order,
                              const row_windows_shape *shape, row_windows **windows)
{
    const exec_space where = shape->where;
    *windows = NULL;
    if (A->cols > MAX_WINDOW_COLUMNS) return cudaErrorNotSupported;
    row_windows *const result = (row_windows *)calloc(1, sizeof *result);
    if (!result) return cudaErrorMemoryAllocation;
    scratch s = {};
    packing p = {};
    p.w.shape = *shape;
    p.w.rows = A->rows;
    p.w.nnz = A->nnz;
    const cudaError_t error = build(A, d_row_order, &s, &p);
    void *const arrays[] = {s.row_ptr, s.column, s.number,    s.order, s.position,
                            s.before,  s.count,  s.rest_rows, s.key,   s.item_order,
                            s.values,  s.item,   s.rest_key};
    for (void *array : arrays)
        space_free(where, array);
    if (error == cudaSuccess) {
        *result = p.w;
        *windows = result;
    } else {
        free_arrays(&p.w);
        free(result);
    }
    return error;
}

struct copy_values {
    const int *source;
    const float *values;
    int64_t slots; /* of runs; the residual's follow */
    float *value, *rest_value;

    __device__ void operator()(int64_t i) const
    {
        float *const to = i < slots ? &value[i] : &rest_value[i - slots];
        if (source[i] >= 0) *to = values[source[i]];
    }
};

cudaError_t row_windows_update_values(const device_csr *A, row_windows *w)
{
    const int64_t slots = (int64_t)w->runs * RUN;
    return device_parallel_for(
        slots + w->rest, copy_values{w->d_source, A->d_values, slots, w->d_value, w->d_rest_value},
        0);
}

/* The residual: a number and an end for each row, a column and a value for each nonzero. */
static size_t rest_bytes(const row_windows *w)
{
    return (2 * (size_t)w->rest_rows + 1) * sizeof(int) +
           (size_t)w->rest * (sizeof(int) + sizeof(float));
}

size_t row_windows_bytes(const row_windows *w)
{
    return (size_t)w->runs * RUN * (sizeof(float) + sizeof(uint32_t)) +
           w->items * sizeof(window_item) + w->shared * sizeof(shared_window) +
           (w->rest_rows > 0 ? rest_bytes(w) : 0) + (w->d_row ? w->window_rows * sizeof(int) : 0);
}

size_t row_windows_published_bytes(const row_windows *w)
{
    return (size_t)w->runs * RUN * (sizeof(float) + 2 * sizeof(int)) +
           ((size_t)w->windows + 1) * sizeof(int) + rest_bytes(w);
}

void row_windows_free(row_windows *w)
{
    if (!w) return;
    free_arrays(w);
    free(w);
}
