/*
 * own_words.h - whether a text answers a question in words of its own, or fills a line: one word again and again,
 * the question, a sentence of the handout, an answer given before, "lorem ipsum". Whether an answer is right is for people.
 */
#ifndef GRADER_OWN_WORDS_H
#define GRADER_OWN_WORDS_H

#include <stdbool.h>

/* Texts that an answer may have been copied from. {0} is empty. */
typedef struct known_text {
    struct word_list *words;
} known_text;

/* Adds a text. False: no memory. */
bool known_text_add(known_text *k, const char *text);
void known_text_free(known_text *k);

/* NULL: the answer will do. Else what is wrong with it, in half a sentence. `question` is what was asked, `handout` the
 * text that says what it is about; `known` is where the answer may have been copied from. */
const char *own_words_lacking(const char *answer, const char *question, const known_text *handout,
                              const known_text *known);

#endif
