# speedups.awk - labs beside the vendor: geometric means over the problems of each kind and width.
# Options: labs (as in 5,6,10; all that are known otherwise), dense=1: also beside the dense product.

function line(lab, of_kind, of_width,    who) {
    who = "lab" lab
    if (!compare(who, "best", of_kind, of_width)) return
    printf "| %d | %s | %s | %d | **%s** | %s, %s | %s | %d |", lab, of_kind, of_width == "" ? "all" : of_width, cases,
        show_ratio(geomean), show_ratio(least), of_width == "" ? problem(least_at) : may_break(matrix[least_at]),
        show_ratio(most), ahead
    compare(who, "default", of_kind, of_width)
    printf " %s | %d |", show_ratio(geomean), ahead
    if (dense) {
        if (compare(who, "dense", of_kind, of_width)) printf " %s | %d |", show_ratio(geomean), ahead
        else printf " - | - |"
    }
    print ""
}

END {
    if (!num_problems) nothing("plain runs beside the vendor")
    if (labs == "") for (l = 1; l <= last_lab; l++) if (("lab" l) in is_known) labs = labs (labs ? "," : "") l
    print "| lab | problems | " common_width " | cases | over best | least, on | most | ahead | over default | ahead |" \
        (dense ? " over dense | ahead |" : "")
    print "|---:|---|---:|---:|---:|---|---:|---:|---:|---:|" (dense ? "---:|---:|" : "")
    for (i = 1; i <= num_problems; i++)
        if (!(kind[problems[i]] in is_kind)) { is_kind[kind[problems[i]]] = 1; kinds[++num_kinds] = kind[problems[i]] }
    n = split(labs, list, ",")
    for (k = 1; k <= num_kinds; k++)
        for (i = 1; i <= n; i++) {
            for (w = 1; w <= num_widths; w++) line(list[i], kinds[k], widths[w])
            if (num_widths > 1) line(list[i], kinds[k], "")
        }
}
