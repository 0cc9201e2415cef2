#include "kernels.h"

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
    if (p->early && waits(kernel))
        return launch_with_pdl(kernel, grid, threads, shared, p->stream, all);
    kernel<<<grid, threads, shared, p->stream>>>(all);
    return cudaGetLastError();
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
    pdl_wait();
    const int at = *p.t + column % p.tokens;
    const int token = at < p.prompt_length ? p.prompt[(size_t)sequence * p.prompt_length + at]
                                           : p.chosen[(size_t)sequence * p.capacity + at - 1];
    for (int f = threadIdx.x; f < a.own.hidden; f += EMBED_THREADS)
        *place(a.own.x, f, column) =
            narrow<__half>(number(a.own.embedding, (size_t)token * a.own.hidden + f) +
                           number(a.own.position, (size_t)at * a.own.hidden + f));
}

cudaError_t run_embed(const pass_columns *p, const embed_args *a)
{
    return launch(decode_embed_kernel, columns_of(p), EMBED_THREADS, 0, p, a);
}

/* ---- norm -------------------------------------------------------------------------------------- */

constexpr int NORM_THREADS = 512, NORM_WARPS = NORM_THREADS / WARP_SIZE;

/* The sum over all threads of a block, in every one of them: always in the same order. */
static __device__ float block_sum(float x)
{
    __shared__ float of_warp[NORM_WARPS];
    x = warp_sum(x);
    __syncthreads(); /* nobody reads the sums before any more */
    if (lane_id() == 0) of_warp[warp_id()] = x;
    __syncthreads();
    float sum = 0;
    for (int w = 0; w < NORM_WARPS; w++)
        sum += of_warp[w];
    return sum;
}

/* A block a column, which it keeps in shared memory between its three walks; a thread walks over its own features. */
static __global__ void __launch_bounds__(NORM_THREADS)
    decode_norm_kernel(const __grid_constant__ arguments<norm_args> a)
{
    extern __shared__ float kept[];
    const norm_args &own = a.own;
    const int column = blockIdx.x, hidden = own.hidden;
    pdl_launch_dependents();
    pdl_wait();
    float sum = 0, squares = 0;
    for (int f = threadIdx.x; f < hidden; f += NORM_THREADS) {
        __half *const x = place(own.x, f, column);
        if (own.update.data)
            *x = narrow<__half>(widen(*x) + widen(*place(own.update, f, column)) +
                                number(own.bias, f));
        kept[f] = widen(*x);
        sum += kept[f];
    }
    const float mean = block_sum(sum) / hidden;
    for (int f = threadIdx.x; f < hidden; f += NORM_THREADS) {
        const float off = kept[f] - mean;
        squares += off * off;
    }
    const float scale = 1 / sqrtf(block_sum(squares) / hidden + NORM_EPSILON);
    for (int f = threadIdx.x; f < hidden; f += NORM_THREADS)
        *place(own.y, f, column) =
            narrow<__half>((kept[f] - mean) * scale * number(own.gain, f) + number(own.shift, f));
}

cudaError_t run_norm(const pass_columns *p, const norm_args *a)
{
    return launch(decode_norm_kernel, columns_of(p), NORM_THREADS, a->hidden * sizeof(float), p, a);
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
 * a lane waits for 2 BATCH loads together. */
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
        : a(a), head(head), column(column), sequence(column / a.pass.tokens), before(*a.pass.t),
          position(before + column % a.pass.tokens)
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
    /* Loads eight features of K or V at a position: from the cache, or of this pass, where the cache will have
     * them after it. */
    __device__ void load(int which, int at, int f, __half (&x)[PER_LANE]) const
    {
        if (at < before) {
            load_vector_plain(x,
                              (const __half *)(which == 1 ? a.own.K : a.own.V) + in_cache(at) + f);
            return;
        }
        for (int i = 0; i < PER_LANE; i++)
            x[i] = narrow<__half>(fresh(which, f + i, sequence * a.pass.tokens + at - before));
    }
};

/* Takes up to BATCH positions, from `first` on. */
static __device__ void take_positions(const head_of_column &h, const float (&q)[PER_LANE],
                                      int first, int f, softmax_sums &s)
{
    __half k[BATCH][PER_LANE], v[BATCH][PER_LANE];
    float score[BATCH], most = s.most;
#pragma unroll
    for (int i = 0; i < BATCH; i++) {
        if (first + i > h.position) continue;
        h.load(1, first + i, f, k[i]);
        h.load(2, first + i, f, v[i]);
    }
#pragma unroll
    for (int i = 0; i < BATCH; i++) {
        score[i] = -INFINITY;
        if (first + i > h.position) continue; /* the same in all lanes of the side */
        float sum = 0;
        for (int j = 0; j < PER_LANE; j++)
            sum += q[j] * widen(k[i][j]);
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
        if (first + i > h.position) continue;
        const float weight = expf(score[i] - most);
        s.total += weight;
        for (int j = 0; j < PER_LANE; j++)
            s.v[j] += weight * widen(v[i][j]);
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
    pdl_wait();
    const head_of_column h(a, head, column);
    if (split == 0) { /* nobody reads them in this pass: see load */
        const size_t own = h.in_cache(h.position) + threadIdx.x;
        ((__half *)a.own.K)[own] = narrow<__half>(h.fresh(1, threadIdx.x, column));
        ((__half *)a.own.V)[own] = narrow<__half>(h.fresh(2, threadIdx.x, column));
    }
    constexpr float SCALE = 0.08838834764831845f; /* 1 / sqrt(128) */
    float q[PER_LANE];
    for (int j = 0; j < PER_LANE; j++)
        q[j] = h.fresh(0, f + j, column) * SCALE;
    softmax_sums s = {-INFINITY, 0, {}};
    for (int first = (split * SIDES + side) * BATCH; first <= h.position;
         first += splits * SIDES * BATCH)
        take_positions(h, q, first, f, s);

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
