/*
 * byte_offset.cu - device/byte_offset.cuh: which arrays 32-bit byte offsets can reach all of, and
 * that an offset with its highest bit set leads forward.
 */
#include "tests/primitives/primitives.h"

#include "device/byte_offset.cuh"

__global__ void offset_kernel(uintptr_t *to, const float *base)
{
    to[threadIdx.x] = (uintptr_t)byte_offset(base, 0x3ffffffcu + threadIdx.x * 0x40000000u);
}

int main()
{
    const int64_t G = INT64_C(1) << 30;
    tap_ok(byte_offsets_fit(0, 5, 4) && byte_offsets_fit(5, 0, 4) && byte_offsets_fit(1, 1, 4) &&
               byte_offsets_fit(G, 1, 4) && byte_offsets_fit(1, G, 4) &&
               byte_offsets_fit(G / 32, 32, 4) && byte_offsets_fit(2 * G, 1, 2),
           "all of 4 GiB is in reach");
    tap_ok(!byte_offsets_fit(G + 1, 1, 4) && !byte_offsets_fit(1, G + 1, 4) &&
               !byte_offsets_fit(G / 32 + 1, 32, 4) && !byte_offsets_fit(G, 2, 4),
           "a row or a column more is not");
    tap_ok(!byte_offsets_fit(INT64_MAX, INT64_MAX, 4) && !byte_offsets_fit(INT64_MAX, 2, 8) &&
               !byte_offsets_fit(INT64_C(1) << 32, INT64_C(1) << 32, 4),
           "sizes beyond 64 bits are not taken for small ones");

    uintptr_t *d = device_zeros<uintptr_t>(4), got[4];
    const float *const base = (const float *)(uintptr_t)0x7000;
    offset_kernel<<<1, 4>>>(d, base);
    FINISH();
    to_host(got, d, 4);
    bool right = true;
    for (int i = 0; i < 4; i++)
        right &= got[i] == 0x7000 + UINT64_C(0x3ffffffc) + i * UINT64_C(0x40000000);
    tap_ok(right, "offsets above 2 GiB are not negative");
    return tap_done();
}
