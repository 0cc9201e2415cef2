#include "grader/attempt.h"
#include "grader/own_words.h"

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

/* ---- whether everything is answered ---------------------------------------------------------- */

/* A file of the lab's folder, in the staff's tree. NULL: it cannot be read; the caller frees it. */
static char *read_lab_file(const attempt *a, const char *name)
{
    enum { MOST = 1 << 18 };
    char path[700];
    snprintf(path, sizeof path, "%s/%s", a->lab_folder, name);
    FILE *f = fopen(path, "r");
    char *text = f ? calloc(MOST, 1) : NULL;
    if (text) text[fread(text, 1, MOST - 1, f)] = '\0';
    if (f) fclose(f);
    return text;
}

/* Question `number` of the handout: "3. Why ...", below the heading that ends with "Questions". */
static void find_question(const char *handout, const char *number, char *text, size_t bytes)
{
    char begin[16], end[16];
    *text = '\0';
    snprintf(begin, sizeof begin, "\n%d. ", atoi(number));
    snprintf(end, sizeof end, "\n%d. ", atoi(number) + 1);
    const char *from = handout ? strstr(handout, "Questions\n") : NULL;
    from = from ? strstr(from, begin) : NULL;
    if (!from) return;
    const char *next = strstr(from, end), *section = strstr(from, "\n## ");
    const char *to = next && (!section || next < section) ? next : section;
    snprintf(text, bytes, "%.*s", to ? (int)(to - from) : (int)bytes - 1, from);
}

static const answer *find_answer(const answer *all, int count, const char *key)
{
    for (int i = 0; i < count; i++)
        if (!strcmp(all[i].key, key)) return &all[i];
    return NULL;
}

/* Texts that an answer is held against. */
typedef struct context {
    char *handout_text, *form;
    known_text handout, known; /* known: all that an answer may not be copied from */
} context;

static void close_context(context *c)
{
    free(c->handout_text);
    free(c->form);
    known_text_free(&c->handout);
    known_text_free(&c->known);
}

static bool open_context(const attempt *a, context *c)
{
    *c = (context){.handout_text = read_lab_file(a, "README.md"),
                   .form = read_lab_file(a, "answers.txt")};
    const char *const handout = c->handout_text ? c->handout_text : "", *const form =
                                                                            c->form ? c->form : "";
    if (known_text_add(&c->handout, handout) && known_text_add(&c->known, handout) &&
        known_text_add(&c->known, form))
        return true;
    close_context(c);
    return false;
}

/* NULL: it is an answer; else what it lacks. Questions want words of one's own, predictions and names anything. */
static const char *lacking(const answer *a, context *c)
{
    char question[2000] = "";
    const bool is_question = a->key[0] == 'q' && isdigit((unsigned char)a->key[1]);
    if (!*a->text) return "nothing";
    if (!is_question && strcmp(a->key, "reflection") != 0) return NULL;
    if (is_question) find_question(c->handout_text, a->key + 1, question, sizeof question);
    if (strlen(a->text) < LEAST_ANSWER) return "next to nothing";
    const char *why = own_words_lacking(a->text, question, &c->handout, &c->known);
    return known_text_add(&c->known, a->text) ? why : "no memory to read it";
}

found attempt_answered(const attempt *a)
{
    static answer all[MAX_ANSWERS], form[MAX_ANSWERS];
    char missing[400] = "", path[700];
    int answered = 0;
    context c;
    const int n = open_answers(a, all);
    if (n < 0) return found_of(0, "no answers.txt");
    snprintf(path, sizeof path, "%s/answers.txt", a->lab_folder);
    FILE *f = fopen(path, "r"); /* what is asked is the staff's to say */
    const int asked = f ? read_answers(f, form) : 0;
    if (f) fclose(f);
    if (!asked) return found_of(NAN, "%.500s: there are no questions", path);
    if (!open_context(a, &c)) return found_of(NAN, "no memory to read answers");
    for (int i = 0; i < asked; i++) {
        const answer *given = find_answer(all, n, form[i].key);
        const char *why = given ? lacking(given, &c) : "nothing";
        const size_t used = strlen(missing);
        if (why)
            snprintf(missing + used, sizeof missing - used, "; %.60s: %s", form[i].key, why);
        else
            answered++;
    }
    close_context(&c);
    return found_of((double)answered / asked, "%d of %d%s", answered, asked, missing);
}
