/*
 * starve.c - a library to preload: allocations of the program itself fail, those of its libraries do
 * not. STARVE=7 fails the seventh, STARVE=7+ the seventh and all later ones.
 */
#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);

static uintptr_t program_begin, program_end;
static long failing;
static bool for_ever;
static atomic_long calls;

static int first_object(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)size;
    (void)data;
    program_begin = UINTPTR_MAX;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type != PT_LOAD) continue;
        uintptr_t at = info->dlpi_addr + part->p_vaddr;
        if (at < program_begin) program_begin = at;
        if (at + part->p_memsz > program_end) program_end = at + part->p_memsz;
    }
    return 1; /* the program comes first; no more */
}

__attribute__((constructor)) static void begin(void)
{
    const char *starve = getenv("STARVE");
    if (!starve) return;
    dl_iterate_phdr(first_object, NULL);
    for_ever = strchr(starve, '+') != NULL;
    failing = strtol(starve, NULL, 10);
}

static bool fails(const void *caller)
{
    uintptr_t at = (uintptr_t)caller;
    if (failing == 0 || at < program_begin || at >= program_end) return false;
    long n = atomic_fetch_add(&calls, 1) + 1;
    return n == failing || (for_ever && n > failing);
}

void *malloc(size_t bytes)
{
    return fails(__builtin_return_address(0)) ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
    return fails(__builtin_return_address(0)) ? NULL : __libc_calloc(count, bytes);
}

void *realloc(void *block, size_t bytes)
{
    return fails(__builtin_return_address(0)) ? NULL : __libc_realloc(block, bytes);
}
