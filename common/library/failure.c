#include "library/failure.h"

#include "device/cuda_try.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>

static _Thread_local char text[1200];
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

const char *sparse_error_text(void)
{
    return text;
}

enum sparse_status refuse(enum sparse_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return status;
}

enum sparse_status refuse_status(enum status status, const error_text *error)
{
    return refuse(status == STATUS_MEMORY ? SPARSE_NO_MEMORY : SPARSE_INVALID, "%s", error->text);
}

enum sparse_status refuse_cuda(cudaError_t error, const char *doing)
{
    const enum sparse_status status = error == cudaErrorMemoryAllocation ? SPARSE_NO_MEMORY
                                      : error == cudaErrorNotSupported   ? SPARSE_UNSUITED
                                                                         : SPARSE_DEVICE;
    cudaGetLastError(); /* has been told: the caller's next question is not to find it again */
    return refuse(status, "%s: %s", doing, cuda_failure_text(error));
}

void library_enter(void)
{
    pthread_mutex_lock(&turn);
}

void library_leave(void)
{
    pthread_mutex_unlock(&turn);
}
