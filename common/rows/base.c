/*
 * base.c - texts, sets and maps by name, geometric means: see rows.h.
 */
#include "rows/rows.h"

#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* The memory of a `malloc` or `realloc`, which is there. */
static void *sure(void *memory)
{
    if (!memory) refuse(STATUS_MEMORY, "out of memory");
    return memory;
}

/* ---- texts ------------------------------------------------------------------------------------ */

char *text(const char *format, ...)
{
    va_list arguments;
    char *result;
    va_start(arguments, format);
    const int length = vasprintf(&result, format, arguments);
    va_end(arguments);
    return sure(length < 0 ? NULL : result);
}

char *digits(double value)
{
    if (value == floor(value) && fabs(value) < 1e15) return text("%.0f", value);
    return text("%.6g", value);
}

char **parts_of(const char *joined, char separator, size_t *count)
{
    char **parts = sure(malloc((strlen(joined) + 1) * sizeof *parts));
    *count = 0;
    while (*joined) {
        const char *end = strchrnul(joined, separator);
        parts[(*count)++] = text("%.*s", (int)(end - joined), joined);
        if (!*end) break;
        joined = end + 1;
        if (!*joined) parts[(*count)++] = "";
    }
    return parts;
}

char *key_part(const char *key, size_t part)
{
    for (; part > 0 && (key = strchr(key, KEY[0])); part--)
        key++;
    return key ? text("%.*s", (int)strcspn(key, KEY), key) : "";
}

bool starts_with(const char *name, const char *prefix)
{
    return !strncmp(name, prefix, strlen(prefix));
}

const char *without(const char *name, const char *prefix)
{
    return starts_with(name, prefix) ? name + strlen(prefix) : name;
}

bool is_among(const char *name, const char *list, char separator)
{
    size_t count;
    char **words = parts_of(list, separator, &count);
    for (size_t i = 0; i < count; i++)
        if (!strcmp(words[i], name)) return true;
    return false;
}

/* ---- sets and maps ---------------------------------------------------------------------------- */

/* FNV-1a. */
static uint64_t hash(const char *name)
{
    uint64_t h = 14695981039346656037u;
    for (; *name; name++)
        h = (h ^ (unsigned char)*name) * 1099511628211u;
    return h;
}

/* The slot that holds the name, or the free one where it belongs. */
static long slot_of(const names *set, const char *name)
{
    long slot = (long)(hash(name) & (uint64_t)(set->num_slots - 1));
    while (set->slots[slot] && strcmp(set->name[set->slots[slot] - 1], name))
        slot = (slot + 1) & (set->num_slots - 1);
    return slot;
}

/* Doubles the table when it is half full. */
static void names_grow(names *set)
{
    set->room = set->room ? 2 * set->room : 16;
    set->num_slots = 2 * set->room;
    set->name = sure(realloc(set->name, (size_t)set->room * sizeof *set->name));
    free(set->slots);
    set->slots = sure(calloc((size_t)set->num_slots, sizeof *set->slots));
    for (long i = 0; i < set->count; i++)
        set->slots[slot_of(set, set->name[i])] = i + 1;
}

long names_find(const names *set, const char *name)
{
    return set->count ? set->slots[slot_of(set, name)] - 1 : NONE;
}

long names_add(names *set, const char *name)
{
    if (set->count == set->room) names_grow(set);
    const long slot = slot_of(set, name);
    if (!set->slots[slot]) {
        set->name[set->count] = text("%s", name);
        set->slots[slot] = ++set->count;
    }
    return set->slots[slot] - 1;
}

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

char **names_in_order(const names *set)
{
    char **list = sure(malloc((size_t)(set->count + 1) * sizeof *list));
    if (set->count) memcpy(list, set->name, (size_t)set->count * sizeof *list);
    qsort(list, (size_t)set->count, sizeof *list, by_bytes);
    return list;
}

char *names_sorted(const names *set, const char *around)
{
    char **list = names_in_order(set), *joined = "";
    for (long i = 0; i < set->count; i++)
        joined = text("%s%s%s%s%s", joined, i ? ", " : "", around, list[i], around);
    return joined;
}

double *numbers_at(numbers *map, const char *key, double initial)
{
    const long before = map->key.count, room = map->key.room;
    const long place = names_add(&map->key, key);
    if (map->key.room != room)
        map->value = sure(realloc(map->value, (size_t)map->key.room * sizeof *map->value));
    if (place == before) map->value[place] = initial;
    return &map->value[place];
}

const double *numbers_find(const numbers *map, const char *key)
{
    const long place = names_find(&map->key, key);
    return place == NONE ? NULL : &map->value[place];
}

const char **texts_at(texts *map, const char *key)
{
    const long before = map->key.count, room = map->key.room;
    const long place = names_add(&map->key, key);
    if (map->key.room != room)
        map->value = sure(realloc(map->value, (size_t)map->key.room * sizeof *map->value));
    if (place == before) map->value[place] = NULL;
    return &map->value[place];
}

const char *texts_find(const texts *map, const char *key)
{
    const long place = names_find(&map->key, key);
    return place == NONE ? NULL : map->value[place];
}

/* ---- options and means ------------------------------------------------------------------------- */

const char *option(const request *q, const char *name, const char *otherwise)
{
    const char *value = texts_find(&q->options, name);
    return value ? value : otherwise;
}

bool is_option(const request *q, const char *name)
{
    return texts_find(&q->options, name);
}

void mean_add(mean *m, double ratio)
{
    if (!m->count || ratio < m->least) m->least = ratio;
    if (!m->count || ratio > m->most) m->most = ratio;
    m->logs += log(ratio);
    m->ahead += ratio > 1;
    m->count++;
}

double mean_of(const mean *m)
{
    return m->count ? exp(m->logs / (double)m->count) : 0;
}
