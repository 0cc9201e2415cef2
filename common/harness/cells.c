#include "harness/cells.h"

#include "harness/chosen.h"
#include "harness/device.h"
#include "harness/provenance.h"
#include "matrix/dataset.h"
#include "results/csv.h"
#include "results/row.h"

#include <inttypes.h>

/* The last lab of a precision among those that are run; NULL if none has it. */
static const contender *last_lab(enum precision precision, const options *o)
{
    const contender *last = NULL;
    for (const contender *c = contenders(); c; c = c->next)
        if (c->lab && c->precision == precision && contender_is_chosen(c, o)) last = c;
    return last;
}

static void write_cell(FILE *out, const options *o, const dataset *d, const char *spec, int N,
                       const contender *c)
{
    char flags[sizeof((row *)0)->flags];
    options_flags(o, flags, sizeof flags);
    fprintf(out, "%d,%s,%d,%s,%s,", ROW_SCHEMA, c->operation->name, c->lab, c->name,
            precision_name(c->precision));
    csv_text(out, d->name);
    fprintf(out, ",%s,", dataset_origin_name(d->origin));
    csv_text(out, d->source);
    fprintf(out, ",%d,%s,%s,%s,%" PRIu64 ",%s,", N, device_backend(), provenance_commit(), flags,
            o->seed, options_l2(o));
    csv_text(out, spec ? spec : "");
    putc('\n', out);
}

static enum status write_dataset(FILE *out, const options *asked, const char *spec,
                                 error_text *error)
{
    dataset d;
    enum status status = dataset_identify(spec, asked->data_dir, &d, error);
    if (status != STATUS_OK) return status;
    const options o = options_settle(asked, d.decoded);
    for (int i = 0; i < o.num_widths; i++)
        for (int precision = 0; precision < NUM_PRECISIONS; precision++) {
            const contender *last = last_lab((enum precision)precision, &o);
            if (last) write_cell(out, &o, &d, spec, o.widths[i], last);
        }
    return STATUS_OK;
}

enum status cells_write(FILE *out, const options *o, error_text *error)
{
    char **specs;
    size_t count;
    enum status status = dataset_expand(o->dataset, o->data_dir, &specs, &count, error);
    if (status != STATUS_OK) return status;
    fputs("schema,operation,lab,contender,precision,dataset,origin,source,N,backend,commit,flags,"
          "seed,l2,spec\n",
          out);
    for (size_t i = 0; i < count && status == STATUS_OK; i++)
        status = write_dataset(out, o, specs[i], error);
    dataset_names_free(specs, count);
    return status;
}
