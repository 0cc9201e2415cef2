#include "matrix/stream.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

enum { BLOCK_BYTES = 1 << 17 }; /* large enough that system calls do not count */

/* A file packed by gzip: members one behind the other, each with its own checksum. */
typedef struct gunzip {
    z_stream z;
    int64_t unpacked; /* bytes so far, of all members */
    bool between;     /* a member has ended, and none has begun since */
    unsigned char block[BLOCK_BYTES];
} gunzip;

struct byte_stream {
    const char *path;
    int fd;
    int64_t file_bytes;

    gunzip *gunzip; /* NULL: a plain file */
    bool finished;  /* the last member of gzip has ended, and its checksum agrees */

    struct archive *tar; /* NULL: not inside an archive */
    char tar_block[BLOCK_BYTES];
    error_text tar_error; /* why a block could not be read */
};

static enum status bad_gzip(const byte_stream *s, const char *reason, error_text *error)
{
    return fail(error, STATUS_DATASET, "%s: the gzip data is cut short or corrupt (%s)", s->path,
                reason ? reason : "no further reason");
}

/* Reads from the file itself. *got == 0 at its end only. */
static enum status read_plain(const byte_stream *s, void *buffer, size_t capacity, size_t *got,
                              error_text *error)
{
    ssize_t n;
    do
        n = read(s->fd, buffer, capacity);
    while (n < 0 && errno == EINTR);
    if (n < 0) return fail(error, STATUS_DATASET, "%s: %s", s->path, strerror(errno));
    *got = (size_t)n;
    return STATUS_OK;
}

/* Gives zlib the next bytes of the file, if it has used up the last ones. Without a byte left
 * behind the end of a member, the stream is finished. */
static enum status feed(byte_stream *s, error_text *error)
{
    gunzip *g = s->gunzip;
    if (g->z.avail_in > 0) return STATUS_OK;
    size_t got;
    enum status status = read_plain(s, g->block, sizeof g->block, &got, error);
    if (status != STATUS_OK) return status;
    g->z.next_in = g->block;
    g->z.avail_in = (uInt)got;
    if (got > 0) return STATUS_OK;
    s->finished = g->between;
    return s->finished ? STATUS_OK : bad_gzip(s, "its end is missing", error);
}

/* Begins the next member. What follows the last one must be zeros, with which tapes were filled up;
 * a second member whose first bytes are damaged would be lost otherwise. */
static enum status begin_member(byte_stream *s, error_text *error)
{
    gunzip *g = s->gunzip;
    bool zeros = false;
    for (;;) {
        enum status status = feed(s, error);
        if (status != STATUS_OK || s->finished) return status;
        if (*g->z.next_in != 0) break;
        zeros = true;
        g->z.next_in++;
        g->z.avail_in--;
    }
    if (zeros || *g->z.next_in != 0x1f) return bad_gzip(s, "other bytes follow its end", error);
    g->between = false;
    inflateReset(&g->z);
    return STATUS_OK;
}

/* Reads the unpacked bytes of a gzip file. *got == 0 at the end only. */
static enum status read_gunzip(byte_stream *s, void *buffer, size_t capacity, size_t *got,
                               error_text *error)
{
    gunzip *g = s->gunzip;
    g->z.next_out = buffer;
    uInt room = g->z.avail_out = capacity < BLOCK_BYTES ? (uInt)capacity : BLOCK_BYTES;
    while (g->z.avail_out == room) {
        enum status status = g->between ? begin_member(s, error) : feed(s, error);
        if (status != STATUS_OK) return status;
        if (s->finished) break;
        int result = inflate(&g->z, Z_NO_FLUSH);
        if (result == Z_MEM_ERROR) return fail(error, STATUS_MEMORY, "no memory to unpack");
        if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR)
            return bad_gzip(s, g->z.msg, error);
        g->between = result == Z_STREAM_END;
    }
    *got = room - g->z.avail_out;
    g->unpacked += (int64_t)*got;
    if (g->unpacked <= stream_most_bytes(s)) return STATUS_OK;
    return fail(error, STATUS_DATASET,
                "%s: unpacks to more than %d times its %" PRId64
                " bytes, as no matrix does; if you trust it, unpack it first",
                s->path, MOST_EXPANSION, s->file_bytes);
}

static enum status start_gunzip(byte_stream *s, error_text *error)
{
    enum { WINDOW_BITS = 15, GZIP_ONLY = 16 };
    s->gunzip = calloc(1, sizeof *s->gunzip);
    if (s->gunzip && inflateInit2(&s->gunzip->z, WINDOW_BITS + GZIP_ONLY) == Z_OK) return STATUS_OK;
    free(s->gunzip);
    s->gunzip = NULL;
    return fail(error, STATUS_MEMORY, "no memory to unpack");
}

enum status stream_open(byte_stream **stream, const char *path, error_text *error)
{
    enum status status = STATUS_OK;
    *stream = NULL;
    byte_stream *s = calloc(1, sizeof *s);
    if (!s) return fail(error, STATUS_MEMORY, "no memory to read a file");
    s->path = path;
    s->fd = -1;

    /* Looked at before it is opened: opening a pipe would wait for a writer. */
    struct stat info;
    if (stat(path, &info) != 0) {
        status = fail(error, STATUS_DATASET, "%s: %s", path, strerror(errno));
        goto cleanup;
    }
    if (!S_ISREG(info.st_mode)) {
        status = fail(error, STATUS_DATASET, "%s: is %s, not a file", path,
                      S_ISDIR(info.st_mode) ? "a directory" : "a device or a pipe");
        goto cleanup;
    }
    s->file_bytes = info.st_size;
    s->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (s->fd < 0) {
        status = fail(error, STATUS_DATASET, "%s: %s", path, strerror(errno));
        goto cleanup;
    }

    unsigned char magic[2];
    if (pread(s->fd, magic, 2, 0) == 2 && magic[0] == 0x1f && magic[1] == 0x8b)
        status = start_gunzip(s, error);

cleanup:
    if (status == STATUS_OK)
        *stream = s;
    else
        stream_close(s);
    return status;
}

void stream_close(byte_stream *s)
{
    if (!s) return;
    if (s->tar) archive_read_free(s->tar);
    if (s->gunzip) inflateEnd(&s->gunzip->z);
    free(s->gunzip);
    if (s->fd >= 0) close(s->fd);
    free(s);
}

/* Reads the file itself, unpacked but not inside an archive. *got == 0 at the end only. */
static enum status read_file(byte_stream *s, void *buffer, size_t capacity, size_t *got,
                             error_text *error)
{
    *got = 0;
    if (s->finished || capacity == 0) return STATUS_OK;
    return s->gunzip ? read_gunzip(s, buffer, capacity, got, error)
                     : read_plain(s, buffer, capacity, got, error);
}

static la_ssize_t next_tar_block(struct archive *tar, void *client, const void **block)
{
    (void)tar;
    byte_stream *s = client;
    size_t got;
    if (read_file(s, s->tar_block, sizeof s->tar_block, &got, &s->tar_error) != STATUS_OK)
        return -1;
    *block = s->tar_block;
    return (la_ssize_t)got;
}

static enum status bad_tar(const byte_stream *s, error_text *error)
{
    if (*s->tar_error.text) return fail(error, STATUS_DATASET, "%s", s->tar_error.text);
    const char *reason = archive_error_string(s->tar);
    return fail(error, STATUS_DATASET, "%s: no readable tar archive (%s)", s->path,
                reason ? reason : "no further reason");
}

/* x/x<suffix> or x<suffix>, with or without "./" in front. */
static bool is_wanted(const char *member, const char *suffix)
{
    if (strncmp(member, "./", 2) == 0) member += 2;
    size_t length = strlen(member), tail = strlen(suffix);
    if (length <= tail || strcmp(member + length - tail, suffix) != 0) return false;
    const char *slash = strchr(member, '/');
    if (!slash) return true;
    size_t folder = (size_t)(slash - member);
    return length - tail == 2 * folder + 1 && memcmp(member, slash + 1, folder) == 0;
}

enum status stream_enter_tar(byte_stream *s, const char *suffix, char *name, size_t capacity,
                             error_text *error)
{
    s->tar = archive_read_new();
    if (!s->tar) return fail(error, STATUS_MEMORY, "no memory to read an archive");
    archive_read_support_format_tar(s->tar);
    if (archive_read_open(s->tar, s, NULL, next_tar_block, NULL) != ARCHIVE_OK)
        return bad_tar(s, error);

    for (;;) {
        struct archive_entry *entry;
        int result = archive_read_next_header(s->tar, &entry);
        if (result == ARCHIVE_EOF)
            return fail(error, STATUS_DATASET, "%s: the archive has no member <name>/<name>%s",
                        s->path, suffix);
        if (result != ARCHIVE_OK) return bad_tar(s, error);
        const char *member = archive_entry_pathname(entry);
        if (archive_entry_filetype(entry) != AE_IFREG || !member || !is_wanted(member, suffix))
            continue;
        size_t length = strnlen(member, capacity - 1);
        memcpy(name, member, length);
        name[length] = 0;
        return STATUS_OK;
    }
}

/* The rest of the file after the member: read only for gzip's trailer behind it. */
static enum status drain(byte_stream *s, error_text *error)
{
    size_t got = 1;
    while (s->gunzip && !s->finished && got > 0) {
        enum status status = read_file(s, s->tar_block, sizeof s->tar_block, &got, error);
        if (status != STATUS_OK) return status;
    }
    return STATUS_OK;
}

static enum status read_some(byte_stream *s, void *buffer, size_t capacity, size_t *got,
                             error_text *error)
{
    if (!s->tar) return read_file(s, buffer, capacity, got, error);
    *got = 0;
    la_ssize_t n = archive_read_data(s->tar, buffer, capacity);
    if (n < 0) return bad_tar(s, error);
    if (n == 0) return drain(s, error);
    *got = (size_t)n;
    return STATUS_OK;
}

enum status stream_read(byte_stream *s, void *buffer, size_t capacity, size_t *got,
                        error_text *error)
{
    *got = 0;
    while (*got < capacity) {
        size_t n;
        enum status status = read_some(s, (char *)buffer + *got, capacity - *got, &n, error);
        if (status != STATUS_OK) return status;
        if (n == 0) break;
        *got += n;
    }
    return STATUS_OK;
}

int64_t stream_most_unpacked(int64_t packed)
{
    enum { ALWAYS = 1 << 26, DEFLATE_RATIO = 1032 /* zlib's technical notes */ };
    int64_t most = ALWAYS + MOST_EXPANSION * packed, possible = DEFLATE_RATIO * packed;
    return most < possible ? most : possible;
}

int64_t stream_most_bytes(const byte_stream *s)
{
    return s->gunzip ? stream_most_unpacked(s->file_bytes) : s->file_bytes;
}

enum status stream_head(const char *path, char *head, size_t capacity, size_t *got,
                        error_text *error)
{
    byte_stream *s;
    *got = 0;
    enum status status = stream_open(&s, path, error);
    if (status != STATUS_OK) return status;
    status = stream_read(s, head, capacity, got, error);
    stream_close(s);
    return status;
}

bool stream_is_tar(const char *head, size_t bytes)
{
    enum { MAGIC_OFFSET = 257 }; /* of "ustar" in POSIX and GNU headers */
    return bytes >= 512 && memcmp(head + MAGIC_OFFSET, "ustar", 5) == 0;
}
