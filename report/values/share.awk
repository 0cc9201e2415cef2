# share.awk - in how many rows a column has a value. Options: column, value, skip (a value that is not counted).
get(column) != skip { all++; have += get(column) == value }
END {
    if (!all) nothing(column)
    print have + 0 " of " all
}
