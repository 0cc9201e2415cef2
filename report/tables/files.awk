# files.awk - which rows there are.

"dataset" in at && "commit" in at {
    f = bare(FILENAME)
    if (!(f in rows)) names[++num_files] = f
    rows[f]++
    add(matrices_of, get("dataset"), "matrices")
    add(commits_of, get("commit"), "commits")
    origins[f, get("origin")]++
    if (get("origin") != "" && origins[f, get("origin")] == 1) data[f] = data[f] (data[f] ? ", " : "") get("origin")
    if ("status" in at && get("status") !~ /^(ok|sample)$/) other[f]++
    use(provenance())
}

# Counts `what` of file f once a name.
function add(set, name, what) { if (!((f, name) in set)) { set[f, name] = 1; count[f, what]++ } }

END {
    if (!num_files) nothing("any kind")
    print "| file | rows | without a result | matrices | commits | data |\n|---|---:|---:|---:|---:|---|"
    for (i = 1; i <= num_files; i++) {
        f = names[i]
        printf "| %s | %d | %d | %d | %d | %s |\n", f, rows[f], other[f], count[f, "matrices"], count[f, "commits"], data[f]
    }
}
