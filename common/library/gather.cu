#include "library/gather.h"

#include "device/parallel_for.cuh"

template <class T> struct take_from {
    const int *place;
    const T *from;
    T *to;

    __device__ void operator()(int64_t i) const { to[i] = from[place[i]]; }
};

template <class T>
static cudaError_t gather_of(int count, const int *place, const void *from, void *to,
                             cudaStream_t stream)
{
    return device_parallel_for(count, take_from<T>{place, (const T *)from, (T *)to}, stream);
}

cudaError_t gather(int count, const int *place, size_t bytes, const void *from, void *to,
                   cudaStream_t stream)
{
    switch (bytes) {
    case sizeof(uint16_t):
        return gather_of<uint16_t>(count, place, from, to, stream);
    case sizeof(uint32_t):
        return gather_of<uint32_t>(count, place, from, to, stream);
    default:
        return cudaErrorInvalidValue;
    }
}
