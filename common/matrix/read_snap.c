/*
 * read_snap.c - edge lists as the SNAP collection and its kin publish them: "source target" a line,
 * ids from 0, comments behind '#' or '%', values in a third column. The result is square, with the largest id + 1 vertices,
 * and each line is one directed edge as given: a list that holds every undirected edge once (as
 * .ungraph files do) gives the matrix of those directions only.
 */
#include "matrix/edge_list.h"
#include "matrix/paths.h"
#include "matrix/reader.h"

#include <string.h>

static bool has_list_name(const char *path)
{
    static const char *const suffixes[] = {".txt", ".ungraph", ".edges", ".edgelist",
                                           ".el",  ".tsv",     ".csv"};
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        if (path_is_text(path, suffixes[i])) return true;
    }
    return false;
}

/* Skips what `set` holds, but not beyond `end`. */
static const char *skip(const char *p, const char *end, const char *set)
{
    while (p < end && *p && strchr(set, *p))
        p++;
    return p;
}

/* Whether the first line that is neither blank nor a comment holds two integers and no more. */
static bool begins_with_edge(const char *head, size_t head_bytes)
{
    const char *p = head, *end = head + head_bytes;
    for (;;) {
        p = skip(p, end, " \t\r\n");
        if (p == end || (*p != '#' && *p != '%')) break;
        const char *newline = memchr(p, '\n', (size_t)(end - p));
        p = newline ? newline : end;
    }
    const char *source = p, *source_end = skip(p, end, "0123456789");
    const char *target = skip(source_end, end, ", \t"),
               *target_end = skip(target, end, "0123456789");
    const char *rest = skip(target_end, end, " \t\r");
    return source_end > source && target > source_end && target_end > target &&
           (rest == end || *rest == '\n');
}

static int recognise(const char *path, const char *head, size_t head_bytes)
{
    if (head_bytes == 0) return 0;
    if (begins_with_edge(head, head_bytes)) return has_list_name(path) ? 60 : 40;
    return has_list_name(path) ? 20 : 0;
}

static enum status read_snap(const char *path, csr_matrix *A, error_text *error)
{
    text_input in;
    enum status status = text_open(&in, path, error);
    if (status != STATUS_OK) return status;
    status = edge_list_read(&in, EDGE_LIST_ANY, EDGE_LIST_ANY, A, error);
    text_close(&in);
    return status;
}

static matrix_reader snap = {
    .name = "snap",
    .description = "edge list, one directed edge a line (.txt, .ungraph, .edges, .csv; .gz)",
    .recognise = recognise,
    .read = read_snap,
    .text_files = reader_own_file,
};
REGISTER_MATRIX_READER(snap)
