#include "harness/source_text.h"

#include "matrix/dataset.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Where the project is: known from where the program is, or guessed to be here. */
static bool source_path(const char *file, int length, char *path, size_t bytes)
{
    const char *root = *file == '/' ? "" : project_root();
    if (!root) root = ".";
    const int used = snprintf(path, bytes, "%s%s%.*s", root, *root ? "/" : "", length, file);
    return used > 0 && (size_t)used < bytes;
}

static bool is_newer_than_program(const char *path)
{
    struct stat source, program;
    if (stat(path, &source) != 0 || stat("/proc/self/exe", &program) != 0) return true;
    return source.st_mtime > program.st_mtime;
}

/* Opens the file if it is what the program was built from. */
static FILE *source_open(const char *file, int length)
{
    char path[PATH_MAX];
    if (!source_path(file, length, path, sizeof path) || is_newer_than_program(path)) return NULL;
    return fopen(path, "r");
}

char *source_whole(const char *file, int length)
{
    char *text = NULL;
    size_t capacity = 0;
    FILE *source = source_open(file, length);
    if (!source) return NULL;
    const ssize_t read = getdelim(&text, &capacity, '\0', source);
    fclose(source);
    if (read >= 0) return text;
    free(text);
    return NULL;
}

bool source_text(const char *file, int length, int number, char *text, size_t bytes)
{
    char *line = NULL;
    size_t capacity = 0;
    ssize_t read = -1;
    FILE *source = number < 1 ? NULL : source_open(file, length);
    if (!source) return false;
    for (int i = 0; i < number; i++)
        read = getline(&line, &capacity, source);
    fclose(source);
    const char *begin = line;
    while (read > 0 && isspace((unsigned char)line[read - 1]))
        line[--read] = '\0';
    while (read > 0 && isspace((unsigned char)*begin))
        begin++;
    if (read > 0) snprintf(text, bytes, "%s", begin);
    free(line);
    return read > 0;
}
