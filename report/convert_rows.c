/*
 * convert_rows.c - files of rows of schema 1, in place, to schema 2; scripts/rows-to-schema-2 runs it.
 *
 *     convert_rows LIMITS.tsv FILE.csv...
 *
 * The bounds are by LIMITS.tsv: those of the machine that measured the rows. Files that hold no rows of
 * schema 1 stay as they are. Exit status: 0; 2 usage; 3 a file or the limits are malformed; 4 cannot write.
 */
#include "matrix/files.h"
#include "results/old_rows.h"

#include <string.h>

static enum status convert(const char *path, const machine_limits *limits, error_text *error)
{
    output_file out;
    FILE *in = fopen(path, "r");
    if (!in) return fail(error, STATUS_DATASET, "%s: cannot read", path);
    enum status status = output_open(&out, path, error);
    if (status == STATUS_OK) {
        status = old_rows_convert(in, path, limits, out.stream, error);
        if (status == STATUS_OK)
            status = output_close(&out, error);
        else
            output_discard(&out);
    }
    fclose(in);
    return status;
}

int main(int argc, char **argv)
{
    machine_limits limits;
    error_text error;
    enum status status = STATUS_OK;
    if (argc < 3)
        status = fail(&error, STATUS_USAGE, "usage: convert_rows LIMITS.tsv FILE.csv...");
    else if (!limits_read(argv[1], &limits))
        status = fail(&error, STATUS_DATASET, "%s: no limits of a machine", argv[1]);
    for (int i = 2; i < argc && status == STATUS_OK; i++)
        status = convert(argv[i], &limits, &error);
    if (status != STATUS_OK) fprintf(stderr, "convert_rows: %s\n", error.text);
    return status;
}
