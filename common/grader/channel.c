#include "grader/channel.h"

#include "harness/timing.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

/* How long poll may wait, in whole milliseconds; -1 for an `until` that never comes. */
static int patience(double until)
{
    const double left = until - wall_ms();
    if (isinf(until)) return -1;
    return left <= 0 ? 0 : left > 1e6 ? 1000000 : (int)left + 1;
}

static bool is_ready(int fd, short what, double until)
{
    struct pollfd p = {.fd = fd, .events = what};
    for (;;) {
        const int n = poll(&p, 1, patience(until));
        if (n > 0) return true;
        if (n == 0 && wall_ms() >= until) return false;
        if (n < 0 && errno != EINTR) return false;
    }
}

bool channel_write(int fd, const void *data, size_t bytes, double until)
{
    for (const char *at = data; bytes;) {
        if (!is_ready(fd, POLLOUT, until)) return false;
        const ssize_t n = send(fd, at, bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
        if (n <= 0) return false;
        at += n;
        bytes -= n;
    }
    return true;
}

bool channel_read(int fd, void *data, size_t bytes, double until)
{
    for (char *at = data; bytes;) {
        if (!is_ready(fd, POLLIN, until)) return false;
        const ssize_t n = recv(fd, at, bytes, MSG_DONTWAIT);
        if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
        if (n <= 0) return false;
        at += n;
        bytes -= n;
    }
    return true;
}
