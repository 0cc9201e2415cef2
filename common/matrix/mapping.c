#include "matrix/mapping.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum status mapping_open(const char *path, void **address, size_t *bytes, error_text *error)
{
    enum status status = STATUS_OK;
    *address = NULL;
    *bytes = 0;
    /* O_NONBLOCK: opening a pipe must not wait for its writer; regular files do not mind. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return fail(error, STATUS_DATASET, "%s: %s", path, strerror(errno));

    struct stat info;
    if (fstat(fd, &info) != 0) {
        status = fail(error, STATUS_DATASET, "%s: %s", path, strerror(errno));
        goto cleanup;
    }
    if (!S_ISREG(info.st_mode)) {
        status = fail(error, STATUS_DATASET, "%s: is not a regular file", path);
        goto cleanup;
    }
    if (info.st_size == 0) goto cleanup;
    void *mapped = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (mapped == MAP_FAILED) {
        status = fail(error, STATUS_DATASET, "%s: cannot be mapped: %s", path, strerror(errno));
        goto cleanup;
    }
    *address = mapped;
    *bytes = (size_t)info.st_size;

cleanup:
    close(fd);
    return status;
}

void mapping_close(void *address, size_t bytes)
{
    if (address) munmap(address, bytes);
}
