#include "matrix/cache.h"

#include "matrix/checksum.h"
#include "matrix/files.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
    MIN_TEXT_BYTES = 4 << 20, /* below, parsing is as fast as looking */
    PARSER_VERSION = 1 /* to be raised when a reader gives another matrix for the same file */
};

static bool wanted(void)
{
    const char *off = getenv("SPMM_NO_CACHE");
    return !off || !*off || strcmp(off, "0") == 0;
}

void cache_locate(const reader_files *files, cache_entry *entry)
{
    *entry = (cache_entry){.key = PARSER_VERSION};
    if (!wanted()) return;

    int64_t bytes = 0;
    uint64_t place = 0;
    char name[128] = "";
    for (int i = 0; i < files->count; i++) {
        char absolute[PATH_BYTES];
        struct stat info;
        if (!realpath(files->path[i], absolute) || stat(absolute, &info) != 0) return;
        /* cp -p, rsync -t and touch -r set the time of modification as they like; nothing sets that
         * of the last change. */
        int64_t state[] = {info.st_size,        info.st_mtim.tv_sec,  info.st_mtim.tv_nsec,
                           info.st_ctim.tv_sec, info.st_ctim.tv_nsec, (int64_t)info.st_ino};
        entry->key = checksum(state, sizeof state, entry->key);
        place = checksum(absolute, strlen(absolute), place);
        bytes += info.st_size;
        if (i == 0) snprintf(name, sizeof name, "%.80s-", strrchr(absolute, '/') + 1);
    }
    if (bytes < MIN_TEXT_BYTES) return;
    entry->key |= 1; /* 0 means "no cache entry" */
    size_t length = strlen(name);
    snprintf(name + length, sizeof name - length, "%016" PRIx64 ".csr", place);
    if (cache_path(name, entry->path, sizeof entry->path, NULL) != STATUS_OK) *entry->path = 0;
}
