#include "matrix/registry.h"

#include "matrix/dataset.h"
#include "matrix/generated_sets.h"

#include <errno.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define REGISTRY "/datasets/registry.tsv"

/* The leading columns of the file; those behind them are for datasets/fetch. */
enum column { NAME, SET, ROWS, COLS, NNZ, STAND_IN, NUM_COLUMNS };

/* ---- where -------------------------------------------------------------------------------- */

const char *project_root(void)
{
    static char root[PATH_BYTES];
    if (root[0]) return root;
    char folder[PATH_BYTES], probe[PATH_BYTES];
    ssize_t length = readlink("/proc/self/exe", folder, sizeof folder - 1);
    if (length < 0) return NULL;
    folder[length] = '\0';
    for (char *slash; (slash = strrchr(folder, '/')) != NULL;) {
        *slash = '\0';
        if (path_join(probe, folder, strlen(folder), REGISTRY) && path_is_file(probe))
            return strcpy(root, *folder ? folder : "/");
    }
    return NULL;
}

/* ---- reading ------------------------------------------------------------------------------ */

static enum status read_text(const char *path, char **text, error_text *error)
{
    FILE *file = fopen(path, "r");
    if (!file)
        return fail(error, STATUS_DATASET, "%s: the list of datasets: %s", path, strerror(errno));
    size_t capacity = 0;
    *text = NULL;
    errno = 0;
    ssize_t length = getdelim(text, &capacity, '\0', file);
    int reason = errno; /* a folder can be opened, but not read */
    fclose(file);
    if (length > 0) return STATUS_OK;
    free(*text);
    *text = NULL;
    return fail(error, STATUS_DATASET, "%s: the list of datasets%s%s", path,
                reason ? ": " : " is empty", reason ? strerror(reason) : "");
}

static bool parse_count(const char *text, int64_t *count)
{
    char *end;
    errno = 0;
    *count = strtoll(text, &end, 10);
    return end != text && *end == '\0' && errno == 0 && *count >= 0;
}

/* Takes `line` apart in place. Returns whether it is a legal entry. */
static bool parse_entry(char *line, registry_entry *e)
{
    char *field[NUM_COLUMNS], *rest = line;
    for (int i = 0; i < NUM_COLUMNS; i++) {
        field[i] = strsep(&rest, "\t");
        if (!field[i] || !field[i][0]) return false;
    }
    *e = (registry_entry){.name = field[NAME], .set = field[SET], .stand_in = field[STAND_IN]};
    return parse_count(field[ROWS], &e->rows) && parse_count(field[COLS], &e->cols) &&
           parse_count(field[NNZ], &e->nnz);
}

static enum status parse(registry *r, const char *path, error_text *error)
{
    size_t lines = 1;
    for (const char *c = r->text; *c; c++)
        lines += *c == '\n';
    r->entry = calloc(lines, sizeof *r->entry);
    if (!r->entry) return fail(error, STATUS_MEMORY, "%s: no memory", path);

    int number = 0;
    char *rest = r->text;
    for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
        number++;
        if (line[0] == '#' || line[0] == '\0') continue;
        if (!parse_entry(line, &r->entry[r->count]))
            return fail(error, STATUS_DATASET,
                        "%s:%d: not name, set, rows, cols, nnz and stand-in, separated by tabs",
                        path, number);
        if (registry_find(r, r->entry[r->count].name))
            return fail(error, STATUS_DATASET, "%s:%d: a second %s", path, number,
                        r->entry[r->count].name);
        r->count++;
    }
    return STATUS_OK;
}

enum status registry_load(registry *r, error_text *error)
{
    *r = (registry){0};
    char path[PATH_BYTES];
    const char *chosen = getenv("SPMM_REGISTRY"), *root = project_root();
    if (chosen && *chosen)
        path_join(path, chosen, strlen(chosen), "");
    else if (root)
        path_join(path, root, strlen(root), REGISTRY);
    else
        return generated_sets_append(r, error);

    enum status status = read_text(path, &r->text, error);
    if (status == STATUS_OK) status = parse(r, path, error);
    if (status == STATUS_OK) status = generated_sets_append(r, error);
    if (status != STATUS_OK)
        registry_free(r);
    else
        snprintf(r->folder, sizeof r->folder, "%s", dirname(path));
    return status;
}

void registry_free(registry *r)
{
    free(r->entry);
    free(r->texts);
    free(r->text);
    *r = (registry){0};
}

const registry_entry *registry_find(const registry *r, const char *name)
{
    for (size_t i = 0; i < r->count; i++) {
        if (strcmp(r->entry[i].name, name) == 0) return &r->entry[i];
    }
    return NULL;
}
