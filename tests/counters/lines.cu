/*
 * lines.cu - every access is booked on the line of the source that makes it. Lines are marked with
 * a comment, @ and a name; the test looks the marks up in the text of this file and of lines.cuh.
 */
#include "tests/counters/expect.h"

#include "device/async_copy.cuh"
#include "device/mma.cuh"
#include "device/vec.cuh"
#include "tests/counters/lines.cuh"

__global__ void lines_kernel(const float *x, float *y, int *cells)
{
    __shared__ __align__(128) float tile[32 * 4];
    const int lane = threadIdx.x;
    float v[4], w[2];
    uint32_t r[1];

    const float a = x[lane];                    /* @plain load */
    load_vector(v, x + 4 * lane);               /* @vector */
    load_vector_plain(w, x + 2 * lane);         /* @plain vector */
    const float b = x[lane + 32] + x[2 * lane]; /* @two alike */
    const float c = __ldg(x + lane + 128) +     /* @first line */
                    x[lane + 96];               /* @second line */
    store_vector(y + 4 * lane, v);              /* @vector store */
    y[lane] = a + w[0] + w[1] + x[lane + 64];   /* @load and store */
    tile[4 * lane] = b;                         /* @shared store */
    __syncthreads();
    const float d = tile[127 - 4 * lane];          /* @shared load */
    ldmatrix_x1(r, tile + 4 * lane);               /* @ldmatrix */
    atomicAdd(&cells[lane], 1);                    /* @atomic */
    async_copy<16>(&tile[4 * lane], x + 4 * lane); /* @copy */
    async_wait_all();
    const float e = inlined(x) + inlined(x + 32);
    called(y, a + e);
    for (int i = 0; i < 3; i++)
        y[i * 32 + lane] = c + d + (float)r[0]; /* @loop */
}

/* "tests/counters/lines.cu:18": where the mark stands; "" and a failed test if nowhere. */
static void find_mark(const char *name, char *where, size_t size)
{
    char mark[64], text[512];
    snprintf(mark, sizeof mark, "/* @%s */", name);
    *where = 0;
    for (const char *path : {"tests/counters/lines.cu", "tests/counters/lines.cuh"}) {
        FILE *f = fopen(path, "r");
        for (int line = 1; f && fgets(text, sizeof text, f); line++)
            if (strstr(text, mark)) snprintf(where, size, "%s:%d", path, line);
        if (f) fclose(f);
    }
    if (!*where) check(false, "%s stands somewhere", mark);
}

/* On the marked line there is one entry of this kind and size, with so many requests at this
 * cost. */
static size_t found;
static void on_line(const kernel_profile *p, const char *mark, access_kind kind, int size,
                    int requests, int cost)
{
    char where[160];
    find_mark(mark, where, sizeof where);
    int entries = 0;
    bool right = true;
    for (size_t i = 0; i < p->num_lines; i++) {
        const line_profile &l = p->lines[i];
        if (strcmp(l.where, where) || l.kind != kind || l.size != size) continue;
        entries++;
        right &= l.n.requests == requests && l.n.cost == cost;
    }
    found += (size_t)entries;
    check(entries == 1 && right, "%s: kind %d, %d bytes at %s", mark, (int)kind, size, where);
}

void source_lines(void)
{
    float *x = device_zeros<float>(512), *y = device_zeros<float>(512);
    int *cells = device_zeros<int>(32);
    counting_begins();
    lines_kernel<<<1, 32>>>(x, y, cells);
    counting_ends();
    const kernel_profile *p = only_profile("lines_kernel");
    if (!p) return;
    on_line(p, "plain load", GLOBAL_LOAD, 4, 1, 4);
    on_line(p, "vector", GLOBAL_LOAD, 16, 1, 16);
    on_line(p, "plain vector", GLOBAL_LOAD, 8, 1, 8);
    on_line(p, "two alike", GLOBAL_LOAD, 4, 2, 4 + 8);
    on_line(p, "first line", GLOBAL_LOAD, 4, 1, 4);
    on_line(p, "second line", GLOBAL_LOAD, 4, 1, 4);
    on_line(p, "vector store", GLOBAL_STORE, 16, 1, 16);
    on_line(p, "load and store", GLOBAL_LOAD, 4, 1, 4);
    on_line(p, "load and store", GLOBAL_STORE, 4, 1, 4);
    on_line(p, "shared store", SHARED_STORE, 4, 1, 4); /* 4 to a bank */
    on_line(p, "shared load", SHARED_LOAD, 4, 1, 4);
    on_line(p, "ldmatrix", SHARED_LOAD, 16, 1, 1);
    on_line(p, "atomic", GLOBAL_ATOMIC, 4, 1, 4);
    on_line(p, "copy", GLOBAL_LOAD, 16, 1, 16);
    on_line(p, "copy", SHARED_STORE, 16, 1, 4);
    on_line(p, "inlined", GLOBAL_LOAD, 4, 2, 8);
    on_line(p, "called", GLOBAL_STORE, 4, 1, 4);
    on_line(p, "loop", GLOBAL_STORE, 4, 3, 12);
    if (!check(found == p->num_lines, "nothing is booked anywhere else"))
        for (size_t i = 0; i < p->num_lines; i++)
            note("%s: kind %d, %d bytes, %lld", p->lines[i].where, (int)p->lines[i].kind,
                 p->lines[i].size, (long long)p->lines[i].n.requests);
    bool sorted = true;
    for (size_t i = 1; i < p->num_lines; i++)
        sorted &= atoi(strrchr(p->lines[i - 1].where, ':') + 1) <=
                      atoi(strrchr(p->lines[i].where, ':') + 1) ||
                  strcspn(p->lines[i - 1].where, ":") != strcspn(p->lines[i].where, ":");
    check(sorted, "lines come in the order of the source");
    for (void *q : {(void *)x, (void *)y, (void *)cells})
        CUDA(cudaFree(q));
}
