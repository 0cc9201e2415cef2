/*
 * reread.c - text formats read again, by code that shares nothing with common/matrix: lines are cut,
 * words are given to strtoll and strtof.
 */
#include "triples.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MOST_WORDS = 8 };

typedef struct lines {
    const char *at, *end;
    char *line; /* the current one, from malloc; commas are blanks */
    char *word[MOST_WORDS];
    int words; /* of the line; more than MOST_WORDS count as MOST_WORDS + 1 */
} lines;

static lines begin(const bytes *text)
{
    lines l = {.at = text->at, .end = text->at + text->count};
    if (text->count >= 3 && memcmp(text->at, "\xef\xbb\xbf", 3) == 0) l.at += 3;
    return l;
}

static void split(lines *l)
{
    char *rest = l->line;
    l->words = 0;
    for (char *word; (word = strtok_r(rest, " \t\r", &rest));) {
        if (l->words < MOST_WORDS) l->word[l->words] = word;
        if (l->words <= MOST_WORDS) l->words++;
    }
}

/* Takes the next line that is no comment and not blank, as words. */
static bool next(lines *l, const char *comments)
{
    while (l->at < l->end) {
        const char *newline = memchr(l->at, '\n', (size_t)(l->end - l->at));
        const char *stop = newline ? newline : l->end;
        free(l->line);
        l->line = strndup(l->at, (size_t)(stop - l->at));
        l->at = newline ? newline + 1 : l->end;
        for (char *c = l->line; *c; c++)
            if (*c == ',') *c = ' ';
        size_t blanks = strspn(l->line, " \t\r");
        if (!l->line[blanks] || strchr(comments, l->line[blanks])) continue;
        split(l);
        return true;
    }
    return false;
}

static bool whole(const char *word, int64_t *number)
{
    char *end;
    *number = strtoll(word, &end, 10);
    return end != word && !*end;
}

static bool fraction(char *word, float *number)
{
    char *end;
    size_t d = strcspn(word, "dD");
    if (word[d] && d > 0 && isdigit((unsigned char)word[d - 1])) word[d] = 'e';
    if (word[d] && d > 0 && word[d - 1] == '.') word[d] = 'e';
    *number = strtof(word, &end);
    return end != word && !*end;
}

static bool reread_mtx(lines *l, triples *m)
{
    int64_t stored, row, col, integer;
    if (!next(l, "") || l->words != 5 || strcasecmp(l->word[0], "%%MatrixMarket")) return false;
    bool pattern = !strcasecmp(l->word[3], "pattern"),
         integers = !strcasecmp(l->word[3], "integer");
    bool mirrored = strcasecmp(l->word[4], "general"),
         skew = !strcasecmp(l->word[4], "skew-symmetric");
    m->with_values = !pattern;
    if (!next(l, "%") || l->words != 3 || !whole(l->word[0], &m->rows) ||
        !whole(l->word[1], &m->cols) || !whole(l->word[2], &stored))
        return false;
    while (next(l, "%")) {
        float value = 1;
        if (l->words != (pattern ? 2 : 3) || !whole(l->word[0], &row) || !whole(l->word[1], &col))
            return false;
        if (integers) {
            if (!whole(l->word[2], &integer)) return false;
            value = (float)integer;
        } else if (!pattern && !fraction(l->word[2], &value)) {
            return false;
        }
        triples_add(m, row - 1, col - 1, value);
        if (mirrored && row != col) triples_add(m, col - 1, row - 1, skew ? -value : value);
        stored--;
    }
    return stored == 0;
}

static bool reread_edges(lines *l, triples *m)
{
    int64_t row, col, largest = -1;
    int words = 0;
    while (next(l, "#%")) {
        if (words == 0 && (isalpha((unsigned char)*l->word[0]) || *l->word[0] == '"')) {
            words = -1;
            continue;
        }
        float value = 0;
        if (words <= 0) words = l->words;
        if (l->words != words || words < 2 || words > 4 || !whole(l->word[0], &row) ||
            !whole(l->word[1], &col))
            return false;
        for (int w = 3; w <= words; w++) {
            float number;
            if (!fraction(l->word[w - 1], &number)) return false;
            if (w == 3) value = number;
        }
        triples_add(m, row, col, value);
        if (row > largest) largest = row;
        if (col > largest) largest = col;
    }
    m->with_values = words > 2;
    m->rows = m->cols = largest + 1;
    return m->count > 0;
}

/* Takes the next number of the text, lines aside. */
static bool next_number(lines *l, int64_t *number)
{
    while (l->at < l->end && isspace((unsigned char)*l->at))
        l->at++;
    if (l->at == l->end) return false;
    char *end;
    *number = strtoll(l->at, &end, 10);
    if (end == l->at || (end < l->end && !isspace((unsigned char)*end))) return false;
    l->at = end;
    return true;
}

static bool reread_offsets(lines *l, int64_t nnz, triples *m)
{
    bool good = true;
    int64_t *offset = calloc((size_t)m->rows + 1, sizeof *offset), column;
    for (int64_t i = 0; i <= m->rows && good; i++)
        good = next_number(l, &offset[i]);
    good = good && offset[m->rows] == nnz;
    for (int64_t i = 0; i < m->rows && good; i++)
        for (int64_t k = offset[i]; k < offset[i + 1] && good; k++) {
            good = next_number(l, &column);
            triples_add(m, i, column, 0);
        }
    free(offset);
    return good && !next_number(l, &column) && l->at == l->end;
}

/* Digits, with blanks or none between them, a line a block row. */
static bool reread_blocks(lines *l, triples *m)
{
    int64_t side;
    bool good = next(l, "#") && l->words == 3 && whole(l->word[0], &m->rows) &&
                whole(l->word[1], &m->cols) && whole(l->word[2], &side) && m->rows >= 0 &&
                m->cols >= 0;
    for (int64_t i = 0; i < m->rows && m->cols > 0 && good; i++) {
        good = false;
        while (!good && l->at < l->end) { /* a line that is no comment and not blank */
            const char *newline = memchr(l->at, '\n', (size_t)(l->end - l->at));
            const char *stop = newline ? newline : l->end, *c = l->at;
            int64_t j = 0;
            l->at = newline ? newline + 1 : l->end;
            while (c < stop && (*c == ' ' || *c == '\t' || *c == '\r'))
                c++;
            if (c == stop || *c == '#') continue;
            for (good = true; c < stop && good; c++) {
                if (*c == ' ' || *c == '\t' || *c == '\r') continue;
                good = *c == '0' || *c == '1';
                if (*c == '1') triples_add(m, i, j, 0);
                j++;
            }
            if (!good || j != m->cols) return false;
        }
    }
    return good && !next(l, "#"); /* comments and blanks may follow */
}

bool reread(const char *format, const bytes *text, triples *m)
{
    lines l = begin(text);
    bool good;
    int64_t nnz = m->count;
    if (strcmp(format, "mtx") == 0) {
        good = reread_mtx(&l, m);
    } else if (strcmp(format, "edges") == 0) {
        good = reread_edges(&l, m);
    } else if (strcmp(format, "blocks") == 0) {
        good = reread_blocks(&l, m);
    } else {
        bool smtx = strcmp(format, "smtx") == 0;
        m->count = 0;
        good = !smtx || (next(&l, "%") && l.words == 3 && whole(l.word[0], &m->rows) &&
                         whole(l.word[1], &m->cols) && whole(l.word[2], &nnz));
        good = good && m->rows >= 0 && m->rows < 1 << 24 && reread_offsets(&l, nnz, m);
    }
    free(l.line);
    return good;
}
