/*
 * trace.h - what kernels ask of this backend, in the traced twin of a program. It passes through
 * common/profiler/hooks.cc first, which makes a note of it and then calls the function meant. Under
 * the other names those functions have the same parameters. In a normal program nothing is renamed.
 */
#ifndef SIMT_TRACE_H
#define SIMT_TRACE_H

#ifdef SIMT_TRACED
#define simt_shuffle simt_traced_shuffle
#define simt_vote simt_traced_vote
#define simt_syncthreads simt_traced_syncthreads
#define simt_atomic simt_traced_atomic
#define simt_fence simt_traced_fence
#define simt_load_relaxed simt_traced_load_relaxed
#define simt_store_relaxed simt_traced_store_relaxed
#define simt_mma simt_traced_mma
#define simt_mma_sp simt_traced_mma_sp
#define simt_ldmatrix simt_traced_ldmatrix
#define simt_wgmma simt_traced_wgmma
#define simt_wgmma_shared simt_traced_wgmma_shared
#define simt_tensor_copy simt_traced_tensor_copy
#define simt_mbarrier_arrive_in simt_traced_mbarrier_arrive_in
#define simt_cluster_sync simt_traced_cluster_sync
#define simt_async_copy_start simt_traced_async_copy_start
#define simt_async_commit simt_traced_async_commit
#define simt_async_wait simt_traced_async_wait
#define simt_async_wait_all simt_traced_async_wait_all
#define simt_mbarrier_init simt_traced_mbarrier_init
#define simt_mbarrier_arrive simt_traced_mbarrier_arrive
#define simt_mbarrier_wait simt_traced_mbarrier_wait
#define simt_bulk_copy simt_traced_bulk_copy

/* The C library is not traced, so its functions are told apart by the names the linker sees. */
#include <string.h>
#ifdef __cplusplus
extern "C" {
void *memset(void *to, int value, size_t bytes) noexcept __asm__("simt_traced_memset");
void *memcpy(void *to, const void *from, size_t bytes) noexcept __asm__("simt_traced_memcpy");
void *memmove(void *to, const void *from, size_t bytes) noexcept __asm__("simt_traced_memmove");
}
#endif
#endif

#endif
