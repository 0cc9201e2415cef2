#include "ops/operation.h"

#include <stdbool.h>

static contender *first;

/* From the linker: the section of CONTENDER_REGISTER; both are NULL where nothing is in it. */
extern const registration __start_registrations[] __attribute__((weak));
extern const registration __stop_registrations[] __attribute__((weak));

/* Labs and their parts in ascending order, then the vendors (lab 0) as they come. */
static bool comes_after(const contender *a, const contender *b)
{
    if (b->lab == 0) return false;
    return a->lab == 0 || a->lab > b->lab || (a->lab == b->lab && a->part > b->part);
}

static void add(contender *c, const operation *op)
{
    c->operation = op;
    contender **link = &first;
    while (*link && !comes_after(*link, c))
        link = &(*link)->next;
    c->next = *link;
    *link = c;
}

/* The registered ones, once, and before any other: their order is the linker's. */
static void collect(void)
{
    static bool done;
    if (done) return;
    done = true;
    for (const registration *r = __start_registrations; r < __stop_registrations; r++)
        add(r->contender, r->operation);
}

void contender_register(contender *c, const operation *op)
{
    collect();
    add(c, op);
}

const contender *contenders(void)
{
    collect();
    return first;
}

int contender_num_tunables(const contender *c)
{
    int n = 0;
    while (n < MAX_TUNABLES && c->tunables[n].name)
        n++;
    return n;
}

bool tunable_takes(const tunable *t, int value)
{
    for (int i = 0; i < t->num_values; i++)
        if (t->values[i] == value) return true;
    return false;
}
