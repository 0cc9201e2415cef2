#include "matrix/stream.h"

#include "matrix/crc.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    BLOCK_BYTES = 1 << 17, /* large enough that system calls do not count */
    DEFLATE_RATIO = 1032   /* deflate cannot expand by more (zlib's technical notes) */
};

struct byte_stream {
    const char *path;
    int fd;
    int64_t file_bytes;

    struct archive *gunzip; /* NULL: a plain file */
    crc_tables crc_tables;
    uint32_t crc;
    uint32_t unpacked; /* bytes so far, modulo 2^32 as in the trailer */
    bool finished;     /* the end was reached, and the trailer agrees */

    struct archive *tar; /* NULL: not inside an archive */
    char tar_block[BLOCK_BYTES];
    error_text tar_error; /* why a block could not be read */
};

static enum status bad_gzip(const byte_stream *s, const char *reason, error_text *error)
{
    return fail(error, STATUS_DATASET, "%s: the gzip data is cut short or corrupt (%s)", s->path,
                reason ? reason : "no further reason");
}

static enum status start_gunzip(byte_stream *s, error_text *error)
{
    crc_init(&s->crc_tables);
    s->gunzip = archive_read_new();
    if (!s->gunzip) return fail(error, STATUS_MEMORY, "no memory to unpack");
    archive_read_support_filter_gzip(s->gunzip);
    archive_read_support_format_raw(s->gunzip);
    archive_read_support_format_empty(s->gunzip);
    struct archive_entry *entry;
    int opened = archive_read_open_fd(s->gunzip, s->fd, BLOCK_BYTES);
    if (opened == ARCHIVE_OK) opened = archive_read_next_header(s->gunzip, &entry);
    /* libarchive unpacks every layer (and counts its own as one more), but the trailer that is
     * compared below is the outer layer's. */
    if (archive_filter_count(s->gunzip) > 2)
        return fail(error, STATUS_DATASET, "%s: gzip data inside gzip data; unpack it once",
                    s->path);
    s->finished = opened == ARCHIVE_EOF; /* gzip of nothing */
    if (opened == ARCHIVE_OK || opened == ARCHIVE_EOF) return STATUS_OK;
    return bad_gzip(s, archive_error_string(s->gunzip), error);
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
    if (s->gunzip) archive_read_free(s->gunzip);
    if (s->fd >= 0) close(s->fd);
    free(s);
}

/* The last 8 bytes of a gzip member: CRC-32 and length modulo 2^32, little-endian. They can only be
 * compared with the whole stream, so a file of several joined members is refused, too. */
static enum status verify_gzip(byte_stream *s, error_text *error)
{
    uint32_t trailer[2] = {0, 0};
    int64_t consumed = archive_filter_bytes(s->gunzip, -1);
    if (pread(s->fd, trailer, sizeof trailer, consumed - (int64_t)sizeof trailer) != sizeof trailer)
        return bad_gzip(s, "no trailer", error);
    if (trailer[1] != s->unpacked)
        return bad_gzip(s, "its length differs; if it was joined from several, unpack it first",
                        error);
    if (trailer[0] != s->crc) return bad_gzip(s, "its checksum differs", error);
    s->finished = true;
    return STATUS_OK;
}

/* Reads the file itself, unpacked but not inside an archive. *got == 0 at the end only. */
static enum status read_file(byte_stream *s, void *buffer, size_t capacity, size_t *got,
                             error_text *error)
{
    *got = 0;
    if (s->finished) return STATUS_OK;
    ssize_t n;
    if (s->gunzip) {
        n = archive_read_data(s->gunzip, buffer, capacity);
        if (n < 0) return bad_gzip(s, archive_error_string(s->gunzip), error);
        s->crc = crc_update(&s->crc_tables, s->crc, buffer, (size_t)n);
        s->unpacked += (uint32_t)n;
        if (n == 0) return verify_gzip(s, error);
    } else {
        do
            n = read(s->fd, buffer, capacity);
        while (n < 0 && errno == EINTR);
        if (n < 0) return fail(error, STATUS_DATASET, "%s: %s", s->path, strerror(errno));
    }
    *got = (size_t)n;
    return STATUS_OK;
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

int64_t stream_most_bytes(const byte_stream *s)
{
    return s->gunzip ? s->file_bytes * DEFLATE_RATIO : s->file_bytes;
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
