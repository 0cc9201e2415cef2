# graphs.awk - one lab, problem by problem: its time, the kernel behind it, its gather share, and how far it is ahead of
# the vendor. Options: of (lab99); op, if the files hold several operations; beside, one of these: its time at the same
# width, and ours over it.

# The kernel that a lab's rule chose, without the operation's name.
function kernel_of(key,    text) {
    text = tuning[key, of]
    if (text !~ /^KERNEL=/) return contender_of[key, of]
    sub(/^KERNEL=/, "", text)
    sub(/ .*/, "", text)
    sub("^" op "_", "", text)
    return text
}

# Ratios of a column: shown, and kept for the mean below.
function ahead_of(which, other, own,    ratio) {
    if (!other || !own) return "-"
    ratio = other / own
    logs[which] += log(ratio)
    count[which]++
    won[which] += ratio > 1
    return show_ratio(ratio)
}

function mean(which) {
    return count[which] ? sprintf("%.2f, %d of %d", exp(logs[which] / count[which]), won[which], count[which]) : "-"
}

END {
    if (of == "") of = "lab99"
    if (!(of in is_known)) nothing(of)
    printf "| matrix | %s | %s, us | kernel | gather share | over default | over best (which) |", op == "" ? common_width : \
        width_of(op), heading(of)
    print beside == "" ? "" : " " beside ", us | " op " over it |"
    print "|---|---:|---:|---|---:|---:|---|" (beside == "" ? "" : "---:|---:|")
    for (i = 1; i <= num_problems; i++) {
        key = problems[i]
        own = time_of(key, of)
        if (!own || op != "" && key != problem_of(key, op)) continue
        share = gather_share[key, of]
        printf "| %s | %s | %s | %s | %s | %s | %s |", label[key], columns[key], us(own), kernel_of(key),
            share == "" ? "-" : sprintf("%.0f %%", 100 * share), ahead_of("default", time_of(key, "default"), own),
            time_of(key, "best") ? ahead_of("best", time_of(key, "best"), own) " (" best_name[key] ")" : "-"
        if (beside != "") {
            twin = problem_of(key, beside)
            other = time_of(twin, of)
            if (other) { twins++; twin_logs += log(own / other) }
            printf " %s | %s |", us(other), other ? sprintf("%.2f", own / other) : "-"
        }
        print ""
    }
    printf "| geometric mean, ahead | | | | | %s | %s |", mean("default"), mean("best")
    print beside == "" ? "" : sprintf(" | %s |", twins ? sprintf("%.2f", exp(twin_logs / twins)) : "-")
}
