# resources-table.awk - see resources-table. Needs csv.awk, machine.awk and sorted.awk; columns are found by name.
#
# ncu says what the throughput of computing and of memory are made of, metric by metric. Some metrics are two views
# of one resource: it is as full as the fuller of them, and counts once.

BEGIN {
    FULLEST = 3
    MEMORY = "memory"
    WORK = "instructions"

    # From the chips to an SM. What the chips' bus is busy with, what it carries, and the same bytes as L2 takes them in.
    resource(MEMORY, "memory", "dram__cycles_active fbpa__dram_sectors lts__d_sectors_fill_device")
    # The same, of what lies in the host's memory.
    resource(MEMORY, "the host's memory", "lts__d_sectors_fill_sysmem")
    # L2 looks up tags: requests of up to four sectors, and the sectors.
    resource(MEMORY, "L2's lookups", "lts__t_sectors lts__t_tag_requests")
    # Sectors in and out of L2's own memory, those that it takes in among them.
    resource(MEMORY, "L2's data", "lts__d_sectors")
    # Atomics that L2 does, and compressed data that it unpacks.
    resource(MEMORY, "L2's atomics", "lts__d_atomic_input_cycles_active")
    resource(MEMORY, "L2's decompression", "lts__d_decomp_input_sectors")
    # The crossbar's four ports: L2's and the SM's are as many as there are slices and SMs, so one way may be full at one end.
    resource(MEMORY, "L2 to the crossbar", "lts__lts2xbar_cycles_active")
    resource(MEMORY, "the crossbar to L2", "lts__xbar2lts_cycles_active")
    resource(MEMORY, "the crossbar to L1", "l1tex__m_xbar2l1tex_read_sectors")
    resource(MEMORY, "L1 to the crossbar", "l1tex__m_l1tex2xbar_req_cycles_active")
    # Reads of SMs of a cluster from each other.
    resource(MEMORY, "other SMs' shared memory", "l1tex__m_xbar2l1tex_read_sectors_mem_dshared")
    # L1 and shared memory are one memory: a wavefront is what it serves in a cycle, and loads write back what it brought.
    resource(MEMORY, "L1/shared memory's data pipe (wavefronts)", "l1tex__data_pipe_lsu_wavefronts l1tex__lsu_writeback_active")
    # Its banks, by what is read and written of them.
    resource(MEMORY, "L1/shared memory's banks", "l1tex__data_bank_reads l1tex__data_bank_writes")
    # Textures have a way of their own through L1.
    resource(MEMORY, "textures", "l1tex__data_pipe_tex_wavefronts l1tex__tex_writeback_active l1tex__texin_sm2tex_req_cycles_active l1tex__tmain_requests l1tex__f_wavefronts sm__inst_executed_pipe_tex")

    # Within an SM. Instructions that the schedulers issue, and those that were carried out.
    resource(WORK, "issue slots", "sm__issue_active sm__inst_executed")
    # Loads and stores as instructions, and as L1 takes them in.
    resource(WORK, "load and store instructions", "sm__inst_executed_pipe_lsu l1tex__lsuin_requests")
    # Whatever goes to L1, shared memory, branches or constants waits in one queue, is fetched its registers, and answers.
    resource(WORK, "the queue to L1 and branches (MIO)", "sm__mio_inst_issued sm__mio_pq_read_cycles_active sm__mio_pq_write_cycles_active")
    resource(WORK, "what comes back from there (MIO)", "sm__mio2rf_writeback_active")
    # Integers, bits, comparisons, selections.
    resource(WORK, "integers and logic (ALU)", "sm__pipe_alu_cycles_active")
    # Multiply-add in fp32, and, in the heavier half of that pipe, of integers.
    resource(WORK, "multiply-add (FMA)", "sm__pipe_fma_cycles_active sm__pipe_fmaheavy_cycles_active")
    resource(WORK, "fp64", "sm__pipe_fp64_cycles_active")
    # By any of their types; "shared" is what they have in common with fp64.
    resource(WORK, "tensor cores", "sm__pipe_tensor_cycles_active sm__pipe_tensor_op_dmma_cycles_active sm__pipe_tensor_type_hmma_hgmma_qgmma_imma_igmma_bmma_bgmma_cycles_active sm__pipe_shared_cycles_active")
    # Bulk copies.
    resource(WORK, "bulk copies (TMA)", "sm__pipe_tma_cycles_active")
    # Conversions, counting bits, roots and the like.
    resource(WORK, "conversions and special functions (XU)", "sm__inst_executed_pipe_xu")
    # Work that a warp does once for all its lanes.
    resource(WORK, "the uniform pipe", "sm__inst_executed_pipe_uniform")
    # Branches and barriers; addresses of both, and of constants; constants by a computed address.
    resource(WORK, "branches (CBU)", "sm__inst_executed_pipe_cbu_pred_on_any")
    resource(WORK, "addresses of branches (ADU)", "sm__inst_executed_pipe_adu")
    resource(WORK, "constants by address (IDC)", "idc__request_cycles_active")
    # Interpolation, of graphics.
    resource(WORK, "interpolation", "sm__inst_executed_pipe_ipa")
}

function resource(on, words, metrics,    n, i, list) {
    n = split(metrics, list, " ")
    for (i = 1; i <= n; i++) words_of[list[i]] = words
    side[words] = on
}

FNR == 1 { csv_columns($0, column); next }
"metric" in column {
    csv_split($0, cell)
    if (!one_machine(cell, column, "resources-table")) {
        failed = 3
        exit
    }
    commits[cell[column["commit"]]] = 1
    key = cell[column["dataset"]] SUBSEP cell[column["origin"]] SUBSEP cell[column["N"]] SUBSEP cell[column["kernel"]]
    if (!(key in is_case)) cases[++num_cases] = key
    is_case[key] = 1
    metric = cell[column["metric"]]
    if (cell[column["value"]] ~ /^[0-9]/) value[key, metric] = cell[column["value"]]

    # A resource. Metrics named ...throughput are the most of several; what is behind ...internal_activity ncu does not say.
    if (!sub(/\.avg\.pct_of_peak_sustained_elapsed$/, "", metric) || metric ~ /(throughput|internal_activity)$/) next
    if (!(metric in words_of)) resource(metric ~ /^(sm|idc)__/ ? WORK : MEMORY, metric, metric) # of another GPU
    words = words_of[metric]
    if (!(words in is_resource)) resources[++num_resources] = words
    is_resource[words] = 1
    if (cell[column["value"]] + 0 > full[key, words]) full[key, words] = cell[column["value"]] + 0
}

# The fullest resources of a case, on one side or on any ("").
function fullest(key, count, on,    i, k, most, text, told) {
    for (k = 1; k <= count; k++) {
        most = 0
        for (i = 1; i <= num_resources; i++) {
            if (i in told || on != "" && side[resources[i]] != on) continue
            if (full[key, resources[i]] > (most ? full[key, resources[most]] : 0)) most = i
        }
        if (!most) break
        told[most] = 1
        text = text (k > 1 ? "; " : "") sprintf("%s %.0f %%", resources[most], full[key, resources[most]])
    }
    return text == "" ? "-" : text
}

# A number of a case, in a unit.
function show(key, metric, format, unit) {
    return (key, metric) in value ? sprintf(format, value[key, metric] / unit) : "-"
}

function bandwidth(key,    ns) {
    ns = value[key, "gpu__time_duration.sum"]
    return ns > 0 ? show(key, "dram__bytes.sum", "%.0f", ns) : "-"
}

END {
    if (!failed && !num_cases) {
        print "resources-table: no rows of ncu; make resources measures them" > "/dev/stderr"
        failed = 3
    }
    if (failed) exit failed
    printf "%s, commit %s. One launch of the kernel, as ncu has it:\n\n", table_machine, sorted(commits, "`")
    print "| matrix | N | kernel | us | the fullest of all resources | the fullest of instructions | memory, GB/s | hits in L2 | in L1 | warps |"
    print "|---|---:|---|---:|---|---|---:|---:|---:|---:|"
    for (k = 1; k <= num_cases; k++) {
        key = cases[k]
        split(key, part, SUBSEP)
        sub(/^[a-z0-9]+_/, "", part[4]) # the operation
        sub(/_kernel/, "", part[4])
        printf "| %s (%s) | %s | `%s` | %s | %s | %s | %s | %s | %s | %s |\n", part[1], part[2], part[3], part[4],
            show(key, "gpu__time_duration.sum", "%.1f", 1000), fullest(key, FULLEST, ""), fullest(key, 1, WORK),
            bandwidth(key), show(key, "lts__t_sector_hit_rate.pct", "%.0f %%", 1),
            show(key, "l1tex__t_sector_hit_rate.pct", "%.0f %%", 1),
            show(key, "sm__warps_active.avg.pct_of_peak_sustained_active", "%.0f %%", 1)
    }
}
