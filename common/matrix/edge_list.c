#include "matrix/edge_list.h"

#include <inttypes.h>

enum { USUAL_EDGES = 1 << 16 };

static enum status read_edges(text_input *in, int64_t largest, coo_list *list, int64_t *largest_met,
                              error_text *error)
{
    enum status status = STATUS_OK;
    *largest_met = -1;
    while (status == STATUS_OK && text_next_entry(in, '#', '%')) {
        int64_t source, target;
        status = text_int(in, "a source vertex", 0, largest, &source, error);
        if (status != STATUS_OK) break;
        text_skip_separator(in);
        status = text_int(in, "a target vertex", 0, largest, &target, error);
        if (status == STATUS_OK) status = text_end_line(in, error);
        if (status != STATUS_OK) break;
        status = coo_push(list, (int32_t)source, (int32_t)target, 0, error);
        if (source > *largest_met) *largest_met = source;
        if (target > *largest_met) *largest_met = target;
    }
    return status;
}

/* Ids that are no numbering from 0 up (hashes, phone numbers) would give a matrix of billions of
 * empty rows for a few edges. */
static enum status check_largest(const text_input *in, int64_t largest, int64_t edges,
                                 error_text *error)
{
    if (largest <= (1 << 20) + 1000 * edges) return STATUS_OK;
    return fail(
        error, STATUS_DATASET,
        "%s: vertex %" PRId64 " is absurd for %" PRId64
        " edges: number the vertices from 0 up, or use a format that states its size (.mtx)",
        in->name, largest, edges);
}

enum status edge_list_read(text_input *in, int64_t vertices, int64_t edges, csr_matrix *A,
                           error_text *error)
{
    int64_t largest_met, largest = (vertices == EDGE_LIST_ANY ? INT32_MAX : vertices) - 1;
    coo_list list;
    enum status status = coo_init(&list, USUAL_EDGES, false, error);
    if (status != STATUS_OK) return status;

    status = read_edges(in, largest, &list, &largest_met, error);
    if (status == STATUS_OK) status = text_finish(in, "the last edge", error);
    if (status != STATUS_OK) goto cleanup;
    if (edges != EDGE_LIST_ANY && list.count != edges) {
        status = text_fail(in, error, "the list ends after %" PRId64 " of %" PRId64 " edges",
                           list.count, edges);
        goto cleanup;
    }
    if (vertices == EDGE_LIST_ANY && list.count == 0) {
        status = text_fail(in, error, "the list ends without an edge");
        goto cleanup;
    }
    if (vertices == EDGE_LIST_ANY) {
        status = check_largest(in, largest_met, list.count, error);
        if (status != STATUS_OK) goto cleanup;
        vertices = largest_met + 1;
    }
    status = csr_from_coo(&list, vertices, vertices, A, in->name, error);

cleanup:
    coo_free(&list);
    return status;
}
