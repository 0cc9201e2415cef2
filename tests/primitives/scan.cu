/*
 * scan.cu - device/scan.h against a loop, with one level of totals, two and three.
 */
#include "tests/primitives/primitives.h"

#include "device/scan.h"

#include <vector>

static void scans(int n)
{
    const int GUARD = -77;
    const size_t room = device_scan_workspace(n);
    uint64_t state = n;
    std::vector<int> data(n), expected(n), workspace(room + 1, GUARD);
    for (int i = 0, sum = 0; i < n; i++) {
        data[i] = (int)(random_bits(&state) % 9);
        expected[i] = sum;
        sum += data[i];
    }
    int *d_data = to_device(data.data(), n), *d_other = to_device(data.data(), n);
    int *d_workspace = to_device(workspace.data(), room + 1);
    CUDA(device_exclusive_scan(d_data, n, 0));
    CUDA(device_exclusive_scan_in(d_workspace, d_other, n, 0));
    FINISH();
    to_host(data.data(), d_data, n);
    tap_ok(data == expected, "%d items", n);
    to_host(data.data(), d_other, n);
    to_host(workspace.data(), d_workspace, room + 1);
    tap_ok(data == expected && workspace[room] == GUARD, "%d items, in the workspace asked for", n);
}

int main(void)
{
    for (int n : {1, 1023, 1024, 1025, 5000, 1024 * 1024, 1024 * 1024 + 1})
        scans(n);
    CUDA(device_exclusive_scan(NULL, 0, 0));
    tap_ok(device_scan_workspace(0) == 0, "nothing to scan needs no room");
    return tap_done();
}
