#include "matrix/foreign.h"

#include <string.h>

static const struct {
    size_t bytes;
    const char *magic, *sentence;
} known[] = {
    {2, "\x1f\x8b", "gzip data inside gzip data; unpack it once"},
    {4, "PK\3\4", "a zip archive, no text; unpack it first (unzip)"},
    {3, "BZh", "bzip2 data; unpack it first (bunzip2)"},
    {6,
     "\xfd"
     "7zXZ",
     "xz data; unpack it first (unxz)"},
    {4, "\x28\xb5\x2f\xfd", "zstd data; unpack it first (unzstd)"},
    {6, "7z\xbc\xaf\x27\x1c", "a 7z archive; unpack it first"},
    {4, "\x89HDF", "an HDF5 file; save the matrix as .mtx or with scipy.sparse.save_npz"},
    {6, "MATLAB", "a MATLAB file; save the matrix as .mtx (mmwrite)"},
    {6, "\x93NUMPY", "a dense numpy array; save the matrix with scipy.sparse.save_npz"},
    {2, "\xff\xfe", "UTF-16 text; save it as UTF-8 (iconv -f UTF-16 -t UTF-8)"},
    {2, "\xfe\xff", "UTF-16 text; save it as UTF-8 (iconv -f UTF-16 -t UTF-8)"},
};

/* Whether lines end with CR alone, as on old Macintoshes: then all would look like one line. */
static int has_old_line_ends(const char *head, size_t bytes)
{
    const char *cr = memchr(head, '\r', bytes);
    return cr && cr + 1 < head + bytes && !memchr(head, '\n', bytes) && !memchr(head, 0, bytes);
}

const char *foreign_content(const char *head, size_t bytes)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (bytes >= known[i].bytes && memcmp(head, known[i].magic, known[i].bytes) == 0)
            return known[i].sentence;
    if (has_old_line_ends(head, bytes))
        return "text whose lines end with CR alone; convert it first (tr '\\r' '\\n')";
    return NULL;
}

size_t utf8_mark(const char *head, size_t bytes)
{
    return bytes >= 3 && memcmp(head, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
}
