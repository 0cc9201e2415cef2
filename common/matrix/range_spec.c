#include "matrix/range_spec.h"

#include "matrix/dataset_search.h"

#include <stdio.h>
#include <string.h>

/* Reads "@3/8" or "@all/8". False: it is neither, or spelled otherwise than its numbers are printed. */
static bool read_suffix(const char *at, range_spec *r)
{
    char suffix[32];
    r->all = sscanf(at, "@all/%d", &r->ranges) == 1;
    if (r->all)
        snprintf(suffix, sizeof suffix, "@all/%d", r->ranges);
    else if (sscanf(at, "@%d/%d", &r->range, &r->ranges) == 2)
        snprintf(suffix, sizeof suffix, "@%d/%d", r->range, r->ranges);
    else
        return false;
    return strcmp(at, suffix) == 0;
}

enum status range_spec_read(const char *spec, range_spec *r, error_text *error)
{
    range_spec found = {0};
    const char *const at = spec ? strrchr(spec, '@') : NULL;
    const size_t length = spec ? strlen(spec) : 0;
    *r = (range_spec){0};
    if (length >= sizeof r->whole)
        return fail(error, STATUS_DATASET, "%.60s...: too long a name", spec);
    memcpy(r->whole, spec ? spec : "", length + 1);
    if (!at || !read_suffix(at, &found) || dataset_is_path(spec)) return STATUS_OK;
    r->range = found.range;
    r->ranges = found.ranges;
    r->all = found.all;
    r->whole[at - spec] = '\0';
    if (r->ranges >= 1 && r->ranges <= MOST_RANGES && r->range >= 0 && r->range < r->ranges)
        return STATUS_OK;
    return fail(error, STATUS_DATASET,
                "%s: ranges are @0/P to @(P-1)/P, or @all/P, with P up to %d", spec, MOST_RANGES);
}
