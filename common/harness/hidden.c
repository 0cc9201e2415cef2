#include "harness/hidden.h"

#include <inttypes.h>
#include <stdio.h>

/* Counts bytes of an output in the rows that have nonzeros behind them: a fill alone cannot have made those. */
static int64_t bytes_with_nonzeros(const problem *p, const output *o)
{
    const int64_t element = (int64_t)precision_format(o->precision)->bytes;
    int64_t bytes = 0;
    for (int64_t row = 0; row < o->rows; row++)
        if (p->operation->row_length(p, row) > 0) bytes += element * output_length(o, row);
    return bytes;
}

bool accesses_hidden(const problem *p, const seen_accesses *seen, char *text, size_t bytes)
{
    for (int i = 0; i < p->num_outputs; i++) {
        const int64_t all = (int64_t)output_bytes(&p->outputs[i]);
        const int64_t stored = bytes_with_nonzeros(p, &p->outputs[i]);
        if (seen->written[i] >= all && seen->stored[i] >= stored) continue;
        snprintf(text, bytes,
                 "%" PRId64 " bytes of %s were seen to be written, of %" PRId64 " right ones",
                 seen->written[i] < all ? seen->written[i] : seen->stored[i], p->outputs[i].name,
                 seen->written[i] < all ? all : stored);
        return true;
    }
    for (int i = 0; i < p->num_inputs && p->operation->needs; i++) {
        const int64_t least = p->operation->needs(p, i, seen->handed);
        if (seen->read[i] >= least) continue;
        snprintf(text, bytes,
                 "%" PRId64
                 " bytes of %s were seen to be read, where a right result takes %" PRId64,
                 seen->read[i], p->inputs[i].name, least);
        return true;
    }
    return false;
}
