#include "sample.h"

#include "device/half.cuh"
#include "device/parallel_for.cuh"

template <class H> struct take_images {
    activation a;
    int images, first;
    float *to;
    __device__ void operator()(int64_t i) const
    {
        const int64_t row = i / a.pixels, channel = row / images;
        const int64_t place = row % images, even = (first + place * a.batch / images) % a.batch;
        const int64_t image = place == images - 1 && images < a.batch ? a.batch - 1 : even;
        to[i] = widen(((const H *)a.at)[(channel * a.batch + image) * a.pixels + i % a.pixels]);
    }
};

template <class H> struct find_not_finite {
    activation a;
    int *found;
    __device__ void operator()(int64_t i) const
    {
        const float x = widen(((const H *)a.at)[i]);
        if (x - x != 0) atomicExch(found, 1); /* rarely, and then all write the same */
    }
};

cudaError_t sample_take(const activation *a, int images, int first, float *to, cudaStream_t stream)
{
    const int64_t count = (int64_t)a->channels * images * a->pixels;
    return a->precision == PRECISION_FP16
               ? device_parallel_for(count, take_images<__half>{*a, images, first, to}, stream)
               : device_parallel_for(count, take_images<float>{*a, images, first, to}, stream);
}

cudaError_t sample_not_finite(const activation *a, int *found, cudaStream_t stream)
{
    const int64_t count = (int64_t)a->channels * a->batch * a->pixels;
    return a->precision == PRECISION_FP16
               ? device_parallel_for(count, find_not_finite<__half>{*a, found}, stream)
               : device_parallel_for(count, find_not_finite<float>{*a, found}, stream);
}
