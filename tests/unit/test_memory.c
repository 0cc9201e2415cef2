/*
 * test_memory.c - how much memory is left, by folders that look like /proc and /sys/fs/cgroup.
 */
#include "fixture.h"

#include "matrix/memory.h"

/* A line as the kernel writes it. */
static void write_number(const char *folder, const char *name, int64_t number)
{
    char path[128], text[32];
    snprintf(path, sizeof path, "cgroup%s/%s", folder, name);
    snprintf(text, sizeof text, "%lld\n", (long long)number);
    write_text(path, text);
}

static void write_group_1(const char *folder, int64_t limit, int64_t used)
{
    write_number(folder, "memory.limit_in_bytes", limit);
    write_number(folder, "memory.usage_in_bytes", used);
}

static void write_group_2(const char *folder, int64_t limit, int64_t used)
{
    write_number(folder, "memory.max", limit);
    write_number(folder, "memory.current", used);
}

/* 1000 kiB on the machine, and folders for the groups. */
static int machine(void **state)
{
    (void)state;
    static const char *const folders[] = {"proc",
                                          "proc/self",
                                          "cgroup",
                                          "cgroup/job",
                                          "cgroup/job/step",
                                          "cgroup/memory",
                                          "cgroup/memory/job",
                                          "cgroup/memory/job/step"};
    nftw(fixture_path("cgroup"), fixture_remove, 16, FTW_DEPTH | FTW_PHYS);
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        mkdir(fixture_path(folders[i]), 0755);
    write_text("proc/meminfo", "MemTotal:  2000 kB\nMemFree:  10 kB\nMemAvailable:  1000 kB\n");
    write_text("proc/self/cgroup", "");
    return 0;
}

static void assert_available(int64_t bytes)
{
    assert_int_equal(memory_available_by(fixture_path("proc"), fixture_path("cgroup")), bytes);
}

static void without_groups(void **state)
{
    (void)state;
    assert_available(1024000);
    unlink(fixture_path("proc/self/cgroup"));
    assert_available(1024000);
    unlink(fixture_path("proc/meminfo"));
    assert_available(INT64_MAX);
}

static void version_2(void **state)
{
    (void)state;
    write_text("proc/self/cgroup", "0::/job/step\n");
    write_text("cgroup/job/step/memory.max", "max\n");
    write_number("/job/step", "memory.current", 5);
    assert_available(1024000);
    write_group_2("/job", 500000, 100000); /* the limit of the job holds for its step */
    assert_available(400000);
    write_group_2("/job/step", 300000, 100000);
    assert_available(200000);
    write_group_2("", 150000, 0); /* a container's own group */
    assert_available(150000);
    write_text("cgroup/job/memory.stat", "anon 7\nfile_mapped 9\nfile 30000\n");
    write_group_2("/job", 500000, 450000); /* the page cache is given back */
    assert_available(80000);
    write_group_2("/job", 500000, 600000);
    assert_available(0);
}

static void version_1(void **state)
{
    (void)state;
    write_text("proc/self/cgroup",
               "5:cpu,cpuacct:/\n4:memory:/job/step\n1:name=systemd:/x\n0::/\n");
    write_group_1("/memory", INT64_C(9223372036854771712), 123); /* its word for "no limit" */
    write_group_1("/memory/job", 500000, 100000);
    write_group_1("/memory/job/step", 600000, 100000);
    assert_available(400000);
    write_text("cgroup/memory/job/memory.stat", "cache 7\ntotal_cache 50000\n");
    assert_available(450000);
    /* A cache that exceeds the use, under no limit: nothing overflows. */
    write_text("proc/self/cgroup", "4:memory:/\n");
    write_text("cgroup/memory/memory.stat", "total_cache 50000\n");
    assert_available(1024000);
    write_group_1("/memory", 300000, 100);
    assert_available(300000);
}

/* In a container: the host's path, of which there is nothing inside. */
static void path_of_the_host(void **state)
{
    (void)state;
    write_text("proc/self/cgroup", "4:memory:/docker/0123456789\n");
    write_group_1("/memory", 300000, 100000);
    assert_available(200000);
    write_text("proc/self/cgroup", "0::/docker/0123456789\n");
    write_group_2("", 200000, 100000);
    assert_available(100000);
}

static void check(void **state)
{
    (void)state;
    error_text error = {""};
    assert_int_equal(memory_check(1 << 20, "the matrix", &error), STATUS_OK);
    assert_int_equal(memory_check(INT64_C(1) << 60, "the matrix", &error), STATUS_MEMORY);
    assert_non_null(strstr(error.text, "the matrix needs 1152921504.6 GB of memory, but only "));
}

#define ON_MACHINE(test) cmocka_unit_test_setup(test, machine)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_MACHINE(without_groups),   ON_MACHINE(version_2),   ON_MACHINE(version_1),
        ON_MACHINE(path_of_the_host), cmocka_unit_test(check),
    };
    return cmocka_run_group_tests_name("memory", tests, fixture_setup, fixture_teardown);
}
