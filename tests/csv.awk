# csv.awk - RFC 4180 rows, for tests: read apart from the code that is tested (common/results/csv.c).
#
# csv_split(line, fields) fills fields[1..n] and returns n. Quoted cells may hold commas and doubled quotes, not line
# breaks (the suite writes none).
function csv_split(line, fields,    n, i, c, cell, quoted) {
    n = 0
    cell = ""
    quoted = 0
    for (i = 1; i <= length(line); i++) {
        c = substr(line, i, 1)
        if (quoted) {
            if (c != "\"") cell = cell c
            else if (substr(line, i + 1, 1) == "\"") { cell = cell c; i++ }
            else quoted = 0
        } else if (c == "\"") quoted = 1
        else if (c == ",") { fields[++n] = cell; cell = "" }
        else cell = cell c
    }
    fields[++n] = cell
    return n
}

# Where the columns are, from a file's first line: at[name] is the number of the cell. Returns how many there are.
function csv_columns(line, at,    name, n, i) {
    delete at
    n = csv_split(line, name)
    for (i = 1; i <= n; i++) at[name[i]] = i
    return n
}
