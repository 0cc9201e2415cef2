#include "matrix/test_limit.h"

#include <errno.h>
#include <stdlib.h>

int64_t test_limit(const char *name, int64_t usual)
{
    const char *text = getenv(name);
    char *end;
    if (!text || !*text) return usual;
    errno = 0;
    const long long limit = strtoll(text, &end, 10);
    return *end || errno || limit < 1 || limit > usual ? usual : limit;
}
