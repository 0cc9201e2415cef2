/*
 * dataset.h - from the word DATASET on the command line to a matrix that says where it came from.
 */
#ifndef MATRIX_DATASET_H
#define MATRIX_DATASET_H

#include "matrix/csr.h"
#include "matrix/paths.h"

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

enum dataset_origin {
    ORIGIN_REAL,      /* a registry name, found as a file with exactly the registry's counts */
    ORIGIN_FILE,      /* a file the user named */
    ORIGIN_STAND_IN,  /* a registry name, generated with the published counts and row lengths */
    ORIGIN_GENERATED, /* rand:, weights:, grid: ... */
    ORIGIN_SAMPLE     /* the bundled sample */
};

typedef struct dataset {
    char name[128]; /* "arxiv", "web.mtx", "rand:rows=1000,deg=8"; of a file below a folder "dlmc"
                       its path from there, without .smtx: layers have the same name in many */
    enum dataset_origin origin;
    char source[1024]; /* the file's path, or the generator with every parameter spelled out */
    bool decoded; /* weights that a language model reads once for each token it decodes: they are
                          multiplied by a few columns, and no cache holds them */
    int64_t known_rows, known_cols, known_nnz; /* by the registry; 0: it has no such name */
    csr_matrix matrix;
} dataset;

/* "real", "file", "stand-in", "generated", "sample": the words of the row schema. */
const char *dataset_origin_name(enum dataset_origin origin);

/* Opens what `spec` names:
 *   NULL                     the bundled sample
 *   arxiv, rnn.gru-2048-0.8  a name of datasets/registry.tsv, or of generated_sets.h: its file in data_dir (may be NULL),
 *                            then $SPMM_DATA_DIR, then datasets/data/; else its stand-in
 *   stand-in:arxiv           the stand-in of that name, even where its file is here
 *   rand:... weights:... grid:...  a generator (generate.h has the list)
 *   a path                   a file of any format in reader.h, or a lab-format base name
 *   products@3/8             range 3, counted from 0, of the rows of any of these, cut into 8 of like work (row_cut.h)
 * A registry name whose file disagrees with the registry's counts is an error, not a stand-in. So
 * is a data_dir or $SPMM_DATA_DIR that is no folder.
 * An unknown name fails with STATUS_DATASET and the nearest name in the message.
 * $SPMM_REGISTRY names another registry; its data/ and samples/ then stand beside it. */
enum status dataset_open(const char *spec, const char *data_dir, dataset *data, error_text *error);
void dataset_close(dataset *data);

/* A whole that ranges are cut from: kept between them, since making it may take longer than all else. Zeros: none yet. */
typedef struct dataset_whole {
    char spec[PATH_BYTES];
    dataset data;
} dataset_whole;

/* The same as dataset_open, for one spec after another. A range of the whole that *kept has is cut from it; what *kept had for
 * another one is freed. The caller closes both. */
enum status dataset_open_next(const char *spec, const char *data_dir, dataset_whole *kept,
                              dataset *data, error_text *error);
void dataset_whole_close(dataset_whole *kept);

/* The same without the matrix, which stays empty: nothing is read or generated, and nothing is to be
 * closed. `source` of a stand-in is what the registry makes it of. */
enum status dataset_identify(const char *spec, const char *data_dir, dataset *data,
                             error_text *error);

/* The matrices that `spec` stands for, each a spec for dataset_open:
 *   set:graphs           the members of a set, in registry order
 *   set:rnn/lstm/0.9     those of them whose names hold every one of these words
 *   set:dlmc/rn50        the .smtx files below the first of data_dir, $SPMM_DATA_DIR and
 *                        datasets/data/ that has any; words are looked for in their paths
 *   a folder             the matrix files in it and below, by path
 *   products@all/8       all eight ranges of its rows
 *   anything else        itself, NULL too
 * *names is an array of `*count` strings, to be freed with dataset_names_free. STATUS_DATASET for an
 * unknown set, with the nearest one, and where there would be no member. */
enum status dataset_expand(const char *spec, const char *data_dir, char ***names, size_t *count,
                           error_text *error);
void dataset_names_free(char **names, size_t count);

/* Writes what a user can name, for --list. The registry comes with counts, sets and whether the
 * real file is here. Each set that a rule makes has a line. So have the generators with their keys,
 * and the file formats. Writes nothing where a folder that the user named, or the registry, is not
 * there (STATUS_DATASET). */
enum status dataset_list(FILE *out, const char *data_dir, error_text *error);

/* The folder that holds datasets/registry.tsv: found by walking up from the running program, so
 * that a lab works from any working directory. NULL if there is none. */
const char *project_root(void);

#ifdef __cplusplus
}
#endif
#endif
