# help.awk - prints the targets of the Makefile from its "target: ## text" lines, grouped by "##@ title"
# lines, and the knobs of config.mk ("NAME ?= value" with the comment block above it).
# Usage: awk -f scripts/help.awk Makefile config.mk
BEGIN {
    INDENT = 21
    WIDTH = 78
    print "usage: make TARGET [KNOB=value ...]"
}

# Prints "  name   text", the text folded at WIDTH and hung under itself.
function entry(name, text,    words, n, i, line) {
    line = sprintf("  %-" (INDENT - 3) "s", name)
    n = split(text, words, " ")
    for (i = 1; i <= n; i++) {
        if (length(line) + 1 + length(words[i]) > WIDTH) {
            print line
            line = sprintf("%" (INDENT - 1) "s", "")
        }
        line = line " " words[i]
    }
    print line
}

FNR == 1 { knobs = FILENAME ~ /config\.mk$/ }
FNR == 1 && knobs { printf "\nKnobs (on the command line, or for good in local.mk)\n" }

!knobs && /^##@/ { printf "\n%s\n", substr($0, 5) }
!knobs && /^(# )?[A-Za-z0-9-]+:.*## / {
    name = $0
    sub(/^# /, "", name)
    sub(/:.*/, "", name)
    sub(/.*## /, "")
    entry(name, $0)
}

knobs && /^# / { comment = comment (comment ? " " : "") substr($0, 3) }
knobs && /^[A-Z_]+ \?= / {
    value = $0
    sub(/^[^=]*= /, "", value)
    entry($1 "=" value, comment)
}
knobs && !/^#/ { comment = "" }
