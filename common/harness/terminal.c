#include "harness/terminal.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *paint(FILE *out, enum colour c)
{
    static const char *const CODES[] = {"\033[0m",  "\033[32m", "\033[31m",
                                        "\033[33m", "\033[36m", "\033[1m"};
    const char *unwanted = getenv("NO_COLOR"); /* no-color.org: set, and not empty */
    return isatty(fileno(out)) && !(unwanted && *unwanted) ? CODES[c] : "";
}

/* `value` with three digits: 0.00 to 9.99, 10.0 to 99.9, 100 to 999. */
static int decimals_of(double value)
{
    return value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
}

static amount_text with_unit(double value, const char *unit, bool in_column)
{
    static const char PREFIXES[] = " kMGTP";
    amount_text a = {"-"};
    if (!isfinite(value)) return a;
    int k = 0;
    while (k < 5 && fabs(value) >= (k ? 999.5 : 1000)) {
        value /= 1000;
        k++;
    }
    const char prefix[2] = {k || in_column ? PREFIXES[k] : '\0', '\0'};
    const char *blank = *prefix || *unit ? " " : "";
    /* Counts have no prefix: no decimals. */
    snprintf(a.text, sizeof a.text, "%.*f%s%s%s", k ? decimals_of(fabs(value)) : 0, value, blank,
             prefix, unit);
    return a;
}

amount_text amount(double value)
{
    return with_unit(value, "", true);
}

amount_text bytes_in_words(double value)
{
    return with_unit(value, "B", false);
}

amount_text in_words(double value)
{
    return with_unit(value, "", false);
}

amount_text percent(double share)
{
    amount_text a = {"-"};
    const double p = 100 * share;
    if (isfinite(p)) snprintf(a.text, sizeof a.text, "%.*f %%", p > 0 && p < 0.995 ? 1 : 0, p);
    return a;
}

amount_text times(double ratio)
{
    amount_text a = {"-"};
    if (isfinite(ratio))
        snprintf(a.text, sizeof a.text, "%.*f x", ratio < 9.95 ? 2 : ratio < 99.5 ? 1 : 0, ratio);
    return a;
}

void print_folded(FILE *out, int indent, const char *text)
{
    int used = 0; /* columns behind the indent */
    while (*text) {
        const int length = (int)strcspn(text, " ");
        if (used && indent + used + 1 + length > TERMINAL_WIDTH) {
            putc('\n', out);
            used = 0;
        }
        fprintf(out, "%*s%.*s", used ? 1 : indent, "", length, text);
        used += length + (used > 0);
        text += length;
        text += strspn(text, " ");
    }
    putc('\n', out);
}
