#include "matrix/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The number after `key` in a file of "key value" lines, or -1. An empty key reads the first line.
 * "max", the word for "no limit", is no number and gives -1. */
static int64_t number_in(const char *path, const char *key)
{
    FILE *file = fopen(path, "re");
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

int64_t memory_available(void)
{
    int64_t available = INT64_MAX;
    int64_t kib = number_in("/proc/meminfo", "MemAvailable:");
    if (kib >= 0) available = kib * 1024;

    /* Inside a container the group's own folder is mounted here. Its usage counts the page cache,
     * which the kernel gives back before it kills anything. */
    int64_t limit = number_in("/sys/fs/cgroup/memory.max", "");
    int64_t used = number_in("/sys/fs/cgroup/memory.current", "");
    int64_t cache = number_in("/sys/fs/cgroup/memory.stat", "file ");
    if (limit >= 0 && used >= 0) {
        int64_t left = limit - used + (cache > 0 ? cache : 0);
        if (left < 0) left = 0;
        if (left < available) available = left;
    }
    return available;
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
