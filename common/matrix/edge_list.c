#include "matrix/edge_list.h"

#include <ctype.h>
#include <inttypes.h>

enum { USUAL_EDGES = 1 << 16 };

static void skip_column_names(text_input *in)
{
    if (text_next_entry(in, '#', '%') && (isalpha((unsigned char)*in->at) || *in->at == '"'))
        text_skip_line(in);
}

static bool at_line_end(text_input *in)
{
    text_skip_blanks(in);
    return text_at_line_end(in);
}

/* Reads the numbers behind an edge up to the end of its line. *columns, those of every line, is 0
 * before the first. */
static enum status read_rest(text_input *in, int *columns, float *value, error_text *error)
{
    enum { EDGE = 2, MOST = 4 };
    int met = EDGE;
    float ignored;
    *value = 0;
    while (!at_line_end(in) && met < (*columns ? *columns : MOST)) {
        text_skip_separator(in);
        enum status status = met == EDGE ? text_float(in, "a value", value, error)
                                         : text_float(in, "a number", &ignored, error);
        if (status != STATUS_OK) return status;
        met++;
    }
    if (*columns == 0) *columns = met;
    if (met < *columns)
        return text_fail(in, error, "this line has %d numbers, the first one has %d", met,
                         *columns);
    return text_end_line(in, error);
}

static enum status read_edges(text_input *in, int64_t largest, coo_list *list, int64_t *largest_met,
                              error_text *error)
{
    enum status status = STATUS_OK;
    *largest_met = -1;
    skip_column_names(in);
    int columns = 0;
    while (status == STATUS_OK && text_next_entry(in, '#', '%')) {
        int64_t source, target;
        float value;
        status = text_int(in, "a source vertex", 0, largest, &source, error);
        if (status != STATUS_OK) break;
        text_skip_separator(in);
        status = text_int(in, "a target vertex", 0, largest, &target, error);
        bool first = columns == 0;
        if (status == STATUS_OK) status = read_rest(in, &columns, &value, error);
        if (status == STATUS_OK && first) status = coo_init(list, USUAL_EDGES, columns > 2, error);
        if (status != STATUS_OK) break;
        status = coo_push(list, (int32_t)source, (int32_t)target, value, error);
        if (source > *largest_met) *largest_met = source;
        if (target > *largest_met) *largest_met = target;
    }
    return status;
}

enum status edge_list_read(text_input *in, int64_t vertices, int64_t edges, csr_matrix *A,
                           error_text *error)
{
    int64_t largest_met, largest = (vertices == EDGE_LIST_ANY ? INT32_MAX : vertices) - 1;
    coo_list list = {0};
    enum status status = read_edges(in, largest, &list, &largest_met, error);
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
    /* Ids that are hashes or phone numbers are refused there, by csr_check_side. */
    if (vertices == EDGE_LIST_ANY) vertices = largest_met + 1;
    status = csr_from_coo(&list, vertices, vertices, A, in->name, error);

cleanup:
    coo_free(&list);
    return status;
}
