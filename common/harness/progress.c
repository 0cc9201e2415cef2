#include "harness/progress.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { BAR = 20, WIDTH = 79, BETWEEN_MS = 200 };

static bool shown;
static size_t step, steps; /* of the last progress_show, as is the ... */
static char step_text[200];

static long long now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000LL + t.tv_nsec / 1000000;
}

/* How long the bar's line may be: one that wraps could not be removed. */
static int room(void)
{
    struct winsize terminal;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &terminal) != 0 || terminal.ws_col == 0) return WIDTH;
    return terminal.ws_col > WIDTH ? WIDTH : terminal.ws_col - 1;
}

/* By blanks: no escape sequence, which a log or a reader with NO_COLOR would see. */
void progress_clear(void)
{
    if (shown) fprintf(stderr, "\r%*s\r", room(), "");
    shown = false;
}

static void draw(double filled_steps, const char *detail)
{
    char line[WIDTH + 1];
    const int most = room();
    const int filled = steps ? (int)(filled_steps * BAR / steps) : 0;
    const int length =
        snprintf(line, sizeof line, "[%.*s%*s] %zu/%zu %s%s", filled,
                 "====================", BAR - filled, "", step, steps, step_text, detail);
    if (length > most && most > 3) memcpy(line + most - 3, "...", 3);
    fprintf(stderr, "\r%-*.*s", most, most, line);
    fflush(stderr);
    shown = true;
}

void progress_show(size_t done, size_t total, const char *what)
{
    step = done;
    steps = total;
    snprintf(step_text, sizeof step_text, "%s", what);
    if (isatty(STDERR_FILENO)) draw((double)done, "");
}

void progress_within(const char *detail, double share)
{
    static long long last;
    char text[48];
    const long long now = now_ms();
    if (now - last < BETWEEN_MS || !isatty(STDERR_FILENO)) return;
    last = now;
    share = share < 0 ? 0 : share > 1 ? 1 : share;
    snprintf(text, sizeof text, ": %.0f %% of %.30s", 100 * share, detail);
    draw((double)step + share, text);
}
