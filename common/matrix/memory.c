#include "matrix/memory.h"

#include "matrix/paths.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The number after `key` in a file of "key value" lines, or -1. An empty key reads the first line.
 * "max", the word for "no limit", is no number and gives -1. */
static int64_t number_in(const char *folder, const char *name, const char *key)
{
    char path[PATH_BYTES];
    FILE *file = path_join(path, folder, strlen(folder), name) ? fopen(path, "re") : NULL;
    if (!file) return -1;
    char line[256];
    size_t key_length = strlen(key);
    int64_t value = -1;
    while (value < 0 && fgets(line, sizeof line, file)) {
        if (strncmp(line, key, key_length) != 0) continue;
        if (sscanf(line + key_length, "%" SCNd64, &value) != 1) value = -1;
        if (key_length == 0) break;
    }
    fclose(file);
    return value;
}

/* ---- control groups -------------------------------------------------------------------------- */

/* Names of the same numbers in the two versions. */
typedef struct group_names {
    const char *limit, *used, *cache;
} group_names;

static const group_names VERSION_1 = {"/memory.limit_in_bytes", "/memory.usage_in_bytes",
                                      "total_cache "};
static const group_names VERSION_2 = {"/memory.max", "/memory.current", "file "};

/* Returns the bytes that the group of this folder may still take; INT64_MAX where it sets no limit. */
static int64_t left_in_group(const char *folder, const group_names *names)
{
    int64_t limit = number_in(folder, names->limit, "");
    int64_t used = number_in(folder, names->used, "");
    if (limit < 0 || used < 0) return INT64_MAX;
    /* The page cache counts as used, but the kernel gives it back before it kills anything. The two
     * are read one after the other and counted apart: the cache can exceed the use. */
    int64_t cache = number_in(folder, "/memory.stat", names->cache);
    if (cache > 0) used = cache < used ? used - cache : 0;
    return limit > used ? limit - used : 0;
}

/* The least that `group` and the groups above it leave. A container may see the path that its host
 * knows, which is not there inside: then the root, its own group, is all there is to look at. */
static int64_t left_in_path(const char *root, const char *group, const group_names *names)
{
    int64_t least = INT64_MAX;
    char folder[PATH_BYTES], *slash;
    if (!path_join(folder, root, strlen(root), group)) return least;
    do {
        int64_t left = left_in_group(folder, names);
        if (left < least) least = left;
        slash = strrchr(folder + strlen(root), '/');
        if (slash) *slash = 0;
    } while (slash);
    return least;
}

/* Lines of /proc/self/cgroup are number:controllers:path; version 2 has no controllers in it. */
static int64_t left_in_groups(const char *proc, const char *cgroup)
{
    int64_t least = INT64_MAX;
    char path[PATH_BYTES], line[PATH_BYTES];
    FILE *file = path_join(path, proc, strlen(proc), "/self/cgroup") ? fopen(path, "re") : NULL;
    if (!file) return least;
    while (fgets(line, sizeof line, file)) {
        char *group = line;
        strsep(&group, ":");
        const char *controllers = strsep(&group, ":");
        if (!group) continue;
        group[strcspn(group, "\n")] = 0;
        int64_t left = INT64_MAX;
        if (!*controllers)
            left = left_in_path(cgroup, group, &VERSION_2);
        else if (strcmp(controllers, "memory") == 0 &&
                 path_join(path, cgroup, strlen(cgroup), "/memory"))
            left = left_in_path(path, group, &VERSION_1);
        if (left < least) least = left;
    }
    fclose(file);
    return least;
}

int64_t memory_available_by(const char *proc, const char *cgroup)
{
    int64_t kib = number_in(proc, "/meminfo", "MemAvailable:");
    int64_t available = kib >= 0 ? kib * 1024 : INT64_MAX;
    int64_t left = left_in_groups(proc, cgroup);
    return left < available ? left : available;
}

int64_t memory_available(void)
{
    return memory_available_by("/proc", "/sys/fs/cgroup");
}

enum status memory_check(int64_t bytes, const char *what, error_text *error)
{
    enum { GUARANTEED = 1 << 20 }; /* not worth asking the kernel for */
    if (bytes <= GUARANTEED) return STATUS_OK;
    int64_t available = memory_available();
    if (bytes <= available) return STATUS_OK;
    return fail(error, STATUS_MEMORY, "%s needs %.1f GB of memory, but only %.1f GB are available",
                what, (double)bytes * 1e-9, (double)available * 1e-9);
}
