/*
 * dataset_list.c - the names a user can give: the text of --list.
 */
#include "matrix/dataset.h"
#include "matrix/dataset_search.h"
#include "matrix/generate.h"
#include "matrix/generated_sets.h"
#include "matrix/reader.h"
#include "matrix/registry.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void list_entries(FILE *out, const registry *r, const dataset_search *s)
{
    fprintf(out, "%-18s %9s %9s %11s  %s\n", "dataset", "rows", "cols", "nnz",
            "real file, or a stand-in");
    const char *set = "";
    for (size_t i = 0; i < r->listed; i++) {
        const registry_entry *e = &r->entry[i];
        char path[PATH_BYTES];
        if (strcmp(set, e->set) != 0) fprintf(out, "set:%s\n", e->set);
        set = e->set;
        fprintf(out, "  %-16s %9" PRId64 " %9" PRId64 " %11" PRId64 "  %s\n", e->name, e->rows,
                e->cols, e->nnz, dataset_search_file(s, e->name, path) ? path : "stand-in");
    }
}

/* One line for all members: there are hundreds, and their names follow a rule. */
static void list_generated_sets(FILE *out, const registry *r)
{
    size_t count;
    const generated_set *set = generated_sets(&count);
    for (size_t i = 0; i < count; i++) {
        size_t members = 0;
        for (size_t k = r->listed; k < r->count; k++)
            members += !strcmp(r->entry[k].set, set[i].name);
        fprintf(out, "set:%s  %zu stand-ins; N = %s\n  %s\n", set[i].name, members, set[i].widths,
                set[i].members);
    }
    fprintf(out, "set:dlmc  the .smtx files below --data-dir, $SPMM_DATA_DIR or datasets/data\n"
                 "set:NAME/WORD/...  the members of a set whose names hold these words\n");
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
        list_generated_sets(out, &r);
        list_generators(out);
        list_formats(out);
    }
    registry_free(&r);
    return status;
}
