#include "matrix/name_list.h"

#include "matrix/paths.h"

#include <ctype.h>
#include <errno.h>
#include <fts.h>
#include <stdlib.h>
#include <string.h>

enum status name_list_add(name_list *list, const char *name, error_text *error)
{
    if (list->count == list->capacity) {
        const size_t capacity = 2 * list->capacity + 16;
        char **grown = realloc(list->name, capacity * sizeof *grown);
        if (!grown) return fail(error, STATUS_MEMORY, "no memory for %zu names", capacity);
        list->name = grown;
        list->capacity = capacity;
    }
    char *copy = strdup(name);
    if (!copy) return fail(error, STATUS_MEMORY, "no memory for a name");
    list->name[list->count++] = copy;
    return STATUS_OK;
}

void name_list_free(name_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->name[i]);
    free(list->name);
    *list = (name_list){0};
}

/* ---- files ------------------------------------------------------------------------------------ */

/* The length of what names the matrix in `path`; 0 if that is none of the files wanted. */
static size_t matrix_name_length(const char *path, const char *suffix)
{
    static const char *const text[] = {".mtx", ".smtx"}, *const binary[] = {".csr", ".npz"};
    const size_t length = strlen(path);
    if (suffix) return path_is_text(path, suffix) ? length : 0;
    for (int i = 0; i < 2; i++)
        if (path_is_text(path, text[i]) || path_ends_with(path, binary[i])) return length;
    return path_ends_with(path, ".config") ? length - strlen(".config") : 0;
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

static enum status add_found(name_list *list, FTS *tree, FTSENT *found, const char *suffix,
                             error_text *error)
{
    if (found->fts_info == FTS_DNR || found->fts_info == FTS_ERR)
        return fail(error, STATUS_DATASET, "%s: %s", found->fts_path, strerror(found->fts_errno));
    if (found->fts_level > 0 && found->fts_name[0] == '.') {
        fts_set(tree, found, FTS_SKIP);
        return STATUS_OK;
    }
    if (found->fts_info != FTS_F) return STATUS_OK;
    const size_t length = matrix_name_length(found->fts_path, suffix);
    if (length == 0) return STATUS_OK;
    found->fts_path[length] = '\0';
    return name_list_add(list, found->fts_path, error);
}

enum status name_list_add_files(name_list *list, const char *folder, const char *suffix,
                                error_text *error)
{
    char path[PATH_BYTES];
    size_t length = strlen(folder);
    while (length > 1 && folder[length - 1] == '/')
        length--;
    if (!path_join(path, folder, length, ""))
        return fail(error, STATUS_DATASET, "%.100s...: too long a path", folder);
    char *const roots[] = {path, NULL};
    FTS *tree = fts_open(roots, FTS_LOGICAL | FTS_NOCHDIR, by_name);
    if (!tree) return fail(error, STATUS_DATASET, "%s: %s", folder, strerror(errno));
    enum status status = STATUS_OK;
    for (FTSENT *found; status == STATUS_OK && (found = fts_read(tree)) != NULL;)
        status = add_found(list, tree, found, suffix, error);
    fts_close(tree);
    return status;
}

/* ---- words ------------------------------------------------------------------------------------ */

bool has_word(const char *text, const char *word, size_t length)
{
    if (length == 0) return true;
    for (const char *at = text; *at; at++) {
        if (strncmp(at, word, length) != 0) continue;
        const bool begins = at == text || !isalnum((unsigned char)at[-1]);
        if (begins && !isalnum((unsigned char)at[length])) return true;
    }
    return false;
}
