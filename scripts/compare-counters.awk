# compare-counters.awk - beside each other: what the CPU backend counts (the lines of
# compare-counters) and what ncu counts (the lines of ncu-counters). With csv.awk:
# awk -f csv.awk -f compare-counters.awk CPU.tsv NCU.csv.

BEGIN {
    OFS = ","
    G = "_pipe_lsu_mem_global_op_"
    S = "_pipe_lsu_wavefronts_mem_shared_op_"
    B = "_bank_conflicts_pipe_lsu_mem_shared_op_"
    # How far the CPU may be off where the lanes of a warp stay together, and where they part.
    SECTORS = 0.02
    SECTORS_APART = 0.03
    REQUESTS = 0.02
    REQUESTS_APART = 0.10
    BYTES = 0.15
    print "dataset,origin,N,lab,kernel,metric,ncu,cpu,difference,tolerance,verdict,device,driver," \
        "toolkit,commit,cpu_commit"
}

# A kernel's name as both spell it: without arguments and template arguments.
function plain(kernel) {
    sub(/[<(].*/, "", kernel)
    sub(/_kernel$/, "", kernel)
    return kernel
}

FILENAME == ARGV[1] {
    split($0, f, "\t")
    key = f[1] SUBSEP f[2] SUBSEP plain(f[5])
    if (key in cpu) next
    cpu[key] = $0
    next
}

FNR == 1 { csv_columns($0, at); next }
{
    csv_split($0, c)
    key = c[at["dataset"]] SUBSEP c[at["N"]] SUBSEP plain(c[at["kernel"]])
    if (!(key in known)) { known[key] = ++kernels; order[kernels] = key }
    value[key, c[at["metric"]]] = c[at["value"]]
    has[key, c[at["metric"]]] = c[at["value"]] ~ /^[0-9]/
    origin[key] = c[at["origin"]]
    full_name[key] = c[at["kernel"]]
    back[key] = csv_cell(c[at["device"]]) OFS csv_cell(c[at["driver"]]) OFS \
        csv_cell(c[at["toolkit"]]) OFS csv_cell(c[at["commit"]])
}

# One line. `whole` is what a difference is measured by: a few conflicts more or fewer among a
# million wavefronts are no difference.
function compare(key, metric, ncu, ours, whole, tolerance,    difference, verdict, split_key) {
    if (ncu == 0 && ours == 0) return
    split(key, split_key, SUBSEP)
    difference = whole > 0 ? (ours - ncu) / whole : ours == ncu ? 0 : 1
    if (tolerance == "") verdict = "information"
    else if (difference <= tolerance && difference >= -tolerance) { verdict = "within"; within++ }
    else { verdict = "outside"; outside[++exceptions] = sprintf("%s N=%s lab%s %s %s: ncu %.0f, CPU %.0f (%+.1f %%)", \
        split_key[1], split_key[2], lab, full_name[key], metric, ncu, ours, 100 * difference) }
    printf "%s,%s,%s,%s,%s,%s,%.10g,%.10g,%.4f,%s,%s,%s,%s\n", csv_cell(split_key[1]), \
        origin[key], split_key[2], lab, csv_cell(full_name[key]), metric, ncu, ours, difference, \
        tolerance, verdict, back[key], cpu_commit
}

# compare, if ncu knows all metrics (separated by blanks): their sum, times `unit`. The whole is no
# less than `floor`.
function compare_sum(key, metric, names, unit, ours, tolerance, floor,    n, i, list, sum) {
    n = split(names, list, " ")
    for (i = 1; i <= n; i++) {
        if (!has[key, list[i]]) { missing[list[i]] = 1; return }
        sum += value[key, list[i]]
    }
    sum *= unit
    compare(key, metric, sum, ours, sum < floor ? floor : sum, tolerance)
}

function shared(key, kind, requests, wavefronts, ideal,    l1, l1_conflicts, sass, sass_conflicts) {
    l1 = "l1tex__data" S kind ".sum"
    l1_conflicts = "l1tex__data" B kind ".sum"
    sass = "smsp__sass_l1tex_data" S kind ".sum"
    sass_conflicts = "smsp__sass_l1tex_data" B kind ".sum"
    # No verdict: ncu counts instructions here, those that no lane carries out (all predicated off)
    # with the others. Wavefronts show what is left of them.
    compare_sum(key, "shared_" kind "_requests", "smsp__inst_executed_op_shared_" kind ".sum", 1, \
        requests, "")
    compare_sum(key, "shared_" kind "_wavefronts", sass, 1, wavefronts, \
        apart ? SECTORS_APART : SECTORS)
    if (has[key, l1] && has[key, l1_conflicts])
        compare(key, "shared_" kind "_ideal_wavefronts", value[key, l1] - value[key, l1_conflicts], \
            ideal, value[key, l1] - value[key, l1_conflicts], apart ? SECTORS_APART : SECTORS)
    if (has[key, sass] && has[key, sass_conflicts])
        compare(key, "shared_" kind "_conflicts", value[key, sass_conflicts], wavefronts - ideal, \
            value[key, sass], SECTORS)
}

END {
    for (k = 1; k <= kernels; k++) {
        key = order[k]
        if (!(key in cpu)) { unknown[++unknowns] = full_name[key]; continue }
        split(cpu[key], f, "\t")
        lab = f[3]
        cpu_commit = f[4]
        # Lanes part where half of them or fewer are active on average.
        apart = f[7] < 16 * f[6]
        requests = apart ? REQUESTS_APART : REQUESTS
        sectors = apart ? SECTORS_APART : SECTORS
        compare_sum(key, "ld_requests", "l1tex__t_requests" G "ld.sum", 1, f[8], requests)
        compare_sum(key, "ld_sectors", "l1tex__t_sectors" G "ld.sum", 1, f[9], sectors)
        compare_sum(key, "st_requests", "l1tex__t_requests" G "st.sum", 1, f[10], requests)
        compare_sum(key, "st_sectors", "l1tex__t_sectors" G "st.sum", 1, f[11], sectors)
        compare_sum(key, "atomic_requests", "l1tex__t_requests" G "red.sum l1tex__t_requests" G \
            "atom.sum", 1, f[12], requests)
        compare_sum(key, "atomic_sectors", "l1tex__t_sectors" G "red.sum l1tex__t_sectors" G \
            "atom.sum", 1, f[13], sectors)
        shared(key, "ld", f[14], f[15], f[16])
        shared(key, "st", f[17], f[18], f[19])
        L2 = "lts__t_sectors_srcunit_tex_op_"
        compare_sum(key, "l2_read_bytes", L2 "read.sum", 32, f[20], BYTES)
        compare_sum(key, "l2_write_bytes", L2 "write.sum " L2 "red.sum " L2 "atom.sum", 32, f[21], BYTES)
        # Some bytes of a kernel that leaves all it writes in L2 are none: a hundredth of its traffic.
        few = 0.01 * (value[key, "dram__bytes_read.sum"] + value[key, "dram__bytes_write.sum"])
        compare_sum(key, "dram_read_bytes", "dram__bytes_read.sum", 1, f[22], BYTES, few)
        compare_sum(key, "dram_write_bytes", "dram__bytes_write.sum", 1, f[23], BYTES, few)
        compare_sum(key, "l1_hit_sectors", "l1tex__t_sectors" G "ld_lookup_hit.sum", 1, f[24], "")
        if (value[key, "smsp__inst_executed.sum"] > 0 && f[6] > 0)
            compare(key, "simt_efficiency", value[key, "smsp__thread_inst_executed.sum"] / \
                (32 * value[key, "smsp__inst_executed.sum"]), f[7] / (32 * f[6]), 1, "")
    }
    err = "/dev/stderr"
    printf "%d of %d values within their tolerance\n", within, within + exceptions >err
    for (i = 1; i <= exceptions; i++) print "  outside: " outside[i] >err
    for (i = 1; i <= unknowns; i++) print "  not counted on the CPU: " unknown[i] >err
    for (m in missing) print "  not measured by ncu: " m >err
    exit exceptions + unknowns > 0 || within == 0
}
