/*
 * dataset_expand.c - which matrices a word on the command line stands for: sets, folders, or one.
 */
#include "matrix/dataset.h"
#include "matrix/dataset_search.h"
#include "matrix/name_list.h"
#include "matrix/nearest.h"
#include "matrix/paths.h"
#include "matrix/range_spec.h"
#include "matrix/registry.h"

#include <stdlib.h>
#include <string.h>

#define DLMC "dlmc" /* the set of files, not of names */

/* "rnn/lstm/0.9": the set's name, and words that its members' names must hold. */
typedef struct set_spec {
    const char *name;
    size_t length;
    const char *words; /* begins with a slash, or is empty */
} set_spec;

static bool is_chosen(const char *name, const char *words)
{
    while (*words == '/') {
        const size_t length = strcspn(++words, "/");
        if (!has_word(name, words, length)) return false;
        words += length;
    }
    return true;
}

static bool is_set(const set_spec *s, const char *name)
{
    return strlen(name) == s->length && !strncmp(name, s->name, s->length);
}

static enum status refuse_set(const registry *r, const set_spec *s, error_text *error)
{
    char set[128];
    const char **sets = calloc(r->count + 1, sizeof *sets);
    if (!sets) return fail(error, STATUS_MEMORY, "no memory");
    size_t count = 0;
    sets[count++] = DLMC;
    for (size_t i = 0; i < r->count; i++)
        if (strcmp(r->entry[i].set, sets[count - 1]) != 0) sets[count++] = r->entry[i].set;
    snprintf(set, sizeof set, "%.*s", (int)s->length, s->name);
    const char *near = nearest_match(set, sets, count);
    fail(error, STATUS_DATASET, "set:%s: no such set%s%s%s (--list shows the names)", set,
         near ? "; did you mean set:" : "", near ? near : "", near ? "?" : "");
    free(sets);
    return STATUS_DATASET;
}

static enum status expand_names(const registry *r, const set_spec *s, name_list *list,
                                error_text *error)
{
    bool known = false;
    enum status status = STATUS_OK;
    for (size_t i = 0; i < r->count && status == STATUS_OK; i++) {
        const registry_entry *e = &r->entry[i];
        if (!is_set(s, e->set)) continue;
        known = true;
        if (is_chosen(e->name, s->words)) status = name_list_add(list, e->name, error);
    }
    return status == STATUS_OK && !known ? refuse_set(r, s, error) : status;
}

/* Takes the members out of *list whose path, from the folder down, lacks a word. */
static void choose_files(name_list *list, const char *folder, const char *words)
{
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++) {
        if (is_chosen(list->name[i] + strlen(folder), words))
            list->name[kept++] = list->name[i];
        else
            free(list->name[i]);
    }
    list->count = kept;
}

/* The .smtx files of the first folder that has any. */
static enum status expand_dlmc(const registry *r, const set_spec *s, const char *data_dir,
                               name_list *list, error_text *error)
{
    dataset_search search;
    enum status status = dataset_search_begin(&search, data_dir, r, error);
    for (int i = 0; i < search.count && status == STATUS_OK && list->count == 0; i++) {
        if (!path_is_folder(search.folder[i])) continue;
        status = name_list_add_files(list, search.folder[i], ".smtx", error);
        if (status == STATUS_OK && list->count > 0) {
            choose_files(list, search.folder[i], s->words);
            return STATUS_OK;
        }
    }
    if (status != STATUS_OK) return status;
    return fail(error, STATUS_DATASET,
                "set:dlmc: no .smtx files below --data-dir, $SPMM_DATA_DIR or datasets/data; "
                "set:dlmc-like is made without any");
}

static enum status expand_set(const registry *r, const char *spec, const char *data_dir,
                              name_list *list, error_text *error)
{
    const char *name = strchr(spec, ':') + 1;
    const size_t length = strcspn(name, "/");
    const set_spec s = {name, length, name + length};
    enum status status = is_set(&s, DLMC) ? expand_dlmc(r, &s, data_dir, list, error)
                                          : expand_names(r, &s, list, error);
    if (status == STATUS_OK && list->count == 0)
        return fail(error, STATUS_DATASET, "%s: no member has all these words (--list shows names)",
                    spec);
    return status;
}

static enum status expand_folder(const char *folder, name_list *list, error_text *error)
{
    enum status status = name_list_add_files(list, folder, NULL, error);
    if (status == STATUS_OK && list->count == 0)
        return fail(error, STATUS_DATASET,
                    "%s: no matrices in this folder (.mtx, .smtx, .csr, .npz, lab format)", folder);
    return status;
}

static enum status expand_ranges(const range_spec *r, name_list *list, error_text *error)
{
    char name[PATH_BYTES + 32];
    enum status status = STATUS_OK;
    for (int i = 0; i < r->ranges && status == STATUS_OK; i++) {
        snprintf(name, sizeof name, "%s@%d/%d", r->whole, i, r->ranges);
        status = name_list_add(list, name, error);
    }
    return status;
}

static enum status expand(const char *spec, const char *data_dir, name_list *list,
                          error_text *error)
{
    range_spec range;
    error_text of_range; /* who opens the word says what is wrong with it */
    if (!dataset_is_set(spec) && range_spec_read(spec, &range, &of_range) == STATUS_OK && range.all)
        return expand_ranges(&range, list, error);
    registry r;
    enum status status = registry_load(&r, error);
    if (status != STATUS_OK) return status;
    if (dataset_is_set(spec))
        status = expand_set(&r, spec, data_dir, list, error);
    else if (!registry_find(&r, spec) && dataset_is_folder(spec))
        status = expand_folder(spec, list, error);
    else
        status = name_list_add(list, spec, error);
    registry_free(&r);
    return status;
}

enum status dataset_expand(const char *spec, const char *data_dir, char ***names, size_t *count,
                           error_text *error)
{
    name_list list = {0};
    enum status status = STATUS_OK;
    *names = NULL;
    *count = 0;
    if (spec) {
        status = expand(spec, data_dir, &list, error);
    } else {
        list.name = calloc(1, sizeof *list.name); /* the sample has no name */
        list.count = 1;
        if (!list.name) return fail(error, STATUS_MEMORY, "no memory");
    }
    if (status != STATUS_OK) {
        name_list_free(&list);
        return status;
    }
    *names = list.name;
    *count = list.count;
    return STATUS_OK;
}

void dataset_names_free(char **names, size_t count)
{
    name_list list = {.name = names, .count = count};
    name_list_free(&list);
}
