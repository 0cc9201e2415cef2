#include "matrix/nearest.h"

#include <string.h>

enum { LONGEST_WORD = 63 };

/* Levenshtein distance by the usual dynamic programme, one row at a time; words are cut at
 * LONGEST_WORD letters, far above any name of the suite. */
static size_t edit_distance(const char *a, const char *b)
{
    size_t na = strnlen(a, LONGEST_WORD), nb = strnlen(b, LONGEST_WORD);
    size_t row[LONGEST_WORD + 1];
    for (size_t j = 0; j <= nb; j++)
        row[j] = j;
    for (size_t i = 1; i <= na; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= nb; j++) {
            size_t replace = diagonal + (a[i - 1] != b[j - 1]);
            size_t least = row[j] < row[j - 1] ? row[j] + 1 : row[j - 1] + 1;
            diagonal = row[j];
            row[j] = replace < least ? replace : least;
        }
    }
    return row[nb];
}

const char *nearest_match(const char *word, const char *const *candidates, size_t count)
{
    const char *best = NULL;
    size_t best_distance = 0;
    for (size_t i = 0; i < count; i++) {
        size_t distance = edit_distance(word, candidates[i]);
        size_t na = strnlen(word, LONGEST_WORD), nb = strnlen(candidates[i], LONGEST_WORD);
        size_t longer = na > nb ? na : nb;
        if (3 * distance <= longer + 2 && (!best || distance < best_distance)) {
            best = candidates[i];
            best_distance = distance;
        }
    }
    return best;
}
