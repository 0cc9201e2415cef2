#include "training/arguments.h"

#include "matrix/nearest.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ARGUMENTS = 32 };

static enum status refuse_name(const char *name, const argument *table, int count,
                               error_text *error)
{
    const char *names[MAX_ARGUMENTS];
    for (int i = 0; i < count; i++)
        names[i] = table[i].name;
    const char *near = nearest_match(name, names, count);
    return near ? fail(error, STATUS_USAGE, "unknown option --%s; did you mean --%s?", name, near)
                : fail(error, STATUS_USAGE, "unknown option --%s (--help lists them)", name);
}

static enum status read_number(const argument *a, const char *text, error_text *error)
{
    const bool whole = a->kind == ARGUMENT_WHOLE;
    char *end;
    errno = 0;
    const double value = whole ? (double)strtoll(text, &end, 10) : strtod(text, &end);
    if (end == text || *end || errno || !isfinite(value) || value < a->least || value > a->most)
        return fail(error, STATUS_USAGE, "--%s must be a%s number from %.10g to %.10g; got '%s'",
                    a->name, whole ? " whole" : "", a->least, a->most, text);
    if (whole)
        *(int *)a->to = (int)value;
    else
        *(double *)a->to = value;
    return STATUS_OK;
}

static enum status read_word(const argument *a, const char *text, error_text *error)
{
    char list[128] = "";
    for (int i = 0; a->words && a->words[i]; i++) {
        if (!strcmp(a->words[i], text)) break;
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", i ? ", " : "",
                 a->words[i]);
        if (!a->words[i + 1])
            return fail(error, STATUS_USAGE, "--%s must be one of %s; got '%s'", a->name, list,
                        text);
    }
    *(const char **)a->to = text;
    return STATUS_OK;
}

static enum status read_value(const argument *a, const char *text, error_text *error)
{
    return a->kind == ARGUMENT_TEXT ? read_word(a, text, error) : read_number(a, text, error);
}

enum status arguments_read(int argc, char **argv, const argument *table, int count,
                           const char **positional, error_text *error)
{
    const char *first = NULL;
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i];
        if (strncmp(word, "--", 2)) {
            if (word[0] == '-') return fail(error, STATUS_USAGE, "unknown option %s", word);
            if (!positional) return fail(error, STATUS_USAGE, "what is '%s'? (--help)", word);
            if (first) return fail(error, STATUS_USAGE, "one dataset at a time: '%s'", word);
            *positional = first = word;
            continue;
        }
        const char *equals = strchr(word, '=');
        char name[32];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(word + 2, "="), word + 2);
        int which = 0;
        while (which < count && strcmp(table[which].name, name))
            which++;
        if (which == count) return refuse_name(name, table, count, error);
        const argument *a = &table[which];
        if (a->kind == ARGUMENT_FLAG) {
            if (equals) return fail(error, STATUS_USAGE, "--%s takes no value", name);
            *(bool *)a->to = true;
            continue;
        }
        const char *value = equals ? equals + 1 : i + 1 < argc ? argv[++i] : NULL;
        if (!value) return fail(error, STATUS_USAGE, "--%s needs a value", name);
        const enum status status = read_value(a, value, error);
        if (status != STATUS_OK) return status;
    }
    return STATUS_OK;
}

void arguments_print(FILE *out, const argument *table, int count)
{
    for (int i = 0; i < count; i++) {
        const argument *a = &table[i];
        char title[40], usual[64] = "";
        snprintf(title, sizeof title, "--%s %s", a->name, a->letter ? a->letter : "");
        if (a->kind == ARGUMENT_WHOLE) snprintf(usual, sizeof usual, "%d", *(const int *)a->to);
        if (a->kind == ARGUMENT_NUMBER) snprintf(usual, sizeof usual, "%g", *(const double *)a->to);
        if (a->kind == ARGUMENT_TEXT && *(const char **)a->to)
            snprintf(usual, sizeof usual, "%s", *(const char **)a->to);
        fprintf(out, "  %-18s %s", title, a->help);
        if (*usual) fprintf(out, " (default %s)", usual);
        fputc('\n', out);
    }
}
