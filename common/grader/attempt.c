#include "grader/attempt.h"

#include "harness/device.h"

#include <glob.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

found found_of(double share, const char *format, ...)
{
    va_list args;
    found f = {.share = share};
    va_start(args, format);
    vsnprintf(f.text, sizeof f.text, format, args);
    va_end(args);
    return f;
}

int attempt_widths(const char *text, int *widths, int most)
{
    int n = 0;
    char *end;
    for (long width = strtol(text, &end, 10); end != text && width > 0 && n < most;
         width = strtol(text, &end, 10)) {
        widths[n++] = (int)width;
        text = *end == ',' ? end + 1 : end;
    }
    return n;
}

const char *attempt_path(const attempt *a, const char *name, char *path, size_t bytes)
{
    snprintf(path, bytes, "%s/%s", a->work, name);
    return path;
}

const char *attempt_program(const attempt *a, const char *whose, bool traced, char *path,
                            size_t bytes)
{
    snprintf(path, bytes, "%s/%s/%s/%s", a->work, traced ? "simt" : device_backend(), whose,
             traced ? "traced" : "plain");
    return path;
}

enum status attempt_find_lab(int lab, char *folder, size_t bytes, error_text *error)
{
    char pattern[64];
    glob_t found;
    snprintf(pattern, sizeof pattern, "labs/%02d_*/lab.cu", lab);
    enum status status = fail(error, STATUS_USAGE, "there is no lab %d (see labs/)", lab);
    if (glob(pattern, 0, NULL, &found) == 0 && found.gl_pathc == 1) {
        snprintf(folder, bytes, "%.*s", (int)(strrchr(found.gl_pathv[0], '/') - found.gl_pathv[0]),
                 found.gl_pathv[0]);
        status = STATUS_OK;
    }
    globfree(&found);
    return status;
}

enum status attempt_make_work(const char *wish, char *work, size_t bytes, error_text *error)
{
    if (wish) {
        if (mkdir(wish, 0711) != 0 || !realpath(wish, work))
            return fail(error, STATUS_USAGE, "%s: cannot be made, or is there already", wish);
        return STATUS_OK;
    }
    snprintf(work, bytes, "/tmp/grade.XXXXXX");
    if (!mkdtemp(work) || chmod(work, 0711) != 0)
        return fail(error, STATUS_RUNTIME, "/tmp: no room for a folder to work in");
    return STATUS_OK;
}

void attempt_remove_work(const char *work)
{
    char command[4200];
    snprintf(command, sizeof command, "rm -rf '%s'", work); /* a path of our own making */
    if (system(command) != 0) fprintf(stderr, "%s could not be removed\n", work);
}
