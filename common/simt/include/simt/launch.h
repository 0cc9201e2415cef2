/*
 * launch.h - qualifiers, built-in variables and the launch of a kernel.
 *
 * translate.awk turns  k<T><<<grid, block, bytes, stream>>>(args)
 * into                 SIMT_KERNEL(k<T>)(grid, block, bytes, stream)(args)
 * which is ordinary C++ with the definitions below.
 */
#ifndef SIMT_LAUNCH_H
#define SIMT_LAUNCH_H

#include <cuda_runtime_api.h>

#include "simt/vector_types.h"

/* ---- qualifiers ---------------------------------------------------------------------------- */

/* A function of its own, so that a code address in it always leads back to its source line. */
#define __global__ __attribute__((noinline))
#define __device__
#define __host__
/* One module's constants are not another's, as with nvcc's default of whole-program compilation. */
#define __constant__ static
/* A block never leaves the OS thread it started on, so the thread's own copy of a variable is the
 * shared memory of the block. */
#define __shared__ static __thread
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __grid_constant__
#define __align__(bytes) __attribute__((aligned(bytes)))

/* Replaces `#pragma unroll`. In a traced program the loop has to be unrolled where nvcc does
 * it: what its rounds have in common is then read once, as on the GPU. In others it would only make
 * the code longer. */
#ifdef SIMT_TRACED
#define SIMT_PRAGMA(...) _Pragma(#__VA_ARGS__)
#define SIMT_UNROLL(FACTOR) SIMT_PRAGMA_UNROLL(FACTOR)
#define SIMT_PRAGMA_UNROLL(FACTOR) SIMT_PRAGMA(GCC unroll FACTOR)
#define SIMT_FULLY 32
#else
#define SIMT_UNROLL(FACTOR)
#endif

/* ---- built-in variables -------------------------------------------------------------------- */

extern "C" {
/* Constant from a kernel's point of view: they never change while one thread runs. `axis` is 0, 1
 * or 2. A compiler calls such a function once and keeps the answer, which it would not do if a
 * struct came back, or possibly an exception. */
#define SIMT_CONSTANT __attribute__((const, nothrow))
SIMT_CONSTANT unsigned simt_thread_index(int axis);
SIMT_CONSTANT unsigned simt_block_index(int axis);
SIMT_CONSTANT unsigned simt_block_shape(int axis);
SIMT_CONSTANT unsigned simt_grid_shape(int axis);
SIMT_CONSTANT int simt_lane_id(void);      /* in the warp */
SIMT_CONSTANT int simt_warp_id(void);      /* in the block */
SIMT_CONSTANT int simt_cluster_rank(void); /* of the block */
/* The dynamic shared memory of the block: what `extern __shared__ T name[];` names. */
SIMT_CONSTANT void *simt_dynamic_shared(void);
}

#define SIMT_AXES(OF) (uint3{OF(0), OF(1), OF(2)})
#define threadIdx SIMT_AXES(simt_thread_index)
#define blockIdx SIMT_AXES(simt_block_index)
#define blockDim SIMT_AXES(simt_block_shape)
#define gridDim SIMT_AXES(simt_grid_shape)
static constexpr int warpSize = 32;

/* ---- launching ----------------------------------------------------------------------------- */

extern "C" {
struct simt_launch_config {
    const char *name;   /* of the kernel, as the launch spells it */
    const void *kernel; /* its address, NULL if the launch leaves template arguments to deduction */
    const char *file;   /* where it is launched */
    int line;
    uint3 grid, block;
    size_t dynamic_shared_bytes;
    cudaStream_t stream;
    unsigned cluster; /* blocks, along x, of a cluster; 0 is 1 */
};

/* Runs entry(arguments) once for every thread of the grid and returns when all have finished. An
 * error goes where CUDA puts it: cudaGetLastError() and later calls. */
void simt_launch(const struct simt_launch_config *config, void (*entry)(void *), void *arguments,
                 size_t argument_bytes);
}

/* Keeps the arguments in a closure, whose type is this launch's own. A std::tuple of them has functions named after their
 * types: two labs with another `product` each would share one, where the compiler does not inline it. */
template <class Call, class... Arguments>
void simt_launch_call(const simt_launch_config &config, Call call, Arguments... arguments)
{
    auto all = [call, arguments...]() mutable { call(arguments...); };
    simt_launch(
        &config, [](void *p) { (*static_cast<decltype(all) *>(p))(); }, &all, sizeof all);
}

/* A kernel with its launch configuration, waiting for the arguments. `Pointer` is the type of its
 * address, that of nullptr if the launch leaves template arguments to deduction. */
template <class Pointer, class Call> struct simt_configured_kernel {
    simt_launch_config config;
    Call call;

    template <class... Arguments> void operator()(Arguments... arguments)
    {
        simt_launch_call(config, call, arguments...);
    }
};

/* The arguments become what the parameters are here already: as an integer NULL could become a
 * pointer no more. */
template <class... Parameters, class Call>
struct simt_configured_kernel<void (*)(Parameters...), Call> {
    simt_launch_config config;
    Call call;

    void operator()(Parameters... arguments) { simt_launch_call(config, call, arguments...); }
    /* Default arguments make up the rest. */
    template <class... Arguments>
    requires(sizeof...(Arguments) < sizeof...(Parameters)) void operator()(Arguments... arguments)
    {
        simt_launch_call(config, call, arguments...);
    }
};

/* A kernel at the place where it is launched. */
template <class Pointer, class Call> struct simt_kernel {
    const char *name;
    Pointer kernel;
    const char *file;
    int line;
    Call call;

    simt_configured_kernel<Pointer, Call> operator()(dim3 grid, dim3 block,
                                                     size_t dynamic_shared_bytes = 0,
                                                     cudaStream_t stream = nullptr)
    {
        return {
            {name, (const void *)kernel, file, line, grid, block, dynamic_shared_bytes, stream, 1},
            call};
    }
};
template <class Pointer, class Call>
simt_kernel(const char *, Pointer, const char *, int, Call) -> simt_kernel<Pointer, Call>;

/* The address of a kernel, for its parameters and for looking up what cudaFuncSetAttribute said
 * about it. A launch that leaves template arguments to deduction names no one kernel; SIMT_ADDRESS
 * is nullptr then. */
struct simt_address {
    template <class... P> static auto of(void (*kernel)(P...)) { return kernel; }
};
/* The parameter is there to make the question depend on a template argument: only then may its
 * answer be no. */
#define SIMT_ADDRESS(...)                                                 \
    [=](auto simt_type) {                                                 \
        if constexpr (requires { decltype(simt_type)::of(__VA_ARGS__); }) \
            return decltype(simt_type)::of(__VA_ARGS__);                  \
        else                                                              \
            return nullptr;                                               \
    }(simt_address())

#define SIMT_TEXT(...) #__VA_ARGS__
#define SIMT_EXPANDED_TEXT(...) SIMT_TEXT(__VA_ARGS__)
#define SIMT_KERNEL(...)                                                                \
    simt_kernel                                                                         \
    {                                                                                   \
        SIMT_EXPANDED_TEXT(__VA_ARGS__), SIMT_ADDRESS(__VA_ARGS__), __FILE__, __LINE__, \
            [=](auto... simt_arguments) { __VA_ARGS__(simt_arguments...); }             \
    }

#endif
