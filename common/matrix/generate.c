#include "matrix/generate.h"

#include "matrix/memory.h"
#include "matrix/nearest.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const generator *const all[] = {&rand_generator,    &weights_generator, &mask_generator,
                                       &blocks_generator,  &grid_generator,    &road_generator,
                                       &graph_generator,   &banded_generator,  &arrow_generator,
                                       &islands_generator, &words_generator,   &powerlaw_generator};

enum { NUM_GENERATORS = sizeof all / sizeof all[0], WORD_BYTES = 32 };

const generator *const *generators(size_t *count)
{
    *count = NUM_GENERATORS;
    return all;
}

/* A word of letters only: neither a path nor a drive. */
bool is_generator_spec(const char *spec)
{
    size_t letters = strspn(spec, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");
    return letters > 1 && letters < WORD_BYTES && spec[letters] == ':';
}

static const generator *find_generator(const char *spec, error_text *error)
{
    const char *names[NUM_GENERATORS];
    size_t length = strcspn(spec, ":");
    for (size_t i = 0; i < NUM_GENERATORS; i++) {
        names[i] = all[i]->name;
        if (strlen(names[i]) == length && strncmp(names[i], spec, length) == 0) return all[i];
    }
    char word[WORD_BYTES];
    snprintf(word, sizeof word, "%.*s", (int)length, spec);
    const char *near = nearest_match(word, names, NUM_GENERATORS);
    fail(error, STATUS_DATASET, "%s: no generator '%s'; did you mean %s: ? (--list shows them)",
         spec, word, near ? near : "rand");
    return NULL;
}

/* ---- values ------------------------------------------------------------------------------- */

static void print_words(const generator_key *key, char *text, size_t bytes)
{
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; key->words[i] && used < bytes; i++)
        used += (size_t)snprintf(text + used, bytes - used, "%s%s", i ? ", " : "", key->words[i]);
}

/* The index of `text` among the words of `key`, or -1. */
static int find_word(const generator_key *key, const char *text)
{
    for (int i = 0; key->words[i]; i++) {
        if (strcmp(key->words[i], text) == 0) return i;
    }
    return -1;
}

static enum status refuse_text(const generator *g, const generator_key *key, const char *text,
                               error_text *error)
{
    return fail(error, STATUS_DATASET, "%s: %s=%s: %s is a %s from %.10g to %.10g", g->name,
                key->name, text, key->name, key->whole ? "whole number" : "number", key->low,
                key->high);
}

static enum status parse_value(const generator *g, const generator_key *key, const char *text,
                               double *value, error_text *error)
{
    if (key->words) {
        int index = find_word(key, text);
        if (index < 0) {
            char words[128];
            print_words(key, words, sizeof words);
            return fail(error, STATUS_DATASET, "%s: %s=%s: %s is one of %s", g->name, key->name,
                        text, key->name, words);
        }
        *value = index;
        return STATUS_OK;
    }
    char *end;
    *value = strtod(text, &end);
    bool legal = end != text && *end == '\0' && *value >= key->low && *value <= key->high;
    if (!legal || (key->whole && *value != floor(*value))) return refuse_text(g, key, text, error);
    return STATUS_OK;
}

enum status generator_refuse(const generator *g, int key, double value, double low, double high,
                             const char *reason, error_text *error)
{
    return fail(error, STATUS_DATASET, "%s: %s=%.10g: %s; here %s is from %.10g to %.10g", g->name,
                g->keys[key].name, value, reason, g->keys[key].name, low, high);
}

enum status generator_count(const generator *g, double *value, int nnz_key, int deg_key,
                            double usual_deg, int64_t rows, double low, double high, int64_t *nnz,
                            error_text *error)
{
    const bool by_deg = isnan(value[nnz_key]);
    if (!by_deg && !isnan(value[deg_key]))
        return fail(error, STATUS_DATASET, "%s: %s and %s exclude each other", g->name,
                    g->keys[deg_key].name, g->keys[nnz_key].name);
    const double unit = by_deg && rows > 0 ? (double)rows : 1; /* entries for 1 of the key */
    const double given =
        by_deg ? generator_value(value, deg_key, fmin(fmax(usual_deg, low / unit), high / unit))
               : value[nnz_key];
    *nnz = (int64_t)(by_deg ? given * (double)rows + 0.5 : given);
    if ((double)*nnz >= low && (double)*nnz <= high) return STATUS_OK;
    return generator_refuse(g, by_deg ? deg_key : nnz_key, given, low / unit, high / unit,
                            "the rows hold so many entries", error);
}

double generator_value(double *value, int key, double fallback)
{
    if (isnan(value[key])) value[key] = fallback;
    return value[key];
}

enum status generate_part(const generator *g, double *value, const row_pattern *pattern,
                          int nnz_key, int seed_key, csr_matrix *A, error_text *error)
{
    /* Counting takes minutes where the matrix is far too large: half of a middle row stands for each. */
    const int64_t middle =
        pattern->rows > 0 ? pattern->columns_of(pattern->shape, pattern->rows / 2, NULL) : 0;
    const double entries = isnan(value[nnz_key]) ? (double)pattern->rows * (double)middle / 2 : 0;
    const double bytes = ((double)pattern->rows + 1) * sizeof(int64_t) + entries * sizeof(int32_t);
    enum status status = memory_check((int64_t)fmin(bytes, 0x1p62), "the matrix", error);
    if (status != STATUS_OK) return status;
    const int64_t places = pattern_count(pattern);
    const double nnz = isnan(value[nnz_key]) ? (double)places : value[nnz_key];
    const uint64_t seed = (uint64_t)generator_value(value, seed_key, 1);
    if (nnz > (double)places)
        return generator_refuse(g, nnz_key, nnz, 0, (double)places, "that many entries fit", error);
    /* A double rounds a number of places beyond 2^53, which no memory holds either. */
    const int64_t wanted = isnan(value[nnz_key]) ? places : (int64_t)nnz;
    return pattern_fill(pattern, places, wanted, seed, A, error);
}

/* ---- the text ----------------------------------------------------------------------------- */

/* The index of the key `word`, or -1. */
static int find_key(const generator *g, const char *word, error_text *error)
{
    const char *names[MAX_GENERATOR_KEYS];
    for (int k = 0; k < g->num_keys; k++) {
        names[k] = g->keys[k].name;
        if (strcmp(names[k], word) == 0) return k;
    }
    char keys[160];
    size_t used = 0;
    for (int k = 0; k < g->num_keys && used < sizeof keys; k++)
        used += (size_t)snprintf(keys + used, sizeof keys - used, "%s%s", k ? " " : "", names[k]);
    const char *near = nearest_match(word, names, (size_t)g->num_keys);
    fail(error, STATUS_DATASET, "%s: no key '%s'%s%s%s (keys: %s)", g->name, word,
         near ? "; did you mean " : "", near ? near : "", near ? "?" : "", keys);
    return -1;
}

/* Parses "key=value,key=value" into value[]; `text` is cut to pieces. */
static enum status parse_pairs(const generator *g, char *text, double *value, error_text *error)
{
    char *rest = text;
    for (char *pair; (pair = strsep(&rest, ",")) != NULL;) {
        if (*pair == '\0') continue;
        char *number = strchr(pair, '=');
        if (number) *number++ = '\0';
        int k = find_key(g, pair, error);
        if (k < 0) return STATUS_DATASET;
        if (!number)
            return fail(error, STATUS_DATASET, "%s: %s needs a value: %s=...", g->name, pair, pair);
        if (!isnan(value[k]))
            return fail(error, STATUS_DATASET, "%s: %s is given twice", g->name, pair);
        enum status status = parse_value(g, &g->keys[k], number, &value[k], error);
        if (status != STATUS_OK) return status;
    }
    return STATUS_OK;
}

static void print_source(const generator *g, const double *value, char *text, size_t bytes)
{
    size_t used = (size_t)snprintf(text, bytes, "%s:", g->name);
    const char *separator = "";
    for (int k = 0; k < g->num_keys && used < bytes; k++) {
        const generator_key *key = &g->keys[k];
        if (isnan(value[k])) continue;
        if (key->words)
            used += (size_t)snprintf(text + used, bytes - used, "%s%s=%s", separator, key->name,
                                     key->words[(int)value[k]]);
        else
            used += (size_t)snprintf(text + used, bytes - used, "%s%s=%.*g", separator, key->name,
                                     key->whole ? 17 : 10, value[k]);
        separator = ",";
    }
}

enum status generate(const char *spec, csr_matrix *A, char *source, size_t source_bytes,
                     error_text *error)
{
    *A = (csr_matrix){0};
    const generator *g = find_generator(spec, error);
    if (!g) return STATUS_DATASET;

    double value[MAX_GENERATOR_KEYS];
    for (int k = 0; k < g->num_keys; k++)
        value[k] = NAN;
    char *text = strdup(strchr(spec, ':') + 1);
    if (!text) return fail(error, STATUS_MEMORY, "no memory");
    enum status status = parse_pairs(g, text, value, error);
    free(text);
    if (status == STATUS_OK) status = g->make(g, value, A, error);
    if (status != STATUS_OK) {
        csr_free(A);
        return status;
    }
    print_source(g, value, source, source_bytes);
    return STATUS_OK;
}
