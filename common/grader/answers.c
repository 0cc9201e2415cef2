#include "grader/attempt.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ANSWERS = 64, LEAST_ANSWER = 20 /* characters that are an answer to a question */ };

typedef struct answer {
    char key[80], text[2000]; /* of a longer text the beginning */
} answer;

static char *trim(char *text)
{
    while (isspace((unsigned char)*text))
        text++;
    for (char *end = text + strlen(text); end > text && isspace((unsigned char)end[-1]);)
        *--end = '\0';
    return text;
}

/* "key = value" a line; indented lines go on with the value, # begins a note. */
static int read_answers(FILE *f, answer *all)
{
    char line[2000];
    int n = 0;
    while (fgets(line, sizeof line, f)) {
        char *equals = strchr(line, '=');
        if (*line == '#') continue;
        if (isspace((unsigned char)*line)) {
            answer *last = n ? &all[n - 1] : NULL;
            const size_t used = last ? strlen(last->text) : 0;
            if (last) snprintf(last->text + used, sizeof last->text - used, " %s", trim(line));
        } else if (equals && n < MAX_ANSWERS) {
            *equals = '\0';
            snprintf(all[n].key, sizeof all[n].key, "%s", trim(line));
            snprintf(all[n++].text, sizeof all[0].text, "%s", trim(equals + 1));
        }
    }
    for (int i = 0; i < n; i++)
        memmove(all[i].text, trim(all[i].text), strlen(trim(all[i].text)) + 1);
    return n;
}

static int open_answers(const attempt *a, answer *all)
{
    char path[4096], name[600];
    snprintf(name, sizeof name, "tree/%s/answers.txt", a->lab_folder);
    FILE *f = fopen(attempt_path(a, name, path, sizeof path), "r");
    if (!f) return -1;
    const int n = read_answers(f, all);
    fclose(f);
    return n;
}

found attempt_predict(const attempt *a, const test *t)
{
    static answer all[MAX_ANSWERS];
    char key[120], *end;
    const int n = open_answers(a, all);
    const double want = strtod(t->word[1], NULL), tolerance = strtod(t->word[2], NULL);
    if (n < 0) return found_of(0, "no answers.txt");
    snprintf(key, sizeof key, "predict.%s", t->word[0]);
    for (int i = 0; i < n; i++) {
        if (strcmp(all[i].key, key) != 0) continue;
        const double got = strtod(all[i].text, &end);
        if (end == all[i].text) return found_of(0, "no number");
        const bool right = fabs(got - want) <= tolerance;
        return found_of(right ? 1 : 0, "%.10g is %s", got, right ? "right" : "not it");
    }
    return found_of(0, "no such line in answers.txt");
}

static bool is_answered(const answer *a)
{
    const bool is_question = a->key[0] == 'q' && isdigit((unsigned char)a->key[1]);
    return strlen(a->text) >= (is_question || !strcmp(a->key, "reflection") ? LEAST_ANSWER : 1);
}

found attempt_answered(const attempt *a)
{
    static answer all[MAX_ANSWERS];
    char missing[400] = "";
    int asked = 0, answered = 0;
    const int n = open_answers(a, all);
    if (n < 0) return found_of(0, "no answers.txt");
    for (int i = 0; i < n; i++) {
        asked++;
        if (is_answered(&all[i])) {
            answered++;
            continue;
        }
        const size_t used = strlen(missing);
        snprintf(missing + used, sizeof missing - used, "%s%.60s", used ? ", " : "", all[i].key);
    }
    return asked ? found_of((double)answered / asked, "%d of %d%s%s", answered, asked,
                            *missing ? "; nothing, or next to nothing, for " : "", missing)
                 : found_of(0, "answers.txt has no questions in it");
}
