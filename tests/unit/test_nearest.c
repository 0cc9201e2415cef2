/*
 * test_nearest.c - the suggestion for a mistyped name.
 */
#include "fixture.h"

#include "matrix/nearest.h"

static const char *const names[] = {"arxiv", "collab", "citation", "ddi", "ppa", "products"};
enum { NAMES = sizeof names / sizeof *names };

static void suggests(void **state)
{
    (void)state;
    assert_string_equal(nearest_match("arxvi", names, NAMES), "arxiv");
    assert_string_equal(nearest_match("arxi", names, NAMES), "arxiv");
    assert_string_equal(nearest_match("product", names, NAMES), "products");
    assert_string_equal(nearest_match("colab", names, NAMES), "collab");
    assert_string_equal(nearest_match("ddi", names, NAMES), "ddi");
    assert_string_equal(nearest_match("dd", names, NAMES), "ddi");
}

/* Words cut short, but not so short that anything would do. */
static void suggests_by_the_beginning(void **state)
{
    (void)state;
    assert_string_equal(nearest_match("cit", names, NAMES), "citation");
    assert_null(nearest_match("cxt", (const char *const[]){"collab"}, 1));
    assert_null(nearest_match("ci", names, NAMES));
}

static void stays_silent(void **state)
{
    (void)state;
    assert_null(nearest_match("reddit", names, NAMES));
    assert_null(nearest_match("zzz", names, NAMES));
    assert_null(nearest_match("", names, NAMES));
    assert_null(nearest_match("arxiv", names, 0));
}

static void survives_long_words(void **state)
{
    (void)state;
    char word[1000];
    memset(word, 'a', sizeof word - 1);
    word[sizeof word - 1] = 0;
    assert_null(nearest_match(word, names, NAMES));
    const char *const itself[] = {word};
    assert_ptr_equal(nearest_match(word, itself, 1), word);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(suggests),
        cmocka_unit_test(suggests_by_the_beginning),
        cmocka_unit_test(stays_silent),
        cmocka_unit_test(survives_long_words),
    };
    return cmocka_run_group_tests_name("nearest", tests, NULL, NULL);
}
