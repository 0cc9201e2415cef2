# path.awk - addresses, for the awk programs of the site.

# Joins a target to the folder of the file that names it; a target that begins with / starts at the root. a/b/../c is a/c.
function path(file, target,    part, kept, n, i, k) {
    if (target !~ /^\//) {
        if (!sub("/[^/]*$", "/", file)) file = ""
        target = file target
    }
    n = split(target, part, "/")
    for (i = 1; i <= n; i++) {
        if (part[i] == "..") k--
        else if (part[i] != "." && part[i] != "") kept[++k] = part[i]
    }
    target = kept[1]
    for (i = 2; i <= k; i++) target = target "/" kept[i]
    return target
}
