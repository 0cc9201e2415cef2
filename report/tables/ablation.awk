# ablation.awk - what the row swizzle brings to each kernel of lab 10, and how fast labs are that take rows as they come. Lab
# 21's kernel has rows of an earlier form, which took an order of the rows as well.

get("status") == "ok" && get("lab") + 0 && get("precision") == "fp32" && get("l2") == "warm" &&
    get("flags") ~ /^$|(^|;)sweep/ {
    key = problem_of_row()
    kernel = tuned_to("KERNEL")
    if (kernel == "") kernel = get("contender")
    if (!(kernel in is_kernel)) { is_kernel[kernel] = 1; kernels[++num_kernels] = kernel }
    if (!(key in fastest)) case_of[++num_cases] = key
    ms = number("median_ms")
    took[key, kernel, tuned_to("SWIZZLE") + 0] = ms
    if (!(key in fastest) || ms < fastest[key]) fastest[key] = ms
    use(provenance())
}

function swizzled(kernel, swizzle) {
    return gain(took, case_of, num_cases, kernel SUBSEP 0, kernel SUBSEP swizzle)
}

function share(kernel,    i, logs, n, key) {
    for (i = 1; i <= num_cases; i++) {
        key = case_of[i]
        if (!((key, kernel, 0) in took)) continue
        logs += log(fastest[key] / took[key, kernel, 0])
        n++
    }
    return n ? sprintf("%.0f %%", 100 * exp(logs / n)) : "-"
}

END {
    if (!num_cases) nothing("lab 10's kernels")
    print "| kernel | all rows by length (cases) | in windows of 4096 (cases) | without, share of the best setting |"
    print "|---|---:|---:|---:|"
    for (k = 1; k <= num_kernels; k++)
        printf "| %s | %s | %s | %s |\n", kernels[k], swizzled(kernels[k], 1), swizzled(kernels[k], 4096), share(kernels[k])
}
