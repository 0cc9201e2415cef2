/*
 * power.cuh - powers of 2, as softmax wants them.
 */
#ifndef DEVICE_POWER_CUH
#define DEVICE_POWER_CUH

/* 2^x, off by 2 units in the last place at most; a result below 2^-126 is 0, and so is that of -infinity. One instruction: exp2f
 * takes four, which keep such small results. PTX ISA, ex2.approx.ftz.f32. */
__device__ __forceinline__ float power_of_2(float x)
{
#ifdef __CUDACC__
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
#else
    const float y = exp2f(x);
    return y < 0x1p-126f ? 0 : y;
#endif
}

#endif
