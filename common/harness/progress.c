#include "harness/progress.h"

#include <stdbool.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { BAR = 30 };

static bool shown;

void progress_clear(void)
{
    if (shown) fputs("\r\033[K", stderr);
    shown = false;
}

void progress_show(size_t done, size_t total, const char *what)
{
    static time_t start;
    if (!start) start = time(NULL);
    if (!isatty(STDERR_FILENO) || time(NULL) - start < 2) return;
    const int filled = total ? (int)(done * BAR / total) : 0;
    progress_clear();
    fprintf(stderr, "[%.*s%*s] %zu/%zu %s", filled, "==============================", BAR - filled,
            "", done, total, what);
    fflush(stderr);
    shown = true;
}
