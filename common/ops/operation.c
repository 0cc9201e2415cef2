#include "ops/operation.h"

static contender *first;

/* Labs in ascending order, then the vendors (lab 0) as they come. */
static bool comes_after(const contender *a, const contender *b)
{
    if (b->lab == 0) return false;
    return a->lab == 0 || a->lab > b->lab;
}

void contender_register(contender *c, const operation *op)
{
    c->operation = op;
    contender **link = &first;
    while (*link && !comes_after(*link, c))
        link = &(*link)->next;
    c->next = *link;
    *link = c;
}

const contender *contenders(void)
{
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
