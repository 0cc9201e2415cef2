/*
 * test_limit.h - limits that tests make small, so that they try on small matrices what only huge ones meet.
 */
#ifndef MATRIX_TEST_LIMIT_H
#define MATRIX_TEST_LIMIT_H

#include <stdint.h>

/* Returns the number in the environment variable `name`, which begins with SPMM_TEST_, if it is whole and 1 .. usual; else
 * `usual`. So a limit becomes smaller, and never larger; a smaller sample is said by the verdict. A release build obeys, too:
 * tests are of the program that users have. It is no setting: the tour names it for those who add tests. */
int64_t test_limit(const char *name, int64_t usual);

#endif
