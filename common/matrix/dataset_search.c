#include "matrix/dataset_search.h"

#include "matrix/reader.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

bool dataset_is_set(const char *spec)
{
    return strncmp(spec, "set:", 4) == 0;
}

/* Whether `path` is the base name of a lab-format matrix. */
static bool is_lab_base(const char *path)
{
    char config[PATH_BYTES];
    return path_join(config, path, strlen(path), ".config") && path_is_file(config);
}

bool dataset_is_path(const char *path)
{
    struct stat info;
    if (stat(path, &info) == 0) return true;
    bool absent = errno == ENOENT || errno == ENOTDIR || errno == ENAMETOOLONG;
    return !absent || is_lab_base(path);
}

bool dataset_is_folder(const char *path)
{
    if (!path_is_folder(path)) return false;
    for (const matrix_reader *reader = matrix_readers(); reader; reader = reader->next)
        if (reader->recognise(path, "", 0) > 0) return false;
    return true;
}

/* The file of dataset `name` in `folder`, if there is one. A folder of that name is not taken: what
 * lies in it need not have been converted. */
static bool find_in_folder(const char *folder, const char *name, char path[PATH_BYTES])
{
    static const char *const suffixes[] = {"",        ".csr",  ".npz",     ".mtx", ".mtx.gz",
                                           ".tar.gz", ".smtx", ".smtx.gz", ".txt", ".txt.gz"};
    for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++) {
        int length = snprintf(path, PATH_BYTES, "%s/%s%s", folder, name, suffixes[i]);
        if (length < PATH_BYTES && (path_is_file(path) || is_lab_base(path))) return true;
    }
    return false;
}

enum status dataset_search_begin(dataset_search *s, const char *data_dir, const registry *r,
                                 error_text *error)
{
    const char *variable = getenv("SPMM_DATA_DIR");
    s->count = 0;
    if (data_dir) s->folder[s->count++] = data_dir;
    if (variable && *variable) s->folder[s->count++] = variable;
    for (int i = 0; i < s->count; i++) {
        if (!path_is_folder(s->folder[i]))
            return fail(error, STATUS_DATASET, "%s: no such folder (named by %s)", s->folder[i],
                        s->folder[i] == data_dir ? "--data-dir" : "SPMM_DATA_DIR");
    }
    if (r->folder[0] && path_join(s->ours, r->folder, strlen(r->folder), "/data"))
        s->folder[s->count++] = s->ours;
    return STATUS_OK;
}

bool dataset_search_file(const dataset_search *s, const char *name, char path[PATH_BYTES])
{
    for (int i = 0; i < s->count; i++) {
        if (find_in_folder(s->folder[i], name, path)) return true;
    }
    return false;
}
