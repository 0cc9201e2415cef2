# problems.awk - the times of everybody on each problem: a matrix, real or a stand-in, and a width; of an operation.
# Needs rows.awk. Of several files that have a problem the first counts: times that are compared are of one sitting.
#
# Options, as name=value before the files: N (the width), precision (fp32), l2 (warm), only (a pattern of matrices).
# Who is timed: lab5, or a contender by its name; default and best, the vendor's sparse algorithms; dense, the
# fastest dense product at full precision, and tf32, the fastest that rounds A and B. B is in either layout.

function is_wanted() {
    return get("flags") == "" && get("precision") == (precision ? precision : "fp32") && \
        get("l2") == (l2 ? l2 : "warm") && (!N || get("N") == N) && (only == "" || get("dataset") ~ only)
}

function problem_of_row() { return get("dataset") SUBSEP get("N") SUBSEP get("origin") SUBSEP operation() }

# The same problem, of another operation.
function problem_of(key, of_operation,    part) {
    split(key, part, SUBSEP)
    return part[1] SUBSEP part[2] SUBSEP part[3] SUBSEP of_operation
}

# (A file without flags holds no times.)
"flags" in at && is_wanted() {
    key = problem_of_row()
    if (!(key in matrix)) {
        problems[++num_problems] = key
        matrix[key] = get("dataset")
        file_of[key] = FILENAME
        columns[key] = get("N")
        width_name[key] = width_of(operation())
        label[key] = may_break(get("dataset")) " (" get("origin") ")"
        kind[key] = kind_of(get("dataset"))
        nnz[key] = number("nnz")
        density[key] = nnz[key] / (number("rows") * number("cols"))
        B_rows[key] = number("cols")
        if (!(get("N") in is_width)) widths[++num_widths] = get("N")
        is_width[get("N")] = 1
    }
    if (get("status") == "ok" && FILENAME == file_of[key]) {
        contender = get("contender")
        ms = number("median_ms")
        timed(contender, 0)
        if (get("lab") + 0) timed("lab" get("lab"), 1)
        else if (contender ~ /TF32/) timed("tf32", 1)
        else if (contender ~ /\(dense\)$/) timed("dense", 1)
        if (get("lab") + 0 > last_lab) last_lab = get("lab") + 0
        if (contender == get("vendor_default")) timed("default", 0)
        if (contender == get("vendor_best")) {
            timed("best", 0)
            best_name[key] = contender
            sub(/^cuSPARSE /, "", best_name[key])
        }
    }
}

# `who` takes this row's time; of several contenders (fastest) the shortest.
function timed(who, fastest) {
    if (fastest && (key, who) in time && time[key, who] <= ms) return
    time[key, who] = ms
    prepared[key, who] = get("prepare_ms") + 0
    gflops[key, who] = get("gflops") + 0
    gather_share[key, who] = "gather_share" in at ? get("gather_share") : "" # rows of schema 1 have none
    bound_share[key, who] = "bound_share" in at ? get("bound_share") : ""
    tuning[key, who] = get("tuning")
    contender_of[key, who] = contender
    from[key, who] = provenance()
    is_known[who] = 1
}

function kind_of(dataset) {
    if (dataset ~ /^rnn\./) return "RNN"
    if (dataset ~ /^llm\./) return "language models"
    if (dataset ~ /^(transformer|rn50)\./ || dataset ~ /\.smtx$/) return "pruned layers"
    if (dataset ~ /^sweep-/) return "8192 x 2048"
    if (dataset ~ /^weights:/) return "generated weights"
    return "graphs"
}

# In ms; 0 where there is no right result. Whoever asks shows the number, so its row counts as used.
function time_of(key, who) {
    if (!((key, who) in time)) return 0
    use(from[key, who])
    return time[key, who]
}

# Compares `of` with `over` on all problems of a kind and width ("" for any); sets cases, geomean, least, most,
# where they are, and ahead. Returns the number of cases.
function compare(of, over, of_kind, of_width,    i, key, ratio, logs) {
    cases = ahead = logs = 0
    for (i = 1; i <= num_problems; i++) {
        key = problems[i]
        if (of_kind != "" && kind[key] != of_kind || of_width != "" && columns[key] != of_width) continue
        if (!((key, of) in time) || !((key, over) in time)) continue
        ratio = time_of(key, over) / time_of(key, of)
        logs += log(ratio)
        ahead += ratio > 1
        if (!cases++ || ratio < least) { least = ratio; least_at = key }
        if (cases == 1 || ratio > most) { most = ratio; most_at = key }
    }
    geomean = cases ? exp(logs / cases) : 0
    return cases
}

# The contender behind a time of `dense` or `tf32`, as short as it is plain here: SGEMM column-major B.
function dense_name(key, who,    name) {
    name = contender_of[key, who]
    sub(/^cuBLAS */, "", name)
    sub(/ *\(dense\)$/, "", name)
    return name
}

# A ratio of times, and who is behind where it is below 1.
function show_ratio(ratio) { return sprintf(ratio < 0.1 ? "%.4f" : "%.2f", ratio) (ratio < 1 ? " (behind)" : "") }

# A contender as a heading: lab10 is lab 10.
function heading(who) {
    sub(/^lab/, "lab ", who)
    return who
}

function us(ms) { return ms ? sprintf(ms < 0.1 ? "%.1f" : "%.0f", 1000 * ms) : "-" }

function problem(key) { return may_break(matrix[key]) ", " width_name[key] " = " columns[key] }

# Long names of files may go on in the next line after each "_": a zero-width space says so.
function may_break(name) {
    if (length(name) > 40) gsub(/_/, "_\\&#8203;", name)
    return name
}
