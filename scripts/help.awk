# help.awk - prints the targets of makefiles from their "target: ## text" lines, grouped by "##@ title"
# lines, and the knobs of config.mk ("NAME ?= value" with the comment block above it). A title may
# stand in several files.
# Usage: awk -f scripts/help.awk Makefile mk/*.mk config.mk
BEGIN {
    INDENT = 21
    WIDTH = 78
    print "usage: make TARGET [KNOB=value ...]"
}

# Adds "  name   text" to a section, the text folded at WIDTH and hung under itself.
function entry(section, name, text,    words, n, i, line) {
    line = sprintf("  %-" (INDENT - 3) "s", name)
    n = split(text, words, " ")
    for (i = 1; i <= n; i++) {
        if (length(line) + 1 + length(words[i]) > WIDTH) {
            entries[section] = entries[section] line "\n"
            line = sprintf("%" (INDENT - 1) "s", "")
        }
        line = line " " words[i]
    }
    entries[section] = entries[section] line "\n"
}

FNR == 1 { knobs = FILENAME ~ /config\.mk$/ }

!knobs && /^##@/ {
    title = substr($0, 5)
    if (!(title in entries)) titles[++sections] = title
    entries[title] = entries[title] ""
}
!knobs && /^(# )?[A-Za-z0-9-]+:.*## / {
    name = $0
    sub(/^# /, "", name)
    sub(/:.*/, "", name)
    sub(/.*## /, "")
    entry(title, name, $0)
}

knobs && /^# / { comment = comment (comment ? " " : "") substr($0, 3) }
knobs && /^[A-Z_]+ \?= / {
    value = $0
    sub(/^[^=]*= /, "", value)
    entry("knobs", $1 "=" value, comment)
}
knobs && !/^#/ { comment = "" }

END {
    for (i = 1; i <= sections; i++) printf "\n%s\n%s", titles[i], entries[titles[i]]
    printf "\nKnobs (on the command line, or for good in local.mk)\n%s", entries["knobs"]
}
