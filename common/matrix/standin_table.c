#include "matrix/standin_table.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The parsers below return whether `text`, the rest of a line behind its keyword, is legal. */

static bool parse_lengths(const char *text, standin_table *t)
{
    return snprintf(t->lengths, sizeof t->lengths, "%s", text) > 0;
}

static bool parse_order(const char *text, standin_table *t)
{
    snprintf(t->order, sizeof t->order, "%s", text);
    if (strcmp(text, "shuffled") == 0) return true;
    return sscanf(text, "longest-first %lf", &t->longest_first) == 1 && t->longest_first > 0 &&
           t->longest_first < 1;
}

static bool parse_columns(const char *text, standin_table *t)
{
    column_model *m = &t->model;
    snprintf(t->columns, sizeof t->columns, "%s", text);
    if (strcmp(text, "even") == 0) {
        m->popularity = COLUMNS_EVEN;
        return true;
    }
    if (strcmp(text, "by-length") == 0) {
        m->popularity = COLUMNS_BY_LENGTH;
        return true;
    }
    m->popularity = COLUMNS_RANKED;
    return sscanf(text, "ranked %d %d", &m->power, &m->flat) == 2 && m->power >= 1 && m->flat >= 0;
}

static bool parse_near(const char *text, standin_table *t)
{
    column_model *m = &t->model;
    return sscanf(text, "%lf %" SCNd64, &m->near, &m->window) == 2 && m->near >= 0 &&
           m->near <= 1 && m->window >= 0;
}

static bool parse_repeats(const char *text, standin_table *t)
{
    double *repeats = &t->model.repeats;
    return sscanf(text, "%lf", repeats) == 1 && *repeats >= 0 && *repeats < 1;
}

static bool parse_seed(const char *text, standin_table *t)
{
    return sscanf(text, "%" SCNu64, &t->seed) == 1;
}

/* A bin must leave room between its shortest and its longest row for the others. */
static bool parse_bin(const char *text, standin_table *t)
{
    if (t->num_bins == MAX_STANDIN_BINS) return false;
    length_bin *b = &t->bin[t->num_bins];
    if (sscanf(text, "%" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64, &b->shortest, &b->longest,
               &b->rows, &b->nnz) != 4)
        return false;
    int64_t above = t->num_bins ? t->bin[t->num_bins - 1].longest : -1;
    if (b->shortest <= above || b->longest < b->shortest || b->longest > INT32_MAX || b->rows < 1 ||
        b->rows > INT32_MAX - t->rows)
        return false;
    int64_t ends = b->rows == 1 ? b->longest : b->shortest + b->longest;
    int64_t others = b->rows == 1 ? 0 : b->rows - 2;
    if (b->rows == 1 && b->shortest != b->longest) return false;
    if (b->nnz < ends + others * b->shortest || b->nnz > ends + others * b->longest) return false;
    t->num_bins++;
    t->rows += b->rows;
    t->nnz += b->nnz;
    return true;
}

static const struct {
    const char *word;
    bool (*parse)(const char *text, standin_table *t);
} keywords[] = {
    {"lengths", parse_lengths}, {"order", parse_order},     {"columns", parse_columns},
    {"near", parse_near},       {"repeats", parse_repeats}, {"seed", parse_seed},
};

enum { NUM_KEYWORDS = sizeof keywords / sizeof keywords[0] };

/* Takes one line apart; *seen collects the keywords met, a bit each. */
static bool parse_line(char *line, standin_table *t, unsigned *seen)
{
    line[strcspn(line, "\r\n")] = '\0';
    if (line[0] == '#' || line[0] == '\0') return true;
    size_t length = strcspn(line, " \t");
    for (unsigned k = 0; k < NUM_KEYWORDS; k++) {
        if (strlen(keywords[k].word) != length || strncmp(line, keywords[k].word, length) != 0)
            continue;
        *seen |= 1u << k;
        return keywords[k].parse(line + length + strspn(line + length, " \t"), t);
    }
    return parse_bin(line, t);
}

enum status standin_table_read(const char *path, standin_table *table, error_text *error)
{
    *table = (standin_table){.model = {.empty_diagonal = true}};
    FILE *file = fopen(path, "r");
    if (!file)
        return fail(error, STATUS_DATASET, "%s: the stand-in's table: %s", path, strerror(errno));

    enum status status = STATUS_OK;
    unsigned seen = 0;
    char line[512];
    for (int number = 1; status == STATUS_OK && fgets(line, sizeof line, file); number++) {
        if (!parse_line(line, table, &seen))
            status = fail(error, STATUS_DATASET,
                          "%s:%d: '%s' is no line of a stand-in's table (standin_table.h)", path,
                          number, line);
    }
    fclose(file);
    for (unsigned k = 0; status == STATUS_OK && k < NUM_KEYWORDS; k++) {
        if (!(seen >> k & 1))
            status = fail(error, STATUS_DATASET, "%s: no line '%s ...'", path, keywords[k].word);
    }
    if (status == STATUS_OK && table->num_bins == 0)
        status = fail(error, STATUS_DATASET, "%s: no row lengths", path);
    return status;
}
