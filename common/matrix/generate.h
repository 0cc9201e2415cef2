/*
 * generate.h - matrices made from a line of text: "rand:rows=1000,deg=8,skew=1.5".
 *
 * A generator has a name, a table of keys and a function. The text is parsed and checked here, so
 * that every generator has the same grammar and the same error messages.
 */
#ifndef MATRIX_GENERATE_H
#define MATRIX_GENERATE_H

#include "matrix/csr.h"
#include "matrix/pattern.h"

#define LARGEST_SIDE 2147483647.0     /* INT32_MAX */
#define LARGEST_SEED 9007199254740992 /* 2^53: above it a double skips whole numbers */

enum { MAX_GENERATOR_KEYS = 12 };

typedef struct generator_key {
    const char *name;
    const char *meaning;      /* for people */
    double low, high;         /* the legal values */
    bool whole;               /* whole numbers only */
    const char *const *words; /* or NULL-terminated words: the value is the index of one */
} generator_key;

typedef struct generator {
    const char *name; /* "rand" */
    const char *summary;
    const generator_key *keys;
    int num_keys;
    /* Makes the matrix. value[k] is what the user gave for key k, NAN where it gave nothing. On
     * success value[] holds what was used for every key (NAN for one that has no meaning here). So
     * the source of the matrix can be spelled out. *A is zeroed on entry. */
    enum status (*make)(const struct generator *self, double *value, csr_matrix *A,
                        error_text *error);
} generator;

/* All generators, and how many: for --list and for the nearest match. */
const generator *const *generators(size_t *count);

/* Whether `spec` begins with "word:" for a short word: it is then a generator, or meant to be. */
bool is_generator_spec(const char *spec);

/* Makes the matrix that `spec` describes; the caller frees it. `source` receives the same text with
 * every parameter in it. Fails with STATUS_DATASET and a line that names the key, its legal values
 * and, for a mistyped name, the nearest one; STATUS_MEMORY if the matrix does not fit. */
enum status generate(const char *spec, csr_matrix *A, char *source, size_t source_bytes,
                     error_text *error);

/* For make(): refuses value[key], whose legal values here are low .. high, because of `reason`. */
enum status generator_refuse(const generator *g, int key, double value, double low, double high,
                             const char *reason, error_text *error);

/* For make(): value[key] if given, else `fallback`, which is stored there. */
double generator_value(double *value, int key, double fallback);

/* For make(): *nnz is value[nnz_key], or value[deg_key] for each of `rows` rows (usual_deg, as far as it is legal, where
 * neither is given). Refuses both together, and what is outside low .. high entries. */
enum status generator_count(const generator *g, double *value, int nnz_key, int deg_key,
                            double usual_deg, int64_t rows, double low, double high, int64_t *nnz,
                            error_text *error);

/* For make(): the matrix of a pattern with value[nnz_key] of its entries, drawn by value[seed_key]; all of them where no
 * number is given. Refuses more than there are. */
enum status generate_part(const generator *g, double *value, const row_pattern *pattern,
                          int nnz_key, int seed_key, csr_matrix *A, error_text *error);

extern const generator rand_generator, weights_generator, mask_generator, blocks_generator,
    grid_generator, road_generator, graph_generator, banded_generator, arrow_generator,
    islands_generator, words_generator, powerlaw_generator;

#endif
