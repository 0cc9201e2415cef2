#include "matrix/dataset.h"

#include "matrix/dataset_search.h"
#include "matrix/generate.h"
#include "matrix/nearest.h"
#include "matrix/reader.h"
#include "matrix/registry.h"
#include "matrix/standin.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define SAMPLE "samples/market.mtx" /* beside the registry */

const char *dataset_origin_name(enum dataset_origin origin)
{
    static const char *const names[] = {
        [ORIGIN_REAL] = "real",         [ORIGIN_FILE] = "file",
        [ORIGIN_STAND_IN] = "stand-in", [ORIGIN_GENERATED] = "generated",
        [ORIGIN_SAMPLE] = "sample",
    };
    return names[origin];
}

/* What does not fit is cut off: these texts are for people. */
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
    data->origin = ORIGIN_STAND_IN;
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

static enum status open_entry(const registry *r, const registry_entry *e, const char *data_dir,
                              dataset *data, error_text *error)
{
    dataset_search s;
    char path[PATH_BYTES];
    enum status status = dataset_search_begin(&s, data_dir, r, error);
    if (status != STATUS_OK) return status;
    if (dataset_search_file(&s, e->name, path)) {
        data->origin = ORIGIN_REAL;
        copy_text(data->source, sizeof data->source, path);
        status = matrix_read(path, &data->matrix, error);
    } else {
        status = open_stand_in(r, e, data, error);
    }
    if (status != STATUS_OK) return status;
    return check_counts(e, data, error);
}

/* What to call a file: by its name alone, or by its path in an unpacked DLMC, where a layer has the
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

static enum status open_path(const char *path, enum dataset_origin origin, dataset *data,
                             error_text *error)
{
    name_file(path, data);
    copy_text(data->source, sizeof data->source, path);
    data->origin = origin;
    return matrix_read(path, &data->matrix, error);
}

static enum status refuse_unknown(const registry *r, const char *spec, error_text *error)
{
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

static enum status open_spec(const registry *r, const char *spec, const char *data_dir,
                             dataset *data, error_text *error)
{
    if (!spec) {
        char path[PATH_BYTES];
        path_join(path, r->folder, strlen(r->folder), "/" SAMPLE);
        if (!r->folder[0] || !path_is_file(path))
            return fail(error, STATUS_DATASET,
                        "the bundled sample is not here (datasets/" SAMPLE " above the program)");
        return open_path(path, ORIGIN_SAMPLE, data, error);
    }
    if (dataset_is_set(spec))
        return fail(error, STATUS_DATASET, "%s: a set of datasets; one is needed here", spec);

    copy_text(data->name, sizeof data->name, spec);
    const registry_entry *entry = registry_find(r, spec);
    if (entry) return open_entry(r, entry, data_dir, data, error);
    if (dataset_is_path(spec)) return open_path(spec, ORIGIN_FILE, data, error);
    if (!is_generator_spec(spec)) return refuse_unknown(r, spec, error);
    data->origin = ORIGIN_GENERATED;
    return generate(spec, &data->matrix, data->source, sizeof data->source, error);
}

enum status dataset_open(const char *spec, const char *data_dir, dataset *data, error_text *error)
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

void dataset_close(dataset *data)
{
    csr_free(&data->matrix);
    *data = (dataset){0};
}
