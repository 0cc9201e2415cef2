#include "ops/operation.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static contender *first;

/* From the linker: the section of CONTENDER_REGISTER; both are NULL where nothing is in it. */
extern const registration __start_registrations[] __attribute__((weak));
extern const registration __stop_registrations[] __attribute__((weak));

/* The same of OPERATION_REGISTER. */
extern const operation *const __start_operations[] __attribute__((weak));
extern const operation *const __stop_operations[] __attribute__((weak));

/* Orders labs by number and precision; the vendors (lab 0) come last, as they were registered. */
static bool comes_after(const contender *a, const contender *b)
{
    if (b->lab == 0) return false;
    return a->lab == 0 || a->lab > b->lab || (a->lab == b->lab && a->precision > b->precision);
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

int lab_parent(const char *operation, int lab)
{
    for (const contender *c = contenders(); c; c = c->next)
        if (c->lab && c->lab == lab && !strcmp(c->operation->name, operation)) return c->after;
    return 0;
}

/* Whether `full` is `name`, or `name` and the precision: "mixed_fp16" is "mixed" in fp16. */
static bool is_called(const char *full, const char *name, enum precision precision)
{
    const size_t length = strlen(name);
    if (strncmp(full, name, length) != 0) return false;
    const char *rest = full + length;
    return !*rest || (*rest == '_' && !strcmp(rest + 1, precision_name(precision)));
}

const contender *contender_find(const operation *op, const char *name, enum precision precision)
{
    for (const contender *c = contenders(); c; c = c->next)
        if (c->lab && c->operation == op && c->precision == precision &&
            is_called(c->name, name, precision))
            return c;
    return NULL;
}

const char *contender_untimed(const contender *c)
{
    return c->untimed ? c->untimed() : NULL;
}

int contender_num_tunables(const contender *c)
{
    int n = 0;
    while (n < MAX_TUNABLES && c->tunables[n].name)
        n++;
    return n;
}

void contender_initial_tuning(const contender *c, int *tuning)
{
    for (int i = 0; i < contender_num_tunables(c); i++)
        tuning[i] = c->tunables[i].initial;
}

int tunable_naming(const tunable *t, const contender *who)
{
    for (int i = 0; i < t->num_values; i++)
        if (who && contender_find(who->operation, t->names[i], who->precision) == who)
            return t->values[i];
    return t->initial;
}

bool tunable_takes(const tunable *t, int value)
{
    for (int i = 0; i < t->num_values; i++)
        if (t->values[i] == value) return true;
    return false;
}

bool tunable_read(const tunable *t, const char *text, int *value)
{
    char *end;
    for (int i = 0; t->names && i < t->num_values; i++)
        if (!strcmp(t->names[i], text)) {
            *value = t->values[i];
            return true;
        }
    const long number = strtol(text, &end, 10);
    if (end == text || *end || number != (int)number || !tunable_takes(t, (int)number))
        return false;
    *value = (int)number;
    return true;
}

void tunable_write(const tunable *t, int value, char *text, size_t bytes)
{
    for (int i = 0; t->names && i < t->num_values; i++)
        if (t->values[i] == value) {
            snprintf(text, bytes, "%s", t->names[i]);
            return;
        }
    snprintf(text, bytes, "%d", value);
}

/* ---- knobs ----------------------------------------------------------------------------------- */

static int num_knobs(const operation *op)
{
    int n = 0;
    while (n < MAX_KNOBS && op->knobs[n].name)
        n++;
    return n;
}

int problem_knob(const problem *p, int which)
{
    return p->knobs[which] ? p->knobs[which] : p->operation->knobs[which].initial;
}

/* The first knob runs fastest. */
void problem_turn_knobs(problem *p, uint64_t number)
{
    for (int i = 0; i < num_knobs(p->operation); i++) {
        const tunable *k = &p->operation->knobs[i];
        p->knobs[i] = k->values[number % (uint64_t)k->num_values];
        number /= (uint64_t)k->num_values;
    }
}

void problem_knobs_text(const problem *p, char *text, size_t bytes)
{
    size_t used = 0;
    *text = '\0';
    for (int i = 0; i < num_knobs(p->operation) && used < bytes; i++) {
        char value[24];
        const tunable *k = &p->operation->knobs[i];
        tunable_write(k, problem_knob(p, i), value, sizeof value);
        used += snprintf(text + used, bytes - used, "%s%s=%s", i ? " " : "", k->name, value);
    }
}

/* ---- outputs and costs ----------------------------------------------------------------------- */

int64_t output_first(const output *o, int64_t row)
{
    return o->row_ptr ? o->row_ptr[row] : row * o->cols;
}

int64_t output_elements(const output *o)
{
    return output_first(o, o->rows);
}

int64_t output_length(const output *o, int64_t row)
{
    return o->row_ptr ? o->row_ptr[row + 1] - o->row_ptr[row] : o->cols;
}

size_t output_bytes(const output *o)
{
    return (size_t)output_elements(o) * precision_format(o->precision)->bytes;
}

int64_t problem_elements(const problem *p)
{
    int64_t elements = 0;
    for (int i = 0; i < p->num_outputs; i++)
        elements += output_elements(&p->outputs[i]);
    return elements;
}

int64_t output_longest(const output *o)
{
    int64_t longest = o->row_ptr ? 0 : o->cols;
    for (int64_t i = 0; o->row_ptr && i < o->rows; i++)
        if (output_length(o, i) > longest) longest = output_length(o, i);
    return longest;
}

int64_t output_column(const output *o, int64_t row, int64_t place)
{
    return o->row_ptr ? o->col_idx[o->row_ptr[row] + place] : place;
}

double cost_gather_bytes(const cost_model *model)
{
    double bytes = 0;
    for (int i = 0; i < model->num_gathers; i++)
        bytes += model->gathers[i].bytes;
    return bytes;
}

/* ---- operations ------------------------------------------------------------------------------ */

const operation *operation_named(const char *name)
{
    for (const operation *const *op = __start_operations; op < __stop_operations; op++)
        if (!strcmp((*op)->name, name)) return *op;
    return NULL;
}

void operation_names(char *text, size_t bytes)
{
    size_t used = 0;
    *text = '\0';
    for (const operation *const *op = __start_operations; op < __stop_operations; op++)
        if (used < bytes)
            used += snprintf(text + used, bytes - used, "%s%s", used ? ", " : "", (*op)->name);
}
