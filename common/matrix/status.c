#include "matrix/status.h"

#include <stdarg.h>
#include <stdio.h>

enum status fail(error_text *error, enum status status, const char *format, ...)
{
    if (error) {
        va_list args;
        va_start(args, format);
        vsnprintf(error->text, sizeof error->text, format, args);
        va_end(args);
        /* File names and other libraries' messages may hold line ends; ours hold one line. */
        for (char *c = error->text; *c; c++) {
            if (*c == '\n' || *c == '\r') *c = ' ';
        }
    }
    return status;
}
