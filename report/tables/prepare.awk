# prepare.awk - what preparing costs, and after how many products it has paid. Options: of (lab99).

# Runs after which `of` with its preparation is ahead of `other` with its own.
function paid(other,    saved, cost) {
    if (!time_of(key, other)) return "-"
    saved = time_of(key, other) - time_of(key, of)
    cost = prepared[key, of] - prepared[key, other]
    if (saved <= 0) return cost < 0 ? "at first" : "never"
    return cost <= 0 ? 1 : int(cost / saved) + 1
}

END {
    if (of == "") of = "lab99"
    if (!(of in is_known)) nothing(of)
    printf "| matrix | %s | prepare of %s, ms | its product, ms | prepare, in products |", common_width, heading(of)
    print " best of cuSPARSE | its prepare, ms | runs to be ahead of default | runs to be ahead of best |"
    print "|---|---:|---:|---:|---:|---|---:|---:|---:|"
    for (i = 1; i <= num_problems; i++) {
        key = problems[i]
        own = time_of(key, of)
        if (!own) continue
        printf "| %s | %s | %.3f | %.4f | %.1f | %s | %.3f | %s | %s |\n", label[key], columns[key],
            prepared[key, of], own, prepared[key, of] / own, best_name[key], prepared[key, "best"],
            paid("default"), paid("best")
    }
}
