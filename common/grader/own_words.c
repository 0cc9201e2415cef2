#include "grader/own_words.h"

#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
    LEAST_OWN = 5,     /* different words that were not copied */
    LEAST_NEW = 3,     /* different words that the question does not have */
    LEAST_RELATED = 2, /* words of its own that the handout uses, too */
    COPIED = 4         /* so many words in a row that stand somewhere else */
};

/* Words are known by a hash (FNV-1a) of their letters; 0 stands between two texts. */
typedef struct word_list {
    uint64_t *word;
    int count, room;
} word_list;

static bool add(word_list *l, uint64_t word)
{
    if (l->count == l->room) {
        const int room = l->room ? 2 * l->room : 256;
        uint64_t *more = realloc(l->word, room * sizeof *more);
        if (!more) return false;
        l->word = more;
        l->room = room;
    }
    l->word[l->count++] = word;
    return true;
}

/* Bytes of one word at `text`: letters and digits of any alphabet; of a script without blanks one character, which
 * has three bytes or more. 0: no word begins here. */
static size_t word_length(const char *text)
{
    const unsigned char *at = (const unsigned char *)text;
    size_t n = 0;
    if (*at >= 0xE0) {
        for (n = 1; (at[n] & 0xC0) == 0x80; n++) {
        }
        return n;
    }
    while (isalnum(at[n]) || (at[n] >= 0x80 && at[n] < 0xE0))
        n++;
    return n;
}

static bool add_words(word_list *l, const char *text)
{
    while (*text) {
        const size_t length = word_length(text);
        uint64_t hash = UINT64_C(0xcbf29ce484222325);
        for (size_t i = 0; i < length; i++)
            hash = (hash ^ (uint64_t)tolower((unsigned char)text[i])) * UINT64_C(0x100000001b3);
        if (length && !add(l, hash | 1)) return false;
        text += length ? length : 1;
    }
    return true;
}

bool known_text_add(known_text *k, const char *text)
{
    if (!k->words) k->words = calloc(1, sizeof *k->words);
    return k->words && add_words(k->words, text) && add(k->words, 0);
}

void known_text_free(known_text *k)
{
    if (k->words) free(k->words->word);
    free(k->words);
    *k = (known_text){0};
}

static bool has(const word_list *l, uint64_t word)
{
    for (int i = 0; l && i < l->count; i++)
        if (l->word[i] == word) return true;
    return false;
}

/* How many words from `at` on stand in the same order somewhere in `known`, at most. */
static int copied_from(const word_list *answer, int at, const word_list *known)
{
    int most = 0;
    for (int k = 0; known && k < known->count; k++) {
        int n = 0;
        while (at + n < answer->count && k + n < known->count &&
               answer->word[at + n] == known->word[k + n])
            n++;
        if (n > most) most = n;
    }
    return most;
}

/* The words that are left of an answer without its copied passages and without repetitions. */
static bool keep_own(const word_list *answer, const word_list *known, const word_list *filler,
                     word_list *own)
{
    for (int i = 0; i < answer->count;) {
        const int n = copied_from(answer, i, known);
        if (n >= COPIED) {
            i += n;
            continue;
        }
        const uint64_t word = answer->word[i++];
        if (!has(filler, word) && !has(own, word) && !add(own, word)) return false;
    }
    return true;
}

/* The words of "lorem ipsum", which generators of such text put in any order. */
static const char LOREM[] =
    "lorem ipsum dolor sit amet consectetur adipiscing adipisicing elit sed do eiusmod tempor "
    "incididunt ut labore et dolore magna aliqua enim ad minim veniam quis nostrud exercitation "
    "ullamco laboris nisi aliquip ex ea commodo consequat duis aute irure in reprehenderit "
    "voluptate velit esse cillum eu fugiat nulla pariatur excepteur sint occaecat cupidatat non "
    "proident sunt culpa qui officia deserunt mollit anim id est laborum";

static int count_in(const word_list *own, const word_list *other, bool wanted)
{
    int n = 0;
    for (int i = 0; i < own->count; i++)
        n += has(other, own->word[i]) == wanted;
    return n;
}

const char *own_words_lacking(const char *answer, const char *question, const known_text *handout,
                              const known_text *known)
{
    word_list all = {0}, filler = {0}, asked = {0}, own = {0};
    const char *lacking = "no memory to read it";
    if (add_words(&all, answer) && add_words(&filler, LOREM) && add_words(&asked, question) &&
        keep_own(&all, known->words, &filler, &own))
        lacking = all.count == 0          ? "nothing"
                  : own.count < LEAST_OWN ? "too few words of its own"
                  : count_in(&own, &asked, false) < LEAST_NEW
                      ? "hardly a word that the question does not have"
                  : count_in(&own, handout->words, true) < LEAST_RELATED
                      ? "no words that have to do with the lab"
                      : NULL;
    free(all.word);
    free(filler.word);
    free(asked.word);
    free(own.word);
    return lacking;
}
