# linked.awk - what texts of Markdown link to, as paths from the root, also such as are not there.
#
#     awk -f site/path.awk -f site/linked.awk TEXT.md...
{
    while (match($0, /\]\([^) ]+\)/)) {
        target = substr($0, RSTART + 2, RLENGTH - 3)
        $0 = substr($0, RSTART + RLENGTH)
        sub(/#.*/, "", target)
        if (target != "" && target !~ /^[a-z]+:/) print path(FILENAME, target)
    }
}
