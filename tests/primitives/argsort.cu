/*
 * argsort.cu - device/argsort.h against std::stable_sort.
 */
#include "tests/primitives/primitives.h"

#include "device/argsort.h"

#include <algorithm>
#include <numeric>
#include <vector>

static std::vector<int> sorted_on_device(const std::vector<int> &key, int largest,
                                         std::vector<int> order)
{
    const int n = (int)key.size();
    if (n == 0) { /* nothing to read, and no address to read it from */
        CUDA(device_argsort(NULL, largest, NULL, 0, 0));
        return order;
    }
    int *d_key = to_device(key.data(), n), *d_order = to_device(order.data(), n);
    CUDA(device_argsort(d_key, largest, d_order, n, 0));
    to_host(order.data(), d_order, n);
    CUDA(cudaFree(d_key));
    return order;
}

static void sorts(int n, int largest)
{
    uint64_t state = n + largest;
    std::vector<int> key(n), second(n), order(n);
    for (int i = 0; i < n; i++) {
        key[i] = (int)(random_bits(&state) % ((uint64_t)largest + 1));
        second[i] = (int)(random_bits(&state) % 3);
    }
    std::iota(order.begin(), order.end(), 0);
    std::vector<int> expected = order;
    std::stable_sort(expected.begin(), expected.end(),
                     [&](int a, int b) { return key[a] < key[b]; });
    order = sorted_on_device(key, largest, order);
    tap_ok(order == expected, "%d items, keys up to %d: as a stable sort", n, largest);
    std::stable_sort(expected.begin(), expected.end(),
                     [&](int a, int b) { return second[a] < second[b]; });
    order = sorted_on_device(second, 2, order);
    tap_ok(order == expected, "%d items, sorted again by another key: the first decides ties", n);
}

/* Sorts as a step does that no host waits for. */
static void sorts_in_workspace(int n)
{
    std::vector<int> key(n), order(n);
    for (int i = 0; i < n; i++)
        key[i] = i * 7 % 200;
    int *d_key = to_device(key.data(), n), *d_order = device_zeros<int>(n + 1);
    int *d_workspace = device_zeros<int>(device_argsort_workspace(n) + 1);
    CUDA(device_identity(d_order, n, 0));
    CUDA(device_argsort_in(d_workspace, d_key, 199, d_order, n, 0));
    CUDA(cudaDeviceSynchronize());
    std::iota(order.begin(), order.end(), 0);
    std::vector<int> expected = order;
    std::stable_sort(expected.begin(), expected.end(),
                     [&](int a, int b) { return key[a] < key[b]; });
    to_host(order.data(), d_order, n);
    tap_ok(order == expected, "%d items in the caller's workspace", n);
    CUDA(cudaFree(d_key));
    CUDA(cudaFree(d_workspace));
}

int main(void)
{
    const int counts[] = {0, 1, 2, 31, 32, 33, 1023, 1024, 1025, 5000};
    const int largest[] = {0, 1, 255, 256, 70000, INT32_MAX};
    for (int n : counts)
        for (int k : largest)
            sorts(n, k);
    for (int n : {1, 2, 1025, 70000, 300000})
        sorts_in_workspace(n);

    int *d_order = device_zeros<int>(300);
    std::vector<int> order(300), expected(300);
    std::iota(expected.begin(), expected.end(), 0);
    CUDA(device_identity(d_order, 300, 0));
    FINISH();
    to_host(order.data(), d_order, 300);
    tap_ok(order == expected, "the identity");
    return tap_done();
}
