#include "matrix/status.h"

#include <stdarg.h>
#include <stdio.h>

enum status fail(error_text *error, enum status status, const char *format, ...) {
    if (error) {
        va_list args;
        va_start(args, format);
        vsnprintf(error->text, sizeof error->text, format, args);
        va_end(args);
    }
    return status;
}
