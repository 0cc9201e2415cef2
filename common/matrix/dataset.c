#include "matrix/dataset.h"

#include "matrix/dataset_search.h"
#include "matrix/generate.h"
#include "matrix/nearest.h"
#include "matrix/range_spec.h"
#include "matrix/reader.h"
#include "matrix/registry.h"
#include "matrix/row_cut.h"
#include "matrix/standin.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define SAMPLE "samples/market.mtx" /* beside the registry */
#define STAND_IN "stand-in:"        /* before a name: not the file, even where it is here */

const char *dataset_origin_name(enum dataset_origin origin)
{
    static const char *const names[] = {
        [ORIGIN_REAL] = "real",         [ORIGIN_FILE] = "file",
        [ORIGIN_STAND_IN] = "stand-in", [ORIGIN_GENERATED] = "generated",
        [ORIGIN_SAMPLE] = "sample",
    };
    return names[origin];
}

/* Copies as much as fits: these texts are for people. */
static void copy_text(char *to, size_t bytes, const char *from)
{
    size_t length = strnlen(from, bytes - 1);
    memcpy(to, from, length);
    to[length] = '\0';
}

static enum status check_counts(const registry_entry *e, const dataset *data, error_text *error)
{
    const csr_matrix *A = &data->matrix;
    if (A->rows == e->rows && A->cols == e->cols && A->nnz == e->nnz) return STATUS_OK;
    return fail(error, STATUS_DATASET,
                "%s: %" PRId64 " x %" PRId64 " with %" PRId64
                " nonzeros, but the registry has %s as %" PRId64 " x %" PRId64 " with %" PRId64
                "%s",
                data->source, A->rows, A->cols, A->nnz, e->name, e->rows, e->cols, e->nnz,
                data->origin == ORIGIN_REAL ? "; move that file away, or name it by its path" : "");
}

static enum status open_stand_in(const registry *r, const registry_entry *e, dataset *data,
                                 error_text *error)
{
    if (is_generator_spec(e->stand_in)) {
        char spelled[sizeof data->source - 16];
        enum status status = generate(e->stand_in, &data->matrix, spelled, sizeof spelled, error);
        if (status == STATUS_OK)
            snprintf(data->source, sizeof data->source, "stand-in: %s", spelled);
        return status;
    }
    char path[PATH_BYTES];
    if (snprintf(path, sizeof path, "%s/%s", r->folder, e->stand_in) >= PATH_BYTES)
        return fail(error, STATUS_DATASET, "%s: too long a path", e->stand_in);
    return standin_make(path, &data->matrix, data->source, sizeof data->source, error);
}

/* Names a file: by its name alone, or by its path in an unpacked DLMC, where a layer has the
 * same name under every sparsity. */
static void name_file(const char *path, dataset *data)
{
    static const char folder[] = "/dlmc/", suffix[] = ".smtx";
    const char *below = strstr(path, folder), *slash = strrchr(path, '/');
    if (!below) {
        copy_text(data->name, sizeof data->name, slash && slash[1] ? slash + 1 : path);
        return;
    }
    copy_text(data->name, sizeof data->name, below + strlen(folder));
    char *end = strstr(data->name, suffix);
    if (end) *end = '\0';
}

/* Whether the word is a width, or several: "32", "32,256". */
static bool is_width(const char *spec)
{
    return *spec && strspn(spec, "0123456789,") == strlen(spec);
}

static enum status refuse_unknown(const registry *r, const char *spec, error_text *error)
{
    if (is_width(spec))
        return fail(error, STATUS_DATASET,
                    "%s: no such file or dataset; DATASET comes first, then the width: arxiv %s",
                    spec, spec);
    const char **names = malloc((r->count + 1) * sizeof *names);
    if (!names) return fail(error, STATUS_MEMORY, "no memory");
    for (size_t i = 0; i < r->count; i++)
        names[i] = r->entry[i].name;
    const char *near = nearest_match(spec, names, r->count);
    fail(error, STATUS_DATASET, "%s: no such file or dataset%s%s%s (--list shows the names)", spec,
         near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
    free(names);
    return STATUS_DATASET;
}

/* Resolves `spec`: everything in *data but the matrix. *entry is NULL where it is no registry name;
 * `path` is the file to read, empty where there is none. */
static enum status identify(const registry *r, const char *spec, const char *data_dir,
                            dataset *data, const registry_entry **entry, char path[PATH_BYTES],
                            error_text *error)
{
    const bool made = spec && !strncmp(spec, STAND_IN, strlen(STAND_IN));
    path[0] = '\0';
    *entry = NULL;
    if (!spec) {
        path_join(path, r->folder, strlen(r->folder), "/" SAMPLE);
        if (!r->folder[0] || !path_is_file(path))
            return fail(error, STATUS_DATASET,
                        "the bundled sample is not here (datasets/" SAMPLE " above the program)");
        data->origin = ORIGIN_SAMPLE;
        name_file(path, data);
    } else if (dataset_is_set(spec)) {
        return fail(error, STATUS_DATASET, "%s: a set of datasets; one is needed here", spec);
    } else if ((*entry = registry_find(r, made ? spec + strlen(STAND_IN) : spec))) {
        dataset_search s;
        enum status status = dataset_search_begin(&s, data_dir, r, error);
        if (status != STATUS_OK) return status;
        const bool here = !made && dataset_search_file(&s, spec, path);
        if (!here) path[0] = '\0';
        data->origin = here ? ORIGIN_REAL : ORIGIN_STAND_IN;
        data->decoded = (*entry)->decoded;
        data->known_rows = (*entry)->rows;
        data->known_cols = (*entry)->cols;
        data->known_nnz = (*entry)->nnz;
        copy_text(data->name, sizeof data->name, spec);
    } else if (dataset_is_path(spec)) {
        data->origin = ORIGIN_FILE;
        path_join(path, spec, strlen(spec), "");
        name_file(spec, data);
    } else if (is_generator_spec(spec)) {
        data->origin = ORIGIN_GENERATED;
        copy_text(data->name, sizeof data->name, spec);
    } else {
        return refuse_unknown(r, spec, error);
    }
    copy_text(data->source, sizeof data->source,
              path[0]  ? path
              : *entry ? (*entry)->stand_in
                       : spec);
    return STATUS_OK;
}

/* ---- a range of rows -------------------------------------------------------------------------- */

/* Reads which range of which matrix is meant, where one matrix is needed. */
static enum status read_range(const char *spec, range_spec *r, error_text *error)
{
    const enum status status = range_spec_read(spec, r, error);
    if (status != STATUS_OK || !r->all) return status;
    return fail(error, STATUS_DATASET, "%s: %d ranges of rows; one is needed here", spec,
                r->ranges);
}

static void name_range(const range_spec *r, dataset *data)
{
    char suffix[32];
    snprintf(suffix, sizeof suffix, "@%d/%d", r->range, r->ranges);
    const size_t room = sizeof data->name - strlen(suffix) - 1;
    if (strlen(data->name) > room) data->name[room] = 0;
    strcat(data->name, suffix);
    data->known_nnz = 0; /* those of the whole say nothing of a range */
}

/* Copies the range's rows of a whole, counted from 0, with all columns. */
static enum status cut_range(const range_spec *r, const dataset *whole, dataset *data,
                             error_text *error)
{
    const csr_matrix *const A = &whole->matrix;
    csr_matrix part;
    int64_t first[MOST_RANGES + 1];
    row_ranges_cut(A->row_ptr, A->rows, r->ranges, first);
    const int64_t begin = first[r->range], rows = first[r->range + 1] - begin;
    const int64_t at = A->row_ptr[begin], nnz = A->row_ptr[begin + rows] - at;
    enum status status = csr_alloc(&part, rows, A->cols, nnz, A->values != NULL, error);
    if (status != STATUS_OK) return status;
    for (int64_t i = 0; i <= rows; i++)
        part.row_ptr[i] = A->row_ptr[begin + i] - at;
    memcpy(part.col_idx, A->col_idx + at, nnz * sizeof *part.col_idx);
    if (A->values) memcpy(part.values, A->values + at, nnz * sizeof *part.values);
    *data = *whole;
    data->matrix = part;
    name_range(r, data);
    return STATUS_OK;
}

static enum status open_spec(const registry *r, const char *spec, const char *data_dir,
                             dataset *data, error_text *error)
{
    char path[PATH_BYTES];
    const registry_entry *entry;
    enum status status = identify(r, spec, data_dir, data, &entry, path, error);
    if (status != STATUS_OK) return status;
    if (path[0])
        status = matrix_read(path, &data->matrix, error);
    else if (entry)
        status = open_stand_in(r, entry, data, error);
    else
        status = generate(spec, &data->matrix, data->source, sizeof data->source, error);
    return status == STATUS_OK && entry ? check_counts(entry, data, error) : status;
}

static enum status open_whole(const char *spec, const char *data_dir, dataset *data,
                              error_text *error)
{
    registry r;
    *data = (dataset){0};
    enum status status = registry_load(&r, error);
    if (status != STATUS_OK) return status;
    status = open_spec(&r, spec, data_dir, data, error);
    registry_free(&r);
    if (status != STATUS_OK) dataset_close(data);
    return status;
}

enum status dataset_open_next(const char *spec, const char *data_dir, dataset_whole *kept,
                              dataset *data, error_text *error)
{
    range_spec range;
    *data = (dataset){0};
    enum status status = read_range(spec, &range, error);
    if (status != STATUS_OK) return status;
    if (!range.ranges || strcmp(kept->spec, range.whole) != 0) dataset_whole_close(kept);
    if (!range.ranges) return open_whole(spec, data_dir, data, error);
    if (!kept->spec[0]) {
        status = open_whole(range.whole, data_dir, &kept->data, error);
        if (status != STATUS_OK) return status;
        copy_text(kept->spec, sizeof kept->spec, range.whole);
    }
    return cut_range(&range, &kept->data, data, error);
}

void dataset_whole_close(dataset_whole *kept)
{
    dataset_close(&kept->data);
    kept->spec[0] = '\0';
}

enum status dataset_open(const char *spec, const char *data_dir, dataset *data, error_text *error)
{
    dataset_whole kept = {0};
    const enum status status = dataset_open_next(spec, data_dir, &kept, data, error);
    dataset_whole_close(&kept);
    return status;
}

enum status dataset_identify(const char *spec, const char *data_dir, dataset *data,
                             error_text *error)
{
    registry r;
    char path[PATH_BYTES];
    const registry_entry *entry;
    range_spec range;
    *data = (dataset){0};
    enum status status = read_range(spec, &range, error);
    if (status == STATUS_OK) status = registry_load(&r, error);
    if (status != STATUS_OK) return status;
    status = identify(&r, spec ? range.whole : NULL, data_dir, data, &entry, path, error);
    registry_free(&r);
    if (status == STATUS_OK && range.ranges) name_range(&range, data);
    return status;
}

void dataset_close(dataset *data)
{
    csr_free(&data->matrix);
    *data = (dataset){0};
}
