#include "results/csv.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

void csv_split(char *line, csv_line *to)
{
    char *out = line;
    bool quoted = false;
    line[strcspn(line, "\r\n")] = 0;
    to->count = 1;
    to->cells[0] = out;
    for (const char *c = line; *c; c++) {
        if (quoted && *c == '"' && c[1] == '"')
            *out++ = *c++;
        else if (*c == '"')
            quoted = !quoted;
        else if (*c == ',' && !quoted && to->count < MAX_CELLS) {
            *out++ = 0;
            to->cells[to->count++] = out;
        } else
            *out++ = *c;
    }
    *out = 0;
}

int csv_column(const csv_line *header, const char *name)
{
    for (int i = 0; i < header->count; i++)
        if (!strcmp(header->cells[i], name)) return i;
    return -1;
}

const char *csv_cell(const csv_line *header, const csv_line *r, const char *name)
{
    const int column = csv_column(header, name);
    return column >= 0 && column < r->count ? r->cells[column] : NULL;
}

void csv_text(FILE *out, const char *text)
{
    if (!text[strcspn(text, ",\"\r\n")]) {
        fputs(text, out);
        return;
    }
    putc('"', out);
    for (; *text; text++) {
        if (*text == '"') putc('"', out);
        putc(*text, out);
    }
    putc('"', out);
}

void csv_add_text(FILE *out, const char *text)
{
    putc(',', out);
    csv_text(out, text);
}

void csv_add_number(FILE *out, double value)
{
    putc(',', out);
    if (!isnan(value)) fprintf(out, "%.7g", value);
}
