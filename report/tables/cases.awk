# cases.awk - one lab beside the vendor, problem by problem. Options: of (lab99), behind=1: only the problems
# on which the vendor's best algorithm is ahead; sparse=1: sparsity in place of names.

END {
    if (of == "") of = "lab99"
    if (!(of in is_known)) nothing(of)
    printf "| %s | %s | %s, us | default, us | best, us (which) |", sparse ? "sparsity" : "matrix", common_width, heading(of)
    if ("dense" in is_known) printf " dense, us (which) |"
    if ("tf32" in is_known) printf " dense TF32, us (which) |"
    print " over default | over best |" ("dense" in is_known ? " over dense |" : "")
    printf "|%s|---:|---:|---:|---|", sparse ? "---:" : "---"
    print ("dense" in is_known ? "---|" : "") ("tf32" in is_known ? "---|" : "") "---:|---:|" \
        ("dense" in is_known ? "---:|" : "")
    for (i = 1; i <= num_problems; i++) {
        key = problems[i]
        if (!((key, of) in time) || !((key, "best") in time) || behind && time[key, "best"] >= time[key, of]) continue
        own = time_of(key, of)
        best = time_of(key, "best")
        shown++
        printf "| %s | %s | %s | %s | %s (%s) |", sparse ? sprintf("%.0f %%", 100 * (1 - density[key])) : label[key],
            columns[key], us(own), us(time_of(key, "default")), us(best), best_name[key]
        if ("dense" in is_known) printf " %s |", named("dense")
        if ("tf32" in is_known) printf " %s |", named("tf32")
        printf " %s | %s |", over("default"), over("best")
        if ("dense" in is_known) printf " %s |", over("dense")
        print ""
    }
    if (!shown) print "| none | | | | | | |"
}

function over(who) { return time_of(key, who) ? show_ratio(time_of(key, who) / own) : "-" }

# The fastest of the dense products, and which it is.
function named(who) { return time_of(key, who) ? us(time_of(key, who)) " (" dense_name(key, who) ")" : "-" }
