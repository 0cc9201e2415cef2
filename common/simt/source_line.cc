/*
 * source_line.cc - from a code address to the line of the lab that it belongs to, by asking
 * binutils' addr2line about the program itself (compiled with -g -gdwarf-4). Without addr2line, or
 * without debugging information, reports show the address instead.
 */
#include "simt/simt.h"

#include <map>
#include <mutex>
#include <string>
#include <unistd.h>
#include <vector>

typedef std::vector<std::string> frames; /* "file:line", innermost first */

/* A file below the current directory by its relative name. */
static std::string shorten(const std::string &line)
{
    char here[4096];
    if (!getcwd(here, sizeof here)) return line;
    std::string prefix = std::string(here) + "/";
    return line.compare(0, prefix.size(), prefix) == 0 ? line.substr(prefix.size()) : line;
}

static frames ask(const void *site)
{
    frames found;
    /* A return address is one past the call, and belongs to the next line if the call ends its own.
     */
    uintptr_t address = (uintptr_t)site - 1 - simt_load_address();
    char command[128];
    snprintf(command, sizeof command, "addr2line -i -e /proc/%d/exe 0x%zx 2>/dev/null",
             (int)getpid(), (size_t)address);
    FILE *answer = popen(command, "r");
    if (!answer) return found;
    char text[4096];
    while (fgets(text, sizeof text, answer)) {
        text[strcspn(text, "\n")] = 0;
        char *note = strstr(text, " (discriminator");
        if (note) *note = 0;
        if (text[0] != '?') found.push_back(shorten(text));
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

void simt_source_line(const void *site, char *text, size_t size)
{
    const frames &all = frames_of(site);
    if (all.empty()) {
        snprintf(text, size, "an unknown line (address %p)", site);
        return;
    }
    /* The innermost line outside the headers of this backend and the device wrappers. */
    const std::string *line = &all[0];
    for (const std::string &frame : all) {
        if (frame.find("simt/include/") != std::string::npos) continue;
        if (frame.find("common/device/") != std::string::npos) continue;
        line = &frame;
        break;
    }
    snprintf(text, size, "%s", line->c_str());
}

bool simt_same_source_line(const void *a, const void *b)
{
    return a == b || frames_of(a) == frames_of(b);
}
