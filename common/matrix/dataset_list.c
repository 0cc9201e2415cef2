/*
 * dataset_list.c - the names a user can give: the members of sets, and the text of --list.
 */
#include "matrix/dataset.h"
#include "matrix/dataset_search.h"
#include "matrix/generate.h"
#include "matrix/nearest.h"
#include "matrix/reader.h"
#include "matrix/registry.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SETS = 32 };

/* The different sets of the registry, in the order in which they first occur. */
static size_t list_sets(const registry *r, const char *sets[MAX_SETS])
{
    size_t count = 0;
    for (size_t i = 0; i < r->count; i++) {
        size_t k = 0;
        while (k < count && strcmp(sets[k], r->entry[i].set) != 0)
            k++;
        if (k == count && count < MAX_SETS) sets[count++] = r->entry[i].set;
    }
    return count;
}

static enum status refuse_set(const registry *r, const char *set, error_text *error)
{
    const char *sets[MAX_SETS];
    const char *near = nearest_match(set, sets, list_sets(r, sets));
    return fail(error, STATUS_DATASET, "set:%s: no such set%s%s%s (--list shows the names)", set,
                near ? "; did you mean set:" : "", near ? near : "", near ? "?" : "");
}

/* ---- sets --------------------------------------------------------------------------------- */

static enum status expand_set(const registry *r, const char *set, char **names, size_t *count,
                              error_text *error)
{
    for (size_t i = 0; i < r->count; i++) {
        if (strcmp(r->entry[i].set, set) != 0) continue;
        names[*count] = strdup(r->entry[i].name);
        if (!names[*count]) return fail(error, STATUS_MEMORY, "no memory");
        ++*count;
    }
    return *count > 0 ? STATUS_OK : refuse_set(r, set, error);
}

enum status dataset_expand(const char *spec, char ***names, size_t *count, error_text *error)
{
    registry r;
    *count = 0;
    *names = NULL;
    enum status status = registry_load(&r, error);
    if (status != STATUS_OK) return status;
    *names = calloc(r.count + 1, sizeof **names);
    if (!*names) {
        status = fail(error, STATUS_MEMORY, "no memory");
    } else if (spec && dataset_is_set(spec)) {
        status = expand_set(&r, strchr(spec, ':') + 1, *names, count, error);
    } else {
        *count = 1;
        if (spec && !((*names)[0] = strdup(spec))) status = fail(error, STATUS_MEMORY, "no memory");
    }
    registry_free(&r);
    if (status == STATUS_OK) return status;
    dataset_names_free(*names, *count);
    *names = NULL;
    *count = 0;
    return status;
}

void dataset_names_free(char **names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(names[i]);
    free(names);
}

/* ---- --list ------------------------------------------------------------------------------- */

static void list_entries(FILE *out, const registry *r, const dataset_search *s)
{
    fprintf(out, "%-18s %9s %9s %11s  %s\n", "dataset", "rows", "cols", "nnz",
            "real file, or a stand-in");
    const char *set = "";
    for (size_t i = 0; i < r->count; i++) {
        const registry_entry *e = &r->entry[i];
        char path[PATH_BYTES];
        if (strcmp(set, e->set) != 0) fprintf(out, "set:%s\n", e->set);
        set = e->set;
        fprintf(out, "  %-16s %9" PRId64 " %9" PRId64 " %11" PRId64 "  %s\n", e->name, e->rows,
                e->cols, e->nnz, dataset_search_file(s, e->name, path) ? path : "stand-in");
    }
}

static void list_generators(FILE *out)
{
    size_t count;
    const generator *const *all = generators(&count);
    for (size_t i = 0; i < count; i++) {
        fprintf(out, "%s:KEY=VALUE,...  %s\n", all[i]->name, all[i]->summary);
        for (int k = 0; k < all[i]->num_keys; k++)
            fprintf(out, "  %-16s %s\n", all[i]->keys[k].name, all[i]->keys[k].meaning);
    }
}

static void list_formats(FILE *out)
{
    fprintf(out, "or a file:\n");
    for (const matrix_reader *reader = matrix_readers(); reader; reader = reader->next)
        fprintf(out, "  %-16s %s\n", reader->name, reader->description);
}

enum status dataset_list(FILE *out, const char *data_dir, error_text *error)
{
    registry r;
    dataset_search s;
    enum status status = registry_load(&r, error);
    if (status != STATUS_OK) return status;
    status = dataset_search_begin(&s, data_dir, &r, error);
    if (status == STATUS_OK) {
        list_entries(out, &r, &s);
        list_generators(out);
        list_formats(out);
    }
    registry_free(&r);
    return status;
}
