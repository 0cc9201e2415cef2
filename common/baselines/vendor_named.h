/*
 * vendor_named.h - the vendor's contenders by name, for pipelines that are made of them.
 */
#ifndef BASELINES_VENDOR_NAMED_H
#define BASELINES_VENDOR_NAMED_H

#include "ops/operation.h"

#include <string.h>

/* The vendor's contender of that name. NULL: this program has none. */
static inline const contender *vendor_named(const operation *op, const char *name,
                                            enum precision precision)
{
    for (const contender *c = contenders(); c; c = c->next)
        if (!c->lab && c->operation == op && c->precision == precision && !strcmp(c->name, name))
            return c;
    return NULL;
}

#endif
