#include "matrix/paths.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Whether the first `length` letters of `path` end with `suffix`. */
static bool ends_with(const char *path, size_t length, const char *suffix)
{
    size_t tail = strlen(suffix);
    return length >= tail && memcmp(path + length - tail, suffix, tail) == 0;
}

bool path_ends_with(const char *path, const char *suffix)
{
    return ends_with(path, strlen(path), suffix);
}

bool path_is_text(const char *path, const char *suffix)
{
    size_t length = strlen(path);
    if (ends_with(path, length, ".gz")) length -= strlen(".gz");
    return ends_with(path, length, suffix);
}

bool path_is_file(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

bool path_is_folder(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

bool path_join(char *out, const char *begin, size_t length, const char *tail)
{
    bool fits = length < PATH_BYTES &&
                snprintf(out, PATH_BYTES, "%.*s%s", (int)length, begin, tail) < PATH_BYTES;
    if (!fits) *out = 0;
    return fits;
}

bool path_find_text(char *out, const char *begin, size_t length, const char *tail)
{
    char packed[64];
    snprintf(packed, sizeof packed, "%s.gz", tail);
    if (path_join(out, begin, length, tail) && path_is_file(out)) return true;
    if (path_join(out, begin, length, packed) && path_is_file(out)) return true;
    *out = 0;
    return false;
}
