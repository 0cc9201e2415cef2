# ncu-tidy.awk - from ncu's wide table (--page raw --csv) to one line a kernel and metric. With
# csv.awk: awk -v header=1 -f csv.awk -f ncu-tidy.awk ROWS.csv RAW. ROWS.csv is what the program says
# of the same run: where the matrix came from, which GPU, which commit. WANTED: a regular expression of the metrics'
# names; sums, if it is not given.

BEGIN {
    OFS = ","
    if (wanted == "") wanted = "\\.sum$"
    n_kept = split("dataset origin N", kept, " ")
    n_tail = split("device driver toolkit commit", tail, " ")
    if (header) print "dataset,origin,N,kernel,metric,value,device,driver,toolkit,commit"
}

# The program's rows: its columns, then the first one.
NR == 1 { csv_columns($0, at) }
NR == FNR && NR == 2 {
    csv_split($0, cell)
    front = ""
    for (i = 1; i <= n_kept; i++) front = front csv_cell(cell[at[kept[i]]]) OFS
    back = ""
    for (i = 1; i <= n_tail; i++) back = back OFS csv_cell(cell[at[tail[i]]])
}
NR == FNR { next }

# ncu's rows, among what it and the program print: names, units, then a kernel each.
/^"ID"/ {
    columns = csv_split($0, name)
    for (i = 1; i <= columns; i++) if (name[i] == "Kernel Name") kernel_at = i
    next
}
/^"[0-9]+"/ && columns {
    csv_split($0, cell)
    kernel = cell[kernel_at]
    sub(/^void /, "", kernel)
    sub(/\(.*/, "", kernel)
    for (i = 1; i <= columns; i++) {
        if (name[i] !~ /^[a-z0-9]+__/ || name[i] !~ wanted || name[i] ~ /^(device|launch|profiler)__/) continue
        value = cell[i]
        gsub(/,/, "", value)
        print front csv_cell(kernel), name[i], value back
        lines++
    }
}
END {
    if (lines) exit
    print "ncu-tidy: no kernel in what ncu printed" >"/dev/stderr"
    exit 1
}
