# starter-links.awk - a page without links to files that are not handed out: their text stays. A notebook, LOG.md, stays with
# the staff, which the page says.
#
# usage: find . | awk -v page=labs/03_shared_tiles/README.md -f scripts/starter-links.awk - PAGE

FNR == NR { here[substr($0, 3)]; next } # after "./"
{ text = text $0 "\n" }

# The path of a link on the page, from the root of the tree.
function resolve(target,    path) {
    sub(/#.*/, "", target)
    sub(/\/$/, "", target)
    if (target == "") return page # a place on the page itself
    path = page
    sub(/[^\/]*$/, "", path)
    path = path target
    while (match(path, /(^|\/)[^\/.]+[^\/]*\/\.\.(\/|$)/))
        path = substr(path, 1, RSTART - 1) (substr(path, RSTART, 1) == "/" ? "/" : "") substr(path, RSTART + RLENGTH)
    sub(/\/$/, "", path)
    return path
}

END {
    while (match(text, /\[[^][]*\]\([^) ]*\)/)) {
        before = substr(text, 1, RSTART - 1)
        link = substr(text, RSTART, RLENGTH)
        text = substr(text, RSTART + RLENGTH)
        split(link, part, /\]\(/)
        target = substr(part[2], 1, length(part[2]) - 1)
        gone = substr(part[1], 2) (target ~ /(^|\/)LOG\.md$/ ? " (the staff's)" : "")
        printf "%s", before (target ~ /^[a-z]+:/ || resolve(target) in here ? link : gone)
    }
    printf "%s", text
}
