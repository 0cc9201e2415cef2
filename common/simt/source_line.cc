/*
 * source_line.cc - from a code address to the line of the lab that it belongs to. It asks binutils'
 * addr2line about the program itself (compiled with -g -gdwarf-4). Without addr2line, or without
 * debugging information, reports show the address instead.
 */
#include "simt/simt.h"

#include <fcntl.h>
#include <map>
#include <mutex>
#include <string>
#include <unistd.h>
#include <vector>

typedef std::vector<std::string> frames; /* "file:line", innermost first */

/* A file below the current directory by its relative name, without the ./ of an include path. */
static std::string shorten(const std::string &line)
{
    char here[4096];
    if (!getcwd(here, sizeof here)) return line;
    std::string prefix = std::string(here) + "/";
    std::string name = line.compare(0, prefix.size(), prefix) ? line : line.substr(prefix.size());
    return name.compare(0, 2, "./") ? name : name.substr(2);
}

static frames ask(const void *site)
{
    frames found;
    /* A return address is one past the call, and belongs to the next line if the call ends its own.
     */
    uintptr_t address = (uintptr_t)site - 1 - simt_load_address();
    /* Hands the program over as an open file: of a process that may not be looked into (the grader's
     * runner), no other may open /proc/PID/exe. */
    const int program = open("/proc/self/exe", O_RDONLY);
    char command[128];
    snprintf(command, sizeof command, "addr2line -i -e /proc/self/fd/%d 0x%zx 2>/dev/null", program,
             (size_t)address);
    FILE *answer = popen(command, "r");
    close(program); /* the shell has it */
    if (!answer) return found;
    char text[4096];
    while (fgets(text, sizeof text, answer)) {
        text[strcspn(text, "\n")] = 0;
        char *note = strstr(text, " (discriminator");
        if (note) *note = 0;
        /* "??:0" or, for code without a source file such as simt_switch, ":?". */
        if (text[0] != '?' && text[0] != ':') found.push_back(shorten(text));
    }
    pclose(answer);
    return found;
}

/* Answers are kept: a barrier in a loop would ask again and again. */
static const frames &frames_of(const void *site)
{
    static std::mutex &lock = *new std::mutex;
    static std::map<const void *, frames> &known = *new std::map<const void *, frames>;
    std::lock_guard<std::mutex> guard(lock);
    auto it = known.find(site);
    if (it == known.end()) it = known.emplace(site, ask(site)).first;
    return it->second;
}

/* Lines of this backend, of the device wrappers and of the system's headers (Ubuntu's gcc inlines
 * memset from one) are not where the mistake is. */
static bool in_kernel(const std::string &line)
{
    return line.find("common/simt/") == std::string::npos &&
           line.find("common/device/") == std::string::npos && line.compare(0, 5, "/usr/") != 0;
}

bool simt_is_kernel_code(const void *site)
{
    for (const std::string &line : frames_of(site))
        if (in_kernel(line)) return true;
    return frames_of(site).empty(); /* unknown, so possible */
}

const void *simt_guilty_site(const void *const *sites, int count, const void *otherwise)
{
    const void *unknown = nullptr;
    for (int i = 0; i < count; i++) {
        const frames &all = frames_of(sites[i]);
        if (all.empty()) {
            if (!unknown) unknown = sites[i];
            continue;
        }
        if (simt_is_kernel_code(sites[i])) return sites[i];
        /* Kernels are called from there: what lies further out is left over from other calls. */
        if (all[0].find("simt/launch.h:") != std::string::npos) break;
    }
    return otherwise ? otherwise : unknown;
}

bool simt_source_line(const void *site, char *text, size_t size)
{
    const frames &all = frames_of(site);
    if (all.empty()) {
        snprintf(text, size, "an unknown line (0x%zx in the program)",
                 (size_t)site - 1 - simt_load_address());
        return false;
    }
    const std::string *line = &all[0];
    for (const std::string &frame : all) {
        if (!in_kernel(frame)) continue;
        line = &frame;
        break;
    }
    snprintf(text, size, "%s", line->c_str());
    return true;
}

bool simt_same_source_line(const void *a, const void *b)
{
    return a == b || frames_of(a) == frames_of(b);
}
