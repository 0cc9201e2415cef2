/*
 * symbols.cc - where the program lies in memory, and which static __shared__ variables it has. The
 * latter is read once from its own symbol table: a variable `s` of a function `_Z3fooPf` is the
 * thread-local object `_ZZ3fooPfE1s`. Any other thread-local variable inside a function would be
 * taken for one, so this backend has none. A stripped program has no such table; then static shared
 * memory is neither poisoned nor counted, and nothing else is lost.
 */
#include "simt/simt.h"

#include <cxxabi.h>
#include <fcntl.h>
#include <link.h>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

/* From the linker. */
extern "C" char __executable_start, etext, end;

bool simt_in_program_text(uintptr_t address)
{
    return address - (uintptr_t)&__executable_start < (uintptr_t)(&etext - &__executable_start);
}

bool simt_in_program_data(uintptr_t address)
{
    return address - (uintptr_t)&__executable_start < (uintptr_t)(&end - &__executable_start);
}

struct program {
    uintptr_t base; /* what to add to an address in the file */
    unsigned char *thread_local_block;
    size_t thread_local_bytes;
};

/* The program itself comes first. */
static int first_object(struct dl_phdr_info *info, size_t, void *result)
{
    program *found = (program *)result;
    found->base = info->dlpi_addr;
    found->thread_local_block = (unsigned char *)info->dlpi_tls_data;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_TLS)
            found->thread_local_bytes = info->dlpi_phdr[i].p_memsz;
    return 1;
}

static program find_program(void)
{
    program found = {};
    dl_iterate_phdr(first_object, &found);
    return found;
}

uintptr_t simt_load_address(void)
{
    return find_program().base;
}

unsigned char *simt_thread_local_block(size_t *bytes)
{
    program found = find_program();
    *bytes = found.thread_local_bytes;
    return found.thread_local_block;
}

/* Static functions of two source files may have one name. Of another function there is only one,
 * but its variables are local symbols all the same. */
const int ANY_FILE = 0;
struct function_name {
    std::string name;
    int file; /* a number for the source file of a static function, else ANY_FILE */
};

struct shared_symbol {
    size_t bytes;
    int file; /* of the function it belongs to; ANY_FILE: an inline one, which several files may have */
    std::string name; /* mangled */
};

/* The symbol table, as far as it matters here. */
struct symbol_table {
    std::map<uintptr_t, function_name> functions; /* by address in the program's file */
    std::map<uintptr_t, std::pair<size_t, std::string>> variables; /* size and name, by address */
    /* The static __shared__ variables: by source file and name, for a kernel's, and also by name
     * alone; and all by offset. */
    std::map<std::pair<int, std::string>, size_t> shared_bytes;
    std::map<size_t, shared_symbol> shared;
    std::set<size_t> guards; /* offsets of what g++ puts beside some of them */
};

static symbol_table read_symbols(void)
{
    symbol_table table;
    int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    struct stat status;
    if (file < 0 || fstat(file, &status) != 0) return table;
    size_t size = (size_t)status.st_size;
    char *image = (char *)mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
    close(file);
    if (image == MAP_FAILED) return table;
    const ElfW(Ehdr) *header = (const ElfW(Ehdr) *)image;
    const ElfW(Shdr) *sections = (const ElfW(Shdr) *)(image + header->e_shoff);
    for (int i = 0; i < header->e_shnum; i++) {
        if (sections[i].sh_type != SHT_SYMTAB) continue;
        const ElfW(Sym) *symbols = (const ElfW(Sym) *)(image + sections[i].sh_offset);
        const char *names = image + sections[sections[i].sh_link].sh_offset;
        int file = ANY_FILE;
        for (size_t k = 0; k < sections[i].sh_size / sizeof *symbols; k++) {
            const ElfW(Sym) &symbol = symbols[k];
            const char *name = names + symbol.st_name;
            const int type = symbol.st_info & 15;
            const bool local = symbol.st_info >> 4 == STB_LOCAL;
            if (type == STT_FILE) file++;
            if (type == STT_FUNC && symbol.st_value) {
                table.functions[symbol.st_value] = {name, local ? file : ANY_FILE};
            } else if (type == STT_OBJECT && symbol.st_size) {
                table.variables[symbol.st_value] = {symbol.st_size, name};
            } else if (type == STT_TLS && strncmp(name, "_ZGVZ", 5) == 0) {
                table.guards.insert(symbol.st_value);
            } else if (type == STT_TLS && strncmp(name, "_ZZ", 3) == 0) {
                table.shared[symbol.st_value] = {symbol.st_size, local ? file : ANY_FILE, name};
                table.shared_bytes[{ANY_FILE, name}] = symbol.st_size;
                if (local) table.shared_bytes[{file, name}] = symbol.st_size;
            }
        }
    }
    munmap(image, size);
    return table;
}

/* The variables of a function begin with its mangled name inside _ZZ...E. */
static std::string variable_prefix(const std::string &function)
{
    if (function.compare(0, 2, "_Z") == 0) return "_ZZ" + function.substr(2) + "E";
    return "_ZZ" + std::to_string(function.size()) + function + "E"; /* extern "C" */
}

/* Leaked: used until the process ends. */
static const symbol_table &symbols(void)
{
    static const symbol_table &table = *new symbol_table(read_symbols());
    return table;
}

uintptr_t simt_program_begin(void)
{
    return (uintptr_t)&__executable_start;
}

/* Address, size and name; NULL: none is there. */
typedef std::pair<const uintptr_t, std::pair<size_t, std::string>> variable;
static const variable *find_variable(uintptr_t address)
{
    static const uintptr_t base = simt_load_address();
    const auto &all = symbols().variables;
    auto above = all.upper_bound(address - base);
    if (above == all.begin()) return nullptr;
    --above;
    return address - base - above->first < above->second.first ? &*above : nullptr;
}

bool simt_variable_at(uintptr_t address, unsigned element, char *text, size_t size)
{
    const variable *v = find_variable(address);
    if (!v) return false;
    char *name = abi::__cxa_demangle(v->second.second.c_str(), nullptr, nullptr, nullptr);
    snprintf(text, size, "%s[%zu]", name ? name : v->second.second.c_str(),
             (size_t)(address - simt_load_address() - v->first) / (element ? element : 1));
    free(name);
    return true;
}

bool simt_is_device_variable(uintptr_t address, bool stores)
{
    const size_t CONSTANT_BYTES = 64 << 10;
    static std::set<const variable *> &stored_to = *new std::set<const variable *>;
    const variable *v = find_variable(address);
    if (!v) return false;
    if (stores) stored_to.insert(v);
    return v->second.first > CONSTANT_BYTES || stored_to.count(v) > 0;
}

typedef std::vector<shared_range> shared_ranges;

/* Neighbours as one, so that few calls of memset do. */
static void add_range(shared_ranges &ranges, size_t offset, size_t bytes)
{
    if (!ranges.empty() && ranges.back().offset + ranges.back().bytes == offset)
        ranges.back().bytes += bytes;
    else
        ranges.push_back({offset, bytes});
}

/* By source file: what its kernels can reach. ANY_FILE: all. */
static std::map<int, shared_ranges> *sort_shared_variables(void)
{
    auto *sorted = new std::map<int, shared_ranges>;
    for (const auto &function : symbols().functions)
        (*sorted)[function.second.file];
    for (const auto &[offset, variable] : symbols().shared)
        for (auto &[file, ranges] : *sorted)
            if (file == ANY_FILE || variable.file == ANY_FILE || variable.file == file)
                add_range(ranges, offset, variable.bytes);
    return sorted;
}

const shared_range *simt_static_shared(const void *kernel, size_t *count)
{
    static const std::map<int, shared_ranges> &sorted = *sort_shared_variables();
    static const uintptr_t base = simt_load_address();
    const auto function = symbols().functions.find((uintptr_t)kernel - base);
    const int file = function == symbols().functions.end() ? ANY_FILE : function->second.file;
    const auto found = sorted.find(file);
    *count = found == sorted.end() ? 0 : found->second.size();
    return found == sorted.end() ? nullptr : found->second.data();
}

/* "void f<4>(float*)::tile" is tile of f. */
static shared_variable describe_shared(size_t offset, size_t bytes, const std::string &mangled)
{
    char *text = abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, nullptr);
    const std::string all = text ? text : mangled;
    free(text);
    const size_t colons = all.rfind("::");
    if (colons == std::string::npos) return {offset, bytes, strdup(all.c_str()), ""};
    return {offset, bytes, strdup(all.c_str() + colons + 2), strdup(all.substr(0, colons).c_str())};
}

static std::vector<shared_variable> *list_shared_variables(void)
{
    auto *all = new std::vector<shared_variable>;
    for (const auto &[offset, variable] : symbols().shared)
        all->push_back(describe_shared(offset, variable.bytes, variable.name));
    return all;
}

const shared_variable *simt_shared_variables(size_t *count)
{
    static const std::vector<shared_variable> &all = *list_shared_variables();
    *count = all.size();
    return all.data();
}

bool simt_is_shared_guard(size_t offset)
{
    return symbols().guards.count(offset) > 0;
}

/* Cuts out of "void reduce<256>(float*, int)" the part between type and parameters. Both are absent
 * where the function is no template. */
static std::string without_signature(std::string name)
{
    int depth = 0;
    for (size_t i = 0; i < name.size(); i++) {
        if (name[i] == '<') depth++;
        if (name[i] == '>') depth--;
        if (depth) continue;
        if (name[i] == '(') return name.substr(0, i);
        if (name[i] == ' ') {
            name.erase(0, i + 1);
            i = (size_t)-1;
        }
    }
    return name;
}

void simt_kernel_name(const void *kernel, const char *otherwise, char *text, size_t size)
{
    snprintf(text, size, "%s", otherwise);
    if (!kernel) return;
    const auto function = symbols().functions.find((uintptr_t)kernel - simt_load_address());
    if (function == symbols().functions.end()) return;
    char *name = abi::__cxa_demangle(function->second.name.c_str(), nullptr, nullptr, nullptr);
    if (name) snprintf(text, size, "%s", without_signature(name).c_str());
    free(name);
}

static size_t count_static_shared(const void *kernel)
{
    auto function = symbols().functions.find((uintptr_t)kernel - simt_load_address());
    if (function == symbols().functions.end()) return 0;
    const std::string prefix = variable_prefix(function->second.name);
    const int file = function->second.file;
    size_t bytes = 0;
    const auto &variables = symbols().shared_bytes;
    for (auto it = variables.lower_bound({file, prefix});
         it != variables.end() && it->first.first == file &&
         it->first.second.compare(0, prefix.size(), prefix) == 0;
         ++it)
        bytes += it->second;
    return bytes;
}

size_t simt_static_shared_bytes(const void *kernel)
{
    if (!kernel) return 0;
    static std::mutex &lock = *new std::mutex;
    static std::map<const void *, size_t> &known = *new std::map<const void *, size_t>;
    std::lock_guard<std::mutex> guard(lock);
    auto it = known.find(kernel);
    if (it == known.end()) it = known.emplace(kernel, count_static_shared(kernel)).first;
    return it->second;
}
