#include "matrix/files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static enum status cannot_write(const char *path, error_text *error)
{
    return fail(error, STATUS_RUNTIME, "%s: cannot write: %s", path, strerror(errno));
}

enum status output_open(output_file *f, const char *path, error_text *error)
{
    struct stat old;
    const bool exists = stat(path, &old) == 0;
    *f = (output_file){0};
    if (!*path) return fail(error, STATUS_RUNTIME, "cannot write to a file without a name");
    char real[4096]; /* what a symbolic link points to is replaced, not the link */
    if (exists && realpath(path, real)) path = real;
    const int length = snprintf(f->path, sizeof f->path, "%s", path);
    if (length + sizeof ".XXXXXX" > sizeof f->path)
        return fail(error, STATUS_RUNTIME, "%.80s...: the path is too long", path);

    if (exists && !S_ISREG(old.st_mode)) {
        f->stream = fopen(path, "w");
        return f->stream ? STATUS_OK : cannot_write(path, error);
    }
    snprintf(f->temporary, sizeof f->temporary, "%.4080s.XXXXXX", f->path);
    const int fd = mkstemp(f->temporary);
    if (fd < 0) return cannot_write(path, error);
    /* mkstemp makes files private; the result gets the mode any new file, or the old one, has. */
    const mode_t mask = umask(0);
    umask(mask);
    fchmod(fd, exists ? old.st_mode & 07777 : 0666 & ~mask);
    f->stream = fdopen(fd, "w");
    if (f->stream) return STATUS_OK;
    close(fd);
    unlink(f->temporary);
    return cannot_write(path, error);
}

enum status output_close(output_file *f, error_text *error)
{
    const bool written = !ferror(f->stream);
    const bool closed = fclose(f->stream) == 0;
    f->stream = NULL;
    if (written && closed && (!*f->temporary || rename(f->temporary, f->path) == 0))
        return STATUS_OK;
    enum status status = cannot_write(f->path, error);
    if (*f->temporary) unlink(f->temporary);
    return status;
}

void output_discard(output_file *f)
{
    if (f->stream) fclose(f->stream);
    if (*f->temporary) unlink(f->temporary);
    *f = (output_file){0};
}

enum status output_flush(error_text *error)
{
    if (fflush(stdout) == 0 && !ferror(stdout)) return STATUS_OK;
    clearerr(stdout);
    return fail(error, STATUS_RUNTIME, "standard output: cannot write: %s", strerror(errno));
}

enum status output_end(const char *program, enum status status, error_text *error)
{
    if (status == STATUS_OK)
        status = output_flush(error);
    else
        fflush(stdout);
    if (status != STATUS_OK) fprintf(stderr, "%s: %s\n", program, error->text);
    return status;
}

enum status output_write(const char *path, void (*write)(FILE *out, const void *arg),
                         const void *arg, error_text *error)
{
    output_file file;
    if (!path) return STATUS_OK;
    if (!strcmp(path, "-")) {
        write(stdout, arg);
        return output_flush(error);
    }
    const enum status status = output_open(&file, path, error);
    if (status != STATUS_OK) return status;
    write(file.stream, arg);
    return output_close(&file, error);
}

bool output_is_stream(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && !S_ISREG(info.st_mode);
}

/* The file that would be written: links followed, folders in full. */
static bool resolve(const char *path, char *real)
{
    if (realpath(path, real)) return true;
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    char folder[4096], real_folder[4096];
    const int length = snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path) + 1 : 2,
                                slash ? path : "./");
    return length < (int)sizeof folder && realpath(folder, real_folder) &&
           snprintf(real, 4096, "%s/%s", real_folder, name) < 4096;
}

bool output_is_same(const char *a, const char *b)
{
    char real_a[4096], real_b[4096];
    struct stat info_a, info_b;
    if (!strcmp(a, b)) return !output_is_stream(a);
    if (stat(a, &info_a) == 0 && stat(b, &info_b) == 0)
        return S_ISREG(info_a.st_mode) && info_a.st_dev == info_b.st_dev &&
               info_a.st_ino == info_b.st_ino;
    return resolve(a, real_a) && resolve(b, real_b) && !strcmp(real_a, real_b);
}

enum status output_check(const char *path, error_text *error)
{
    output_file file;
    struct stat info;
    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode))
        return access(path, W_OK) == 0 ? STATUS_OK : cannot_write(path, error);
    enum status status = output_open(&file, path, error);
    if (status == STATUS_OK) output_discard(&file);
    return status;
}

/* mkdir -p for one path. */
static int make_folders(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        const int failed = mkdir(path, 0777) != 0 && errno != EEXIST;
        *slash = '/';
        if (failed) return -1;
    }
    return mkdir(path, 0777) != 0 && errno != EEXIST ? -1 : 0;
}

enum status cache_path(const char *name, char *path, size_t bytes, error_text *error)
{
    const char *base = getenv("XDG_CACHE_HOME"), *below = "";
    if (!base || *base != '/') { /* the XDG specification: relative paths are to be ignored */
        base = getenv("HOME");
        below = "/.cache";
    }
    if (!base || *base != '/')
        return fail(error, STATUS_RUNTIME,
                    "no cache folder: neither XDG_CACHE_HOME nor HOME is set");
    char folder[2048];
    if ((size_t)snprintf(folder, sizeof folder, "%s%s/spmm-lab", base, below) >= sizeof folder ||
        (size_t)snprintf(path, bytes, "%s/%s", folder, name) >= bytes)
        return fail(error, STATUS_RUNTIME, "%.80s...: the cache folder's path is too long", base);
    return make_folders(folder) == 0 ? STATUS_OK : cannot_write(folder, error);
}
