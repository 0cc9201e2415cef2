#include "matrix/nearest.h"

#include <stdbool.h>
#include <stdint.h>
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

/* Whether `distance` changes leave a word of `letters` letters recognisable. */
static bool is_near(size_t distance, size_t letters)
{
    return 3 * distance <= letters + 2;
}

/* How far `word` is from the beginning of `name`, for words that were cut short ("chek" for
 * "check-only"); SIZE_MAX unless it has three letters that tell. */
static size_t distance_to_beginning(const char *word, const char *name)
{
    size_t length = strnlen(word, LONGEST_WORD);
    if (length < 3 || strnlen(name, LONGEST_WORD) <= length) return SIZE_MAX;
    char beginning[LONGEST_WORD + 1] = "";
    memcpy(beginning, name, length);
    size_t distance = edit_distance(word, beginning);
    return 3 * distance <= length ? distance : SIZE_MAX;
}

const char *nearest_match(const char *word, const char *const *candidates, size_t count)
{
    const char *best = NULL;
    size_t best_distance = SIZE_MAX;
    for (size_t i = 0; i < count; i++) {
        size_t distance = edit_distance(word, candidates[i]);
        size_t na = strnlen(word, LONGEST_WORD), nb = strnlen(candidates[i], LONGEST_WORD);
        if (is_near(distance, na > nb ? na : nb) && distance < best_distance) {
            best = candidates[i];
            best_distance = distance;
        }
    }
    for (size_t i = 0; !best && i < count; i++)
        if (distance_to_beginning(word, candidates[i]) != SIZE_MAX) best = candidates[i];
    return best;
}
