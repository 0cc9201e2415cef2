/*
 * nccl.h - what moves between ranks on the CPU backend, under the names of NVIDIA's NCCL. A CUDA build finds
 * NVIDIA's file of the same name instead.
 *
 * Names, numbers and meanings are those of the NCCL documentation. There are broadcasts, all-gathers, sends and
 * receives of bytes, on communicators that do not block (ncclConfig_t.blocking = 0), in groups:
 *   - A call that others must answer returns ncclInProgress. ncclCommGetAsyncError takes it further, and says
 *     ncclInProgress until it is done. A rank that never calls leaves the others in progress for ever.
 *   - A group has been given when ncclGroupEnd returns. It may not be followed by another before it is done.
 *   - Ranks are threads of a process, or processes of a machine: bytes go through a file in memory, which the
 *     unique id names.
 * Several ranks on one device are no error: SIMT_DEVICES makes several.
 * What differs here: a group is done when its last byte has arrived, which a GPU says of its stream only. Calls that
 * do not fit together end with ncclInvalidUsage, where NCCL may wait for ever.
 *
 * SIMT_NCCL_FAULT=KIND:RANK:CALL lets call number CALL (1, 2, ... of ncclGroupEnd; 0: the start) of a rank go wrong:
 *   exit     its process ends          error    the call returns ncclSystemError
 *   miss     it takes no part          async    ncclCommGetAsyncError says ncclRemoteError afterwards
 */
#ifndef SIMT_NCCL_H
#define SIMT_NCCL_H

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { NCCL_UNIQUE_ID_BYTES = 128 };

typedef struct ncclComm *ncclComm_t;

typedef struct ncclUniqueId {
    char internal[NCCL_UNIQUE_ID_BYTES];
} ncclUniqueId;

typedef enum ncclResult_t {
    ncclSuccess = 0,
    ncclUnhandledCudaError = 1,
    ncclSystemError = 2,
    ncclInternalError = 3,
    ncclInvalidArgument = 4,
    ncclInvalidUsage = 5,
    ncclRemoteError = 6,
    ncclInProgress = 7,
} ncclResult_t;

typedef enum ncclDataType_t { ncclUint8 = 1 } ncclDataType_t;

/* blocking must be 0. */
typedef struct ncclConfig_t {
    int blocking;
} ncclConfig_t;
#define NCCL_CONFIG_INITIALIZER \
    {                           \
        1                       \
    }

ncclResult_t ncclGetVersion(int *version);
ncclResult_t ncclGetUniqueId(ncclUniqueId *id);
ncclResult_t ncclCommInitRankConfig(ncclComm_t *comm, int ranks, ncclUniqueId id, int rank,
                                    ncclConfig_t *config);
ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *error);
/* Nothing may be in progress. */
ncclResult_t ncclCommFinalize(ncclComm_t comm);
ncclResult_t ncclCommDestroy(ncclComm_t comm);
/* Lets others in progress wait: they hear nothing of it. */
ncclResult_t ncclCommAbort(ncclComm_t comm);
const char *ncclGetErrorString(ncclResult_t error);

ncclResult_t ncclGroupStart(void);
ncclResult_t ncclGroupEnd(void);
ncclResult_t ncclBroadcast(const void *from, void *to, size_t count, ncclDataType_t type, int root,
                           ncclComm_t comm, cudaStream_t stream);
ncclResult_t ncclAllGather(const void *from, void *to, size_t count, ncclDataType_t type,
                           ncclComm_t comm, cudaStream_t stream);
ncclResult_t ncclSend(const void *from, size_t count, ncclDataType_t type, int to, ncclComm_t comm,
                      cudaStream_t stream);
ncclResult_t ncclRecv(void *to, size_t count, ncclDataType_t type, int from, ncclComm_t comm,
                      cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
