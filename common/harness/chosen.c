#include "harness/chosen.h"

const contender *own_lab(void)
{
    const contender *own = NULL;
    for (const contender *c = contenders(); c; c = c->next)
        if (c->lab) own = c;
    return own;
}

const operation *own_operation(void)
{
    const int own = own_lab()->lab;
    for (const contender *c = contenders(); c; c = c->next)
        for (const contender *d = c; d; d = d->next)
            if (d->lab == own && d->operation == c->operation) return c->operation;
    return own_lab()->operation;
}

const contender *last_lab_of(const operation *op)
{
    const contender *last = NULL;
    for (const contender *c = contenders(); c; c = c->next)
        if (c->lab && c->operation == op) last = c;
    return last;
}

bool holds_lab(int lab)
{
    for (const contender *c = contenders(); c; c = c->next)
        if (c->lab == lab) return true;
    return false;
}

/* A lab may have a contender for each precision: own is the last lab's number. */
static bool lab_is_chosen(const contender *c, int own, const options *o)
{
    const bool every_lab = o->rivals == RIVALS_BEST || o->rivals == RIVALS_DEFAULT;
    if (o->precisions && !(o->precisions & 1u << c->precision)) return false;
    return c->lab == own || every_lab || (o->rivals == RIVALS_LAB && c->lab == o->rival_lab);
}

/* The vendor is asked for the precisions that some lab is run in. */
static bool vendor_is_chosen(const contender *vendor, int own, const options *o)
{
    if (o->rivals != RIVALS_BEST && o->rivals != RIVALS_VENDOR &&
        !(o->rivals == RIVALS_DEFAULT && vendor->vendor_default) &&
        !(o->rivals == RIVALS_DENSE && vendor->dense))
        return false;
    for (const contender *c = contenders(); c; c = c->next)
        if (c->lab && c->operation == vendor->operation && c->precision == vendor->precision &&
            lab_is_chosen(c, own, o))
            return true;
    return false;
}

bool contender_is_chosen(const contender *c, const options *o)
{
    if (c->operation != o->operation) return false;
    const int own = last_lab_of(o->operation)->lab;
    return c->lab ? lab_is_chosen(c, own, o) : vendor_is_chosen(c, own, o);
}
