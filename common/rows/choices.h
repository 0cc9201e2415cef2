/*
 * choices.h - a rule's settings beside the fastest ones: see choices.c.
 */
#ifndef ROWS_CHOICES_H
#define ROWS_CHOICES_H

#include "rows/rows.h"

/* By case, "arxiv N=32" or "arxiv N=32 fp16 cold": what the rule chose and the fastest setting, each with its time in ms. */
typedef struct choices {
    texts rule, best;
    numbers rule_ms, best_ms;
} choices;

choices choices_read(const char *rule, const char *sweep, int lab);

/* The share of the fastest setting's speed that the rule reaches in a case; 0: not in both files. */
double choices_share(const choices *c, const char *key);

#endif
