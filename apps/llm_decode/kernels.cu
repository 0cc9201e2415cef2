#include "kernels.h"

#include "device/cluster.cuh"
#include "device/cuda_try.h"
#include "device/facts.h"
#include "device/half.cuh"
#include "device/last_block.cuh"
#include "device/pdl.cuh"
#include "device/vec.cuh"

/* ---- launching --------------------------------------------------------------------------------- */

/* Arguments of a kernel beside those of the pass. */
template <class A> struct arguments {
    pass_columns pass;
    A own;
};

/* Whether the kernel of these arguments waits where it says so: asked once (device/pdl.cuh). */
template <class A> static bool waits(void (*kernel)(arguments<A>))
{
    static const bool does = [=] {
        bool is = false;
        return compiled_for_90(kernel, &is) == cudaSuccess && is;
    }();
    return does;
}

template <class A>
static cudaError_t launch(void (*kernel)(arguments<A>), dim3 grid, unsigned threads, size_t shared,
                          const pass_columns *p, const A *own)
{
    const arguments<A> all = {*p, *own};
    return launch_with_pdl(kernel, grid, threads, shared, p->stream, all,
                           p->early && waits(kernel));
}

__device__ static __half *place(const strided &x, int feature, int column)
{
    return (__half *)x.data + feature * x.feature + column * x.column;
}

__device__ static float number(const void *array, size_t i)
{
    return widen(((const __half *)array)[i]);
}

/* ---- embedding --------------------------------------------------------------------------------- */

constexpr int EMBED_THREADS = 256;

/* A block a column. A token of the prompt is known; any other was chosen behind the position before it. */
static __global__ void __launch_bounds__(EMBED_THREADS)
    decode_embed_kernel(const __grid_constant__ arguments<embed_args> a)
{
    const pass_columns &p = a.pass;
    const int column = blockIdx.x, sequence = column / p.tokens;
    pdl_launch_dependents();
    const int at = *p.t + column % p.tokens;
    const int token = at < p.prompt_length ? p.prompt[(size_t)sequence * p.prompt_length + at]
                                           : p.chosen[(size_t)sequence * p.capacity + at - 1];
    for (int f = threadIdx.x; f < a.own.hidden; f += EMBED_THREADS)
        *place(a.own.x, f, column) =
            narrow<__half>(number(a.own.embedding, (size_t)token * a.own.hidden + f) +
                           number(a.own.position, (size_t)at * a.own.hidden + f));
}

/* A step's first kernel waits for all before it. So what earlier steps wrote, *t among it, may be read by every kernel of
 * the step before it waits. */
cudaError_t run_embed(const pass_columns *p, const embed_args *a)
{
    const arguments<embed_args> all = {*p, *a};
    decode_embed_kernel<<<columns_of(p), EMBED_THREADS, 0, p->stream>>>(all);
    return cudaGetLastError();
}

/* ---- norm -------------------------------------------------------------------------------------- */

/* Features x columns: a vector is NORM_COLUMNS neighbouring columns of one feature, and the blocks of a cluster share the
 * features. Columns x features: it is 16 bytes of a column, and a column is small enough for one block. */
constexpr int NORM_COLUMNS = 4, NORM_CLUSTER = 8, NORM_THREADS = 1024;

struct norm_work {
    norm_args args;
    int parts; /* blocks that share their columns' features, each equally many */
};

/* Replaces SUMS numbers by their sums over all threads of a block, the same bits in each of them. */
template <int SUMS> static __device__ void block_sums(float (&x)[SUMS], float *of_warp)
{
    for (float &sum : x)
        sum = warp_sum(sum);
    if (lane_id() == 0) store_vector(of_warp + warp_id() * SUMS, x);
    __syncthreads();
    for (float &sum : x)
        sum = 0;
    for (int w = 0; w < (int)blockDim.x / WARP_SIZE; w++) {
        float more[SUMS];
        load_vector_plain(more, of_warp + w * SUMS);
        for (int s = 0; s < SUMS; s++)
            x[s] += more[s];
    }
}

/* Each block of `parts` sums up its features of its columns, and the squares around its own mean. The blocks tell each
 * other both, and the squares around the mean of all follow: of `count` numbers around another centre, at distance d, they
 * are count d^2 more. A thread keeps its vectors in registers; so x is loaded once, and all loads are under way together. */
template <int V, bool BY_COLUMN, int PER_THREAD>
static __global__ void __launch_bounds__(NORM_THREADS)
    decode_norm_kernel(const __grid_constant__ arguments<norm_work> a)
{
    constexpr int SUMS = BY_COLUMN ? 1 : V, FEATURES = BY_COLUMN ? V : 1; /* of a vector */
    extern __shared__ __align__(16) float shared[];
    const norm_args &own = a.own.args;
    const int parts = a.own.parts, part = cluster_rank(), each = own.hidden / parts;
    const int column = blockIdx.x / parts * SUMS, end = part * each + each;
    const int first = part * each + threadIdx.x * FEATURES, step = blockDim.x * FEATURES;
    const bool adds = own.update.data != NULL;
    float *const of_warp = shared, *const squares_of_warp = of_warp + blockDim.x / WARP_SIZE * SUMS;
    float *const of_part = squares_of_warp + blockDim.x / WARP_SIZE * SUMS; /* [parts][2][SUMS] */
    __half bias[PER_THREAD][FEATURES] = {}, gain[PER_THREAD][FEATURES] = {};
    __half shift[PER_THREAD][FEATURES] = {}, x[PER_THREAD][V] = {}, update[PER_THREAD][V];
    pdl_launch_dependents();
#pragma unroll
    for (int i = 0; i < PER_THREAD; i++) {
        const int f = first + i * step;
        if (f >= end) continue;
        if (adds) load_vector(bias[i], (const __half *)own.bias + f);
        load_vector(gain[i], (const __half *)own.gain + f);
        load_vector(shift[i], (const __half *)own.shift + f);
    }
    cluster_sync(); /* all blocks have begun: their memory may be written */
    pdl_wait();
#pragma unroll
    for (int i = 0; i < PER_THREAD; i++) {
        const int f = first + i * step;
        if (f >= end) continue;
        load_vector_l2(x[i], place(own.x, f, column));
        if (adds) load_vector_l2(update[i], place(own.update, f, column));
    }
    float sum[SUMS] = {}, squares[SUMS] = {}, here[SUMS], mean[SUMS], scale[SUMS];
#pragma unroll
    for (int i = 0; i < PER_THREAD; i++) {
        if (first + i * step >= end) continue;
        for (int v = 0; v < V; v++) {
            if (adds)
                x[i][v] = narrow<__half>(widen(x[i][v]) + widen(update[i][v]) +
                                         widen(bias[i][v % FEATURES]));
            sum[v % SUMS] += widen(x[i][v]);
        }
        if (adds) store_vector(place(own.x, first + i * step, column), x[i]);
    }
    block_sums(sum, of_warp);
    for (int s = 0; s < SUMS; s++)
        here[s] = sum[s] / each;
#pragma unroll
    for (int i = 0; i < PER_THREAD; i++)
        for (int v = 0; v < V && first + i * step < end; v++) {
            const float off = widen(x[i][v]) - here[v % SUMS];
            squares[v % SUMS] += off * off;
        }
    block_sums(squares, squares_of_warp);
    if ((int)threadIdx.x < parts) {
        float *const there = cluster_shared(of_part + part * 2 * SUMS, threadIdx.x);
        store_vector(there, sum);
        store_vector(there + SUMS, squares);
    }
    cluster_sync();
    for (int s = 0; s < SUMS; s++) {
        sum[s] = squares[s] = 0;
        for (int p = 0; p < parts; p++)
            sum[s] += of_part[p * 2 * SUMS + s];
        mean[s] = sum[s] / own.hidden;
        for (int p = 0; p < parts; p++) {
            const float off = of_part[p * 2 * SUMS + s] / each - mean[s];
            squares[s] += of_part[(p * 2 + 1) * SUMS + s] + each * off * off;
        }
        scale[s] = 1 / sqrtf(squares[s] / own.hidden + NORM_EPSILON);
    }
#pragma unroll
    for (int i = 0; i < PER_THREAD; i++) {
        if (first + i * step >= end) continue;
        for (int v = 0; v < V; v++)
            x[i][v] = narrow<__half>((widen(x[i][v]) - mean[v % SUMS]) * scale[v % SUMS] *
                                         widen(gain[i][v % FEATURES]) +
                                     widen(shift[i][v % FEATURES]));
        store_vector(place(own.y, first + i * step, column), x[i]);
    }
}

/* Launches it for at most PER_THREAD vectors a thread. */
template <int V, bool BY_COLUMN, int PER_THREAD>
static cudaError_t launch_norm(const pass_columns *p, const norm_args *a, int parts)
{
    constexpr int SUMS = BY_COLUMN ? 1 : V;
    const norm_work work = {*a, parts};
    const int vectors = a->hidden / parts / (BY_COLUMN ? V : 1);
    const unsigned warps = (unsigned)((vectors - 1) / (PER_THREAD * WARP_SIZE) + 1);
    const unsigned blocks = (unsigned)(columns_of(p) / SUMS * parts);
    const size_t shared = (2 * warps + 2 * parts) * SUMS * sizeof(float);
    const auto kernel = decode_norm_kernel<V, BY_COLUMN, PER_THREAD>;
    if (parts == 1) return launch(kernel, blocks, warps * WARP_SIZE, shared, p, &work);
    return launch_in_clusters(kernel, blocks, warps * WARP_SIZE, shared, p->stream, parts,
                              arguments<norm_work>{*p, work}, p->early);
}

/* Where there are no clusters, a block has all features of its columns. */
template <int V> static cudaError_t launch_norm_of_rows(const pass_columns *p, const norm_args *a)
{
    constexpr int CLUSTERED = 4, ALONE = NORM_MOST_HIDDEN / NORM_THREADS;
    const bool clusters = device_facts_get()->compute_capability >= 90 &&
                          waits(decode_norm_kernel<V, false, CLUSTERED>);
    return clusters ? launch_norm<V, false, CLUSTERED>(p, a, NORM_CLUSTER)
                    : launch_norm<V, false, ALONE>(p, a, 1);
}

cudaError_t run_norm(const pass_columns *p, const norm_args *a)
{
    constexpr int V = 16 / sizeof(__half);
    if (a->x.feature == 1) return launch_norm<V, true, 2>(p, a, 1);
    const int columns = columns_of(p);
    if (columns % NORM_COLUMNS == 0) return launch_norm_of_rows<NORM_COLUMNS>(p, a);
    return columns % 2 == 0 ? launch_norm_of_rows<2>(p, a) : launch_norm_of_rows<1>(p, a);
}

/* ---- bias and ReLU ----------------------------------------------------------------------------- */

constexpr int RELU_THREADS = 256;

/* A thread an element, in the order of memory: a column's features side by side, or a feature's columns. */
static __global__ void __launch_bounds__(RELU_THREADS)
    decode_relu_kernel(const __grid_constant__ arguments<relu_args> a)
{
    const int columns = a.pass.sequences * a.pass.tokens, features = a.own.features;
    const int64_t i = (int64_t)blockIdx.x * RELU_THREADS + threadIdx.x;
    pdl_launch_dependents();
    pdl_wait();
    if (i >= (int64_t)columns * features) return;
    const bool by_column = a.own.y.feature == 1;
    const int f = (int)(by_column ? i % features : i / columns);
    const int c = (int)(by_column ? i / features : i % columns);
    __half *const y = place(a.own.y, f, c);
    const float sum = widen(*y) + a.own.bias[f];
    *y = narrow<__half>(sum < 0 ? 0 : sum); /* fmaxf would turn NaN into 0 */
}

cudaError_t run_bias_relu(const pass_columns *p, const relu_args *a)
{
    const size_t count = (size_t)columns_of(p) * a->features;
    return launch(decode_relu_kernel, (unsigned)((count - 1) / RELU_THREADS + 1), RELU_THREADS, 0,
                  p, a);
}

/* ---- attention --------------------------------------------------------------------------------- */

/* Half a warp has a position, and eight features of it each lane: 16 bytes. It takes BATCH positions at once, so that
 * a lane waits for 2 BATCH loads together. The first ones that the cache has are loaded before the product has ended. */
constexpr int SIDE = 16, PER_LANE = HEAD_WIDTH / SIDE, BATCH = 4;
constexpr int SIDES = 8, ATTENTION_THREADS = SIDES * SIDE; /* a thread a feature in the end */
static_assert(ATTENTION_THREADS == HEAD_WIDTH);
constexpr int PARTIAL = HEAD_WIDTH + 2; /* the largest score, the sum of exponentials, 128 sums */

/* Scores so far, and the sums of V that they weigh: of one lane, eight features. */
struct softmax_sums {
    float most, total, v[PER_LANE];
};

/* One head of one column. */
struct head_of_column {
    const arguments<attention_args> &a;
    int head, column, sequence;
    int before, position; /* tokens in the cache; the column's own place */

    __device__ head_of_column(const arguments<attention_args> &a, int head, int column)
        : a(a), head(head), column(column), sequence(column / a.pass.tokens),
          before(__ldcg(a.pass.t)), position(before + column % a.pass.tokens)
    {
    }
    __device__ size_t in_cache(int at) const
    {
        const size_t of_head = (size_t)sequence * a.own.heads + head;
        return (of_head * a.pass.capacity + at) * HEAD_WIDTH;
    }
    /* Number f of the head's q (0), k (1) or v (2) of a column of this pass. */
    __device__ float fresh(int which, int f, int of_column) const
    {
        const int feature = (which * a.own.heads + head) * HEAD_WIDTH + f;
        return widen(*place(a.own.qkv, feature, of_column)) + number(a.own.bias, feature);
    }
};

/* BATCH positions, from `first` on: eight features of K and V each. */
struct position_batch {
    int first;
    __half k[BATCH][PER_LANE], v[BATCH][PER_LANE];

    /* Loads what the cache has of them. */
    __device__ void load_cached(const head_of_column &h, int from, int f)
    {
        first = from;
#pragma unroll
        for (int i = 0; i < BATCH; i++) {
            if (first + i >= h.before) continue;
            const size_t at = h.in_cache(first + i) + f;
            load_vector_plain(k[i], (const __half *)h.a.own.K + at);
            load_vector_plain(v[i], (const __half *)h.a.own.V + at);
        }
    }
    /* Loads the rest from this pass, as the cache will have it afterwards. */
    __device__ void load_fresh(const head_of_column &h, int f)
    {
#pragma unroll
        for (int i = 0; i < BATCH; i++) {
            const int ahead = first + i - h.before; /* place among the columns of the sequence */
            if (ahead < 0 || first + i > h.position) continue;
            for (int j = 0; j < PER_LANE; j++) {
                const int column = h.sequence * h.a.pass.tokens + ahead;
                k[i][j] = narrow<__half>(h.fresh(1, f + j, column));
                v[i][j] = narrow<__half>(h.fresh(2, f + j, column));
            }
        }
    }
};

/* Takes up to BATCH positions. */
static __device__ void take_positions(const head_of_column &h, const float (&q)[PER_LANE],
                                      const position_batch &b, softmax_sums &s)
{
    float score[BATCH], most = s.most;
#pragma unroll
    for (int i = 0; i < BATCH; i++) {
        score[i] = -INFINITY;
        if (b.first + i > h.position) continue; /* the same in all lanes of the side */
        float sum = 0;
        for (int j = 0; j < PER_LANE; j++)
            sum += q[j] * widen(b.k[i][j]);
        score[i] = subwarp_sum<SIDE>(sum);
        most = fmaxf(most, score[i]);
    }
    const float keep = expf(s.most - most); /* of -infinity: 0 */
    s.total *= keep;
    for (int j = 0; j < PER_LANE; j++)
        s.v[j] *= keep;
    s.most = most;
#pragma unroll
    for (int i = 0; i < BATCH; i++) {
        if (b.first + i > h.position) continue;
        const float weight = expf(score[i] - most);
        s.total += weight;
        for (int j = 0; j < PER_LANE; j++)
            s.v[j] += weight * widen(b.v[i][j]);
    }
}

/* Merges `count` partial results; thread f has feature f. load(i, j): number j of result i. */
template <class F>
static __device__ void merge(int count, const F &load, int f, float &most, float &total, float &sum)
{
    most = -INFINITY, total = 0, sum = 0;
    for (int i = 0; i < count; i++)
        most = fmaxf(most, load(i, 0));
    for (int i = 0; i < count; i++) {
        /* who had no position has a weight of 0, even if nobody had one */
        const float weight = load(i, 1) > 0 ? expf(load(i, 0) - most) : 0;
        total += weight * load(i, 1);
        sum += weight * load(i, 2 + f);
    }
}

/* Grid (heads, columns, splits). */
static __global__ void __launch_bounds__(ATTENTION_THREADS)
    decode_attention_kernel(const __grid_constant__ arguments<attention_args> a)
{
    __shared__ float of_side[SIDES][PARTIAL];
    const int side = threadIdx.x / SIDE, f = threadIdx.x % SIDE * PER_LANE;
    const int head = blockIdx.x, column = blockIdx.y, split = blockIdx.z, splits = a.own.splits;
    pdl_launch_dependents();
    const head_of_column h(a, head, column);
    const int first = (split * SIDES + side) * BATCH, step = splits * SIDES * BATCH;
    position_batch b;
    b.load_cached(h, first, f);
    pdl_wait();
    constexpr float SCALE = 0.08838834764831845f; /* 1 / sqrt(128) */
    float q[PER_LANE];
    for (int j = 0; j < PER_LANE; j++)
        q[j] = h.fresh(0, f + j, column) * SCALE;
    if (split == 0) { /* nobody reads them in this pass: see load_fresh */
        const size_t own = h.in_cache(h.position) + threadIdx.x;
        ((__half *)a.own.K)[own] = narrow<__half>(h.fresh(1, threadIdx.x, column));
        ((__half *)a.own.V)[own] = narrow<__half>(h.fresh(2, threadIdx.x, column));
    }
    softmax_sums s = {-INFINITY, 0, {}};
    while (b.first <= h.position) {
        if (b.first + BATCH > h.before) b.load_fresh(h, f);
        take_positions(h, q, b, s);
        b.load_cached(h, b.first + step, f);
    }

    for (int j = 0; j < PER_LANE; j++)
        of_side[side][2 + f + j] = s.v[j];
    if (f == 0) {
        of_side[side][0] = s.most;
        of_side[side][1] = s.total;
    }
    __syncthreads();
    float most, total, sum;
    const int feature = threadIdx.x;
    merge(
        SIDES, [&](int i, int j) { return of_side[i][j]; }, feature, most, total, sum);
    if (splits > 1) {
        const size_t of_head = (size_t)column * a.own.heads + head;
        float *const all = a.own.partial + of_head * splits * PARTIAL;
        float *const mine = all + split * PARTIAL;
        mine[2 + feature] = sum;
        if (feature == 0) {
            mine[0] = most;
            mine[1] = total;
        }
        if (!comes_last(&a.own.arrived[of_head], splits)) return;
        /* from L2, where the other blocks' numbers are */
        merge(
            splits, [&](int i, int j) { return __ldcg(&all[i * PARTIAL + j]); }, feature, most,
            total, sum);
    }
    *place(a.own.out, head * HEAD_WIDTH + feature, column) = narrow<__half>(sum / total);
}

cudaError_t run_attention(const pass_columns *p, const attention_args *a)
{
    return launch(decode_attention_kernel, dim3(a->heads, columns_of(p), a->splits),
                  ATTENTION_THREADS, 0, p, a);
}

int attention_splits(int heads, int columns, int capacity)
{
    constexpr int BLOCKS_PER_SM = 8, LEAST_POSITIONS = 2 * SIDES * BATCH;
    const int wanted = device_facts_get()->sms * BLOCKS_PER_SM / (heads * columns);
    const int useful = capacity / LEAST_POSITIONS;
    return max(1, min(min(wanted, useful), (int)MAX_SPLITS));
}

/* ---- argmax ------------------------------------------------------------------------------------ */

constexpr int ARGMAX_THREADS = 256, PER_BLOCK = 16 * ARGMAX_THREADS;

/* A key that orders logits, and of equal ones has the first as the largest: so no race decides a tie. A NaN is the
 * largest of all, and shows. */
static __device__ unsigned long long key_of(float logit, int index)
{
    const unsigned bits = __float_as_uint(logit);
    const unsigned ordered = logit != logit ? ~0u : bits >> 31 ? ~bits : bits | 0x80000000u;
    return (unsigned long long)ordered << 32 | ~(unsigned)index;
}

/* Grid (parts of the vocabulary, columns). The last block of all writes the tokens, and counts them. */
static __global__ void __launch_bounds__(ARGMAX_THREADS)
    decode_argmax_kernel(const __grid_constant__ arguments<argmax_args> a)
{
    const pass_columns &p = a.pass;
    const int column = blockIdx.y, columns = gridDim.y;
    const int end = min(a.own.vocabulary, ((int)blockIdx.x + 1) * PER_BLOCK);
    pdl_launch_dependents();
    pdl_wait();
    unsigned long long best = 0;
    for (int i = blockIdx.x * PER_BLOCK + threadIdx.x; i < end; i += ARGMAX_THREADS)
        best = max(best, key_of(a.own.logits[column * a.own.pitch + i], i));
    best = warp_max(best);
    if (lane_id() == 0) atomicMax(&a.own.best[column], best);
    if (!comes_last(a.own.arrived, gridDim.x * columns)) return;
    const int t = *p.t;
    for (int c = threadIdx.x; c < columns; c += ARGMAX_THREADS) {
        const int at = t + c % p.tokens;
        p.chosen[(size_t)(c / p.tokens) * p.capacity + at] = (int)~(unsigned)__ldcg(&a.own.best[c]);
        a.own.best[c] = 0;
    }
    __syncthreads(); /* all have read t */
    if (threadIdx.x == 0) *p.t = t + p.tokens;
}

cudaError_t run_argmax(const pass_columns *p, const argmax_args *a)
{
    const unsigned parts = (unsigned)((a->vocabulary - 1) / PER_BLOCK + 1);
    return launch(decode_argmax_kernel, dim3(parts, columns_of(p)), ARGMAX_THREADS, 0, p, a);
}
