/*
 * test_files.c - files that are replaced whole or not at all, and where caches live.
 */
#include "fixture.h"

#include "matrix/files.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>

/* Counts the files in a folder besides "." and "..". */
static int files_in(const char *name)
{
    int count = -2;
    DIR *folder = opendir(fixture_path(name));
    assert_non_null(folder);
    while (readdir(folder))
        count++;
    closedir(folder);
    return count;
}

/* An empty folder "out" for each test. */
static int empty_folder(void **state)
{
    (void)state;
    nftw(fixture_path("out"), fixture_remove, 16, FTW_DEPTH | FTW_PHYS);
    return mkdir(fixture_path("out"), 0755);
}

static void open_output(output_file *f, const char *name)
{
    error_text error;
    if (output_open(f, fixture_path(name), &error) != STATUS_OK) fail_msg("%s", error.text);
}

static void assert_cannot_open(const char *path, const char *message)
{
    output_file f;
    error_text error = {""};
    assert_int_equal(output_open(&f, path, &error), STATUS_RUNTIME);
    assert_string_equal(error.text, message);
    assert_int_equal(output_check(path, &error), STATUS_RUNTIME);
    assert_string_equal(error.text, message);
}

/* ---- output_file ----------------------------------------------------------------------------- */

static void old_contents_until_closed(void **state)
{
    (void)state;
    output_file f;
    error_text error;
    write_text("out/a", "old");
    open_output(&f, "out/a");
    fputs("new", f.stream);
    fflush(f.stream);
    assert_file("out/a", "old");
    assert_int_equal(files_in("out"), 2);
    assert_int_equal(output_close(&f, &error), STATUS_OK);
    assert_file("out/a", "new");
    assert_int_equal(files_in("out"), 1);
}

static void discarded(void **state)
{
    (void)state;
    output_file f;
    write_text("out/a", "old");
    open_output(&f, "out/a");
    fputs("new", f.stream);
    output_discard(&f);
    assert_file("out/a", "old");
    assert_int_equal(files_in("out"), 1);
    open_output(&f, "out/b");
    output_discard(&f);
    assert_int_equal(files_in("out"), 1);
}

/* Runs out of room (the limit on file sizes stands for a full disk), for good or until all is written:
 * the old file stays, nothing else does. */
static void old_file_survives_failure(void **state)
{
    (void)state;
    struct rlimit limit, old;
    error_text error;
    write_text("out/a", "old");
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &old);
    limit = old;
    limit.rlim_cur = 4096;
    for (int room_again = 0; room_again < 2; room_again++) {
        output_file f;
        setrlimit(RLIMIT_FSIZE, &limit);
        open_output(&f, "out/a");
        for (int i = 0; i < 4000; i++)
            fputs("new ", f.stream);
        if (room_again) setrlimit(RLIMIT_FSIZE, &old);
        enum status status = output_close(&f, &error);
        setrlimit(RLIMIT_FSIZE, &old);
        assert_int_equal(status, STATUS_RUNTIME);
        assert_non_null(strstr(error.text, "out/a: cannot write: File too large"));
        assert_file("out/a", "old");
        assert_int_equal(files_in("out"), 1);
    }
    signal(SIGXFSZ, SIG_DFL);
}

static void permissions(void **state)
{
    (void)state;
    struct stat info;
    output_file f;
    error_text error;
    const mode_t mask = umask(027);
    open_output(&f, "out/new");
    assert_int_equal(output_close(&f, &error), STATUS_OK);
    umask(mask);
    assert_int_equal(stat(fixture_path("out/new"), &info), 0);
    assert_int_equal(info.st_mode & 07777, 0640);
    write_text("out/old", "");
    chmod(fixture_path("out/old"), 0604);
    open_output(&f, "out/old");
    assert_int_equal(output_close(&f, &error), STATUS_OK);
    assert_int_equal(stat(fixture_path("out/old"), &info), 0);
    assert_int_equal(info.st_mode & 07777, 0604);
}

/* The file that a link points to is replaced; the link stays a link. */
static void symbolic_links(void **state)
{
    (void)state;
    struct stat info;
    output_file f;
    error_text error;
    mkdir(fixture_path("out/far"), 0755);
    write_text("out/far/a", "old");
    assert_int_equal(symlink("far/a", fixture_path("out/link")), 0);
    open_output(&f, "out/link");
    fputs("new", f.stream);
    assert_int_equal(output_close(&f, &error), STATUS_OK);
    assert_file("out/far/a", "new");
    assert_int_equal(lstat(fixture_path("out/link"), &info), 0);
    assert_true(S_ISLNK(info.st_mode));
}

static void devices_are_written_directly(void **state)
{
    (void)state;
    output_file f;
    error_text error;
    assert_int_equal(output_open(&f, "/dev/null", &error), STATUS_OK);
    fputs("gone", f.stream);
    assert_int_equal(output_close(&f, &error), STATUS_OK);
    assert_int_equal(output_open(&f, "/dev/full", &error), STATUS_OK);
    fputs("no room", f.stream);
    assert_int_equal(output_close(&f, &error), STATUS_RUNTIME);
    assert_string_equal(error.text, "/dev/full: cannot write: No space left on device");
    struct stat info;
    assert_int_equal(stat("/dev/full", &info), 0); /* it was not removed or replaced */
    assert_true(S_ISCHR(info.st_mode));
}

static void unwritable_places(void **state)
{
    (void)state;
    char path[300], message[400];
    assert_cannot_open("/nowhere/a", "/nowhere/a: cannot write: No such file or directory");
    assert_cannot_open("", "cannot write to a file without a name");
    snprintf(path, sizeof path, "%s", fixture_path("out"));
    snprintf(message, sizeof message, "%s: cannot write: Is a directory", path);
    assert_cannot_open(path, message);
    write_text("out/a", "");
    snprintf(path, sizeof path, "%s", fixture_path("out/a/b"));
    snprintf(message, sizeof message, "%s: cannot write: Not a directory", path);
    assert_cannot_open(path, message);
    char longest[5000];
    memset(longest, 'x', sizeof longest);
    longest[sizeof longest - 1] = 0;
    snprintf(message, sizeof message, "%.80s...: the path is too long", longest);
    assert_cannot_open(longest, message);
}

/* Asking leaves no trace: not in a file, not in the folder, not at the far end of a pipe. */
static void checking_changes_nothing(void **state)
{
    (void)state;
    error_text error;
    write_text("out/a", "old");
    assert_int_equal(output_check(fixture_path("out/a"), &error), STATUS_OK);
    assert_int_equal(output_check(fixture_path("out/b"), &error), STATUS_OK);
    assert_int_equal(output_check("/dev/null", &error), STATUS_OK);
    assert_file("out/a", "old");
    assert_int_equal(files_in("out"), 1);

    /* Linux tells a reader whether a writer has come and gone. */
    assert_int_equal(mkfifo(fixture_path("out/pipe"), 0600), 0);
    struct pollfd reader = {.fd = open(fixture_path("out/pipe"), O_RDONLY | O_NONBLOCK)};
    assert_int_equal(output_check(fixture_path("out/pipe"), &error), STATUS_OK);
    assert_int_equal(poll(&reader, 1, 0), 0);
    close(reader.fd);
}

/* Two names of one regular file, there already or not. */
static void same_files(void **state)
{
    (void)state;
    char here[4096];
    assert_non_null(getcwd(here, sizeof here));
    assert_int_equal(chdir(fixture_path("out")), 0);
    char whole[4200];
    assert_non_null(getcwd(whole, 4096));
    strcat(whole, "/new");
    write_text("out/a", "old");
    assert_int_equal(symlink("a", "link"), 0);
    assert_int_equal(link("a", "twin"), 0);
    assert_int_equal(mkdir("folder", 0755), 0);
    static const char *const same[][2] = {
        {"a", "a"},     {"a", "./a"},     {"a", "link"},        {"a", "twin"},
        {"new", "new"}, {"new", "./new"}, {"folder/../a", "a"}, {"folder/../new", "new"}};
    static const char *const other[][2] = {{"a", "new"},       {"new", "newer"},
                                           {"a", "folder/a"},  {"folder", "./folder"},
                                           {"nowhere/a", "a"}, {"/dev/null", "/dev/null"}};
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++)
        if (!output_is_same(same[i][0], same[i][1])) fail_msg("%s, %s", same[i][0], same[i][1]);
    for (size_t i = 0; i < sizeof other / sizeof other[0]; i++)
        if (output_is_same(other[i][0], other[i][1])) fail_msg("%s, %s", other[i][0], other[i][1]);
    assert_true(output_is_same("new", whole));
    assert_int_equal(chdir(here), 0);
}

static void streams(void **state)
{
    (void)state;
    write_text("out/a", "");
    assert_false(output_is_stream(fixture_path("out/a")));
    assert_false(output_is_stream(fixture_path("out/none")));
    assert_true(output_is_stream("/dev/null"));
}

/* ---- cache_path ------------------------------------------------------------------------------ */

static const char *cached(const char *name)
{
    static char path[4096];
    error_text error;
    if (cache_path(name, path, sizeof path, &error) != STATUS_OK) fail_msg("%s", error.text);
    return path;
}

static void assert_no_cache(const char *message)
{
    char path[4096];
    error_text error = {""};
    assert_int_equal(cache_path("a.tsv", path, sizeof path, &error), STATUS_RUNTIME);
    if (strcmp(error.text, message) != 0) fail_msg("'%s', not '%s'", error.text, message);
}

static void cache_folder_is_made(void **state)
{
    (void)state;
    struct stat info;
    setenv("XDG_CACHE_HOME", fixture_path("out/deep/down"), 1);
    assert_string_equal(cached("a.tsv"), fixture_path("out/deep/down/spmm-lab/a.tsv"));
    assert_int_equal(stat(fixture_path("out/deep/down/spmm-lab"), &info), 0);
    assert_true(S_ISDIR(info.st_mode));
    assert_string_equal(cached("b"), fixture_path("out/deep/down/spmm-lab/b")); /* it is there */
    assert_int_equal(files_in("out/deep/down/spmm-lab"), 0);
}

/* A relative XDG_CACHE_HOME is to be ignored, says its specification. */
static void cache_falls_back_to_home(void **state)
{
    (void)state;
    setenv("HOME", fixture_path("out/home"), 1);
    static const char *const ignored[] = {"relative/cache", "."};
    for (int i = 0; i < 2; i++) {
        setenv("XDG_CACHE_HOME", ignored[i], 1);
        assert_string_equal(cached("a"), fixture_path("out/home/.cache/spmm-lab/a"));
    }
    setenv("XDG_CACHE_HOME", "", 1);
    assert_string_equal(cached("a"), fixture_path("out/home/.cache/spmm-lab/a"));
    unsetenv("XDG_CACHE_HOME");
    assert_string_equal(cached("a"), fixture_path("out/home/.cache/spmm-lab/a"));
}

static void no_cache_folder(void **state)
{
    (void)state;
    static const char none[] = "no cache folder: neither XDG_CACHE_HOME nor HOME is set";
    char message[400], longest[3000];
    unsetenv("XDG_CACHE_HOME");
    unsetenv("HOME");
    assert_no_cache(none);
    setenv("HOME", "here", 1);
    assert_no_cache(none);

    setenv("XDG_CACHE_HOME", "/proc/none", 1);
    assert_no_cache("/proc/none/spmm-lab: cannot write: No such file or directory");
    write_text("out/file", "");
    setenv("XDG_CACHE_HOME", fixture_path("out/file"), 1);
    snprintf(message, sizeof message, "%s/spmm-lab: cannot write: Not a directory",
             fixture_path("out/file"));
    assert_no_cache(message);

    memset(longest, 'x', sizeof longest);
    longest[0] = '/';
    longest[sizeof longest - 1] = 0;
    setenv("XDG_CACHE_HOME", longest, 1);
    snprintf(message, sizeof message, "%.80s...: the cache folder's path is too long", longest);
    assert_no_cache(message);
}

#define WITH_FOLDER(test) cmocka_unit_test_setup(test, empty_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FOLDER(old_contents_until_closed),
        WITH_FOLDER(discarded),
        WITH_FOLDER(old_file_survives_failure),
        WITH_FOLDER(permissions),
        WITH_FOLDER(symbolic_links),
        WITH_FOLDER(devices_are_written_directly),
        WITH_FOLDER(unwritable_places),
        WITH_FOLDER(checking_changes_nothing),
        WITH_FOLDER(same_files),
        WITH_FOLDER(streams),
        WITH_FOLDER(cache_folder_is_made),
        WITH_FOLDER(cache_falls_back_to_home),
        WITH_FOLDER(no_cache_folder),
    };
    return cmocka_run_group_tests_name("files", tests, fixture_setup, fixture_teardown);
}
