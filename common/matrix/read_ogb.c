/*
 * read_ogb.c - the raw files of the Open Graph Benchmark: edge.csv.gz with "source,target" a line,
 * and beside it num-node-list.csv.gz and num-edge-list.csv.gz with one count each. Named by the
 * edge file or by the folder. Row = source, as given; undirected graphs hold each edge once.
 */
#include "matrix/edge_list.h"
#include "matrix/paths.h"
#include "matrix/reader.h"

#include <string.h>

/* The edge file of `path`, and the length of what stands before "edge.csv" in its name, which the
 * names of its companions share: "raw/", "ogbl-ddi.". False if there is none. */
static bool find_edges(const char *path, char edges[PATH_BYTES], size_t *prefix)
{
    if (path_is_folder(path)) {
        char folder[PATH_BYTES];
        if (!path_join(folder, path, strlen(path), "/")) return false;
        *prefix = strlen(folder);
        return path_find_text(edges, folder, *prefix, "edge.csv");
    }
    if (!path_is_text(path, "edge.csv") || !path_join(edges, path, strlen(path), "")) return false;
    *prefix = strlen(path) - strlen("edge.csv") - (path_ends_with(path, ".gz") ? 3 : 0);
    return *prefix == 0 || path[*prefix - 1] == '/' || path[*prefix - 1] == '.';
}

static int recognise(const char *path, const char *head, size_t head_bytes)
{
    (void)head;
    (void)head_bytes;
    char edges[PATH_BYTES];
    size_t prefix;
    return find_edges(path, edges, &prefix) ? 90 : 0;
}

/* Reads the one number of a companion file, or leaves EDGE_LIST_ANY if there is no such file. */
static enum status read_count(const char *edges, size_t prefix, const char *companion, int64_t most,
                              int64_t *count, error_text *error)
{
    char path[PATH_BYTES];
    *count = EDGE_LIST_ANY;
    if (!path_find_text(path, edges, prefix, companion)) return STATUS_OK;
    text_input in;
    enum status status = text_open(&in, path, error);
    if (status != STATUS_OK) return status;
    status = text_int(&in, "a count", 0, most, count, error);
    if (status == STATUS_OK)
        status = text_finish(&in, "the count (a list of several graphs is not supported)", error);
    text_close(&in);
    return status;
}

static enum status read_ogb(const char *path, csr_matrix *A, error_text *error)
{
    char edges[PATH_BYTES];
    size_t prefix;
    if (!find_edges(path, edges, &prefix))
        return fail(error, STATUS_DATASET, "%s: there is no edge.csv.gz", path);
    int64_t num_vertices, num_edges;
    enum status status =
        read_count(edges, prefix, "num-node-list.csv", INT32_MAX, &num_vertices, error);
    if (status == STATUS_OK)
        status = read_count(edges, prefix, "num-edge-list.csv", INT64_MAX, &num_edges, error);
    if (status != STATUS_OK) return status;

    text_input in;
    status = text_open(&in, edges, error);
    if (status != STATUS_OK) return status;
    status = edge_list_read(&in, num_vertices, num_edges, A, error);
    text_close(&in);
    return status;
}

static void text_files(const char *path, reader_files *files)
{
    size_t prefix;
    if (!find_edges(path, files->path[0], &prefix)) return;
    files->count = 1;
    static const char *const companions[] = {"num-node-list.csv", "num-edge-list.csv"};
    for (int i = 0; i < 2; i++) {
        if (path_find_text(files->path[files->count], files->path[0], prefix, companions[i]))
            files->count++;
    }
}

static matrix_reader ogb = {
    .name = "ogb",
    .description = "OGB raw folder or its edge.csv.gz, one directed edge a line",
    .recognise = recognise,
    .read = read_ogb,
    .text_files = text_files,
};
REGISTER_MATRIX_READER(ogb)
