/*
 * address.cc - what an address is called: an element of an array the harness has named, of an
 * allocation, of a __shared__ variable.
 */
#include "profiler/checks.h"

#include <map>
#include <string>
#include <vector>

/* By start. Leaked, as all that may be used when the process ends. */
static std::map<uintptr_t, named_array> &arrays = *new std::map<uintptr_t, named_array>;

/* The read-only ones again, for a quick answer: there are few of them. */
struct range {
    uintptr_t start, end;
};
static std::vector<range> &read_only = *new std::vector<range>;

void names_add(const void *start, size_t bytes, size_t element, const char *name, bool protect)
{
    named_array a = {(uintptr_t)start, bytes, element ? element : 1, "", protect};
    snprintf(a.name, sizeof a.name, "%s", name);
    if (!bytes) return;
    arrays[a.start] = a;
    if (protect) read_only.push_back({a.start, a.start + bytes});
    memcheck_named(a.start);
    seen_named(a.start, bytes);
}

void names_forget(void)
{
    arrays.clear();
    read_only.clear();
    memcheck_names_forgotten();
}

const named_array *next_named_array(uintptr_t from)
{
    auto it = arrays.lower_bound(from);
    return it == arrays.end() ? nullptr : &it->second;
}

bool is_read_only(uintptr_t address)
{
    for (const range &r : read_only)
        if (address - r.start < r.end - r.start) return true;
    return false;
}

place place_of(const worker *self, uintptr_t address)
{
    /* An index can miss by more than a little. */
    const uintptr_t near = 256 << 10;
    bool guard;
    if (simt_memory_holds((const void *)address)) return DEVICE_MEMORY;
    if (simt_stack_holding(self, address, &guard)) return LOCAL_MEMORY;
    if (address - ((uintptr_t)self->shared - near) <
        (uintptr_t)(self->shared_end - self->shared) + 3 * near)
        return DYNAMIC_SHARED;
    if (address - ((uintptr_t)self->thread_local_block - near) <
        self->thread_local_bytes + 2 * near)
        return STATIC_SHARED;
    return HOST_MEMORY;
}

/* ---- in words -------------------------------------------------------------------------------- */

/* How far the address is from [start, start + bytes); 0 inside. */
static size_t distance(uintptr_t address, uintptr_t start, size_t bytes)
{
    if (address < start) return start - address;
    return address - start < bytes ? 0 : address - (start + bytes) + 1;
}

/* "C[12]", "C[64] (1 past its end)", "C[-1] (1 before its start)" */
static void describe_element(const char *name, uintptr_t address, uintptr_t start, size_t bytes,
                             size_t element, char *text, size_t size)
{
    if (address < start) {
        const size_t before = (start - address + element - 1) / element;
        snprintf(text, size, "%s[-%zu] (%zu before its start)", name, before, before);
        return;
    }
    const size_t index = (address - start) / element, count = bytes / element;
    if (address < start + bytes)
        snprintf(text, size, "%s[%zu]", name, index);
    else
        snprintf(text, size, "%s[%zu] (%zu past its end)", name, index, index - count + 1);
}

/* The array that holds the address, or else the nearest. */
static const named_array *nearest_array(uintptr_t address)
{
    const size_t near = 1 << 20;
    auto above = arrays.upper_bound(address);
    const named_array *best = nullptr;
    size_t least = near;
    if (above != arrays.end() && above->first - address < least) {
        least = above->first - address;
        best = &above->second;
    }
    if (above != arrays.begin()) {
        const named_array &below = (--above)->second;
        if (distance(address, below.start, below.bytes) <= least) best = &below;
    }
    return best;
}

static void describe_device(const access *a, char *text, size_t size)
{
    const device_array d = simt_memory_find(a->address);
    const named_array *n = nearest_array(a->address);
    const bool inside = d.number && distance(a->address, d.start, d.bytes) == 0;
    /* An unnamed allocation may lie nearer than a named array. */
    if (n && (!inside || distance(n->start, d.start, d.bytes) == 0))
        describe_element(n->name, a->address, n->start, n->bytes, n->element, text, size);
    else if (inside && (a->address - d.start) % a->size == 0)
        snprintf(text, size, "element %zu (%u B each) of %sallocation %u (%zu bytes)",
                 (a->address - d.start) / a->size, a->size, d.freed ? "freed " : "", d.number,
                 d.bytes);
    else
        simt_memory_describe(a->address, text, size);
}

/* Takes the variable at least distance from the offset, one of the running kernel. A variable has no
 * type here, so elements are as large as the access. */
static void describe_static(const access *a, char *text, size_t size)
{
    const uintptr_t block = (uintptr_t)a->self->thread_local_block;
    const simt_launch_config &c = a->self->job->config;
    char kernel[160];
    simt_kernel_name(c.kernel, c.name, kernel, sizeof kernel);
    const std::string function(kernel, strcspn(kernel, "<"));
    const shared_variable *best = nullptr;
    size_t least = ~(size_t)0, count;
    const shared_variable *all = simt_shared_variables(&count);
    for (const shared_variable *v = all; v < all + count; v++) {
        size_t d = distance(a->address, block + v->offset, v->bytes);
        const bool own = strstr(v->function, function.c_str()) != nullptr;
        if (d && !own) d += 1 << 30;
        if (d < least) {
            least = d;
            best = v;
        }
    }
    char name[128];
    if (!best) {
        snprintf(text, size, "shared memory, of which this kernel has none");
        return;
    }
    snprintf(name, sizeof name, "shared %s", best->name);
    describe_element(name, a->address, block + best->offset, best->bytes, a->size, text, size);
}

static void describe_dynamic(const access *a, char *text, size_t size)
{
    const worker *self = a->self;
    const size_t bytes = self->job->config.dynamic_shared_bytes;
    unsigned rank = 0; /* of the block of a cluster in whose memory it lies */
    while (rank + 1 < self->job->cluster &&
           a->address >= (uintptr_t)simt_block_shared(self, rank + 1))
        rank++;
    describe_element("dynamic shared ", a->address, (uintptr_t)simt_block_shared(self, rank), bytes,
                     a->size, text, size);
}

void describe_address(const access *a, char *text, size_t size)
{
    switch (place_of(a->self, a->address)) {
    case DEVICE_MEMORY:
        describe_device(a, text, size);
        return;
    case STATIC_SHARED:
        describe_static(a, text, size);
        return;
    case DYNAMIC_SHARED:
        describe_dynamic(a, text, size);
        return;
    case LOCAL_MEMORY:
        snprintf(text, size, "a local variable of another thread");
        return;
    case HOST_MEMORY:
        if (simt_variable_at(a->address, a->size, text, size)) return;
        snprintf(text, size, "address 0x%zx", (size_t)a->address);
    }
}
