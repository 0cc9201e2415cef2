# limit.awk - a measured limit of the machine, in its unit of limits.tsv. Options: name.
END {
    if (!(name in limit)) nothing(name " (make limits)")
    printf "%.1f\n", limit[name]
}
