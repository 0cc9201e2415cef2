# new-lab.awk - lab.cu of a new lab: awk -v op=sddmm -v width=K -v number=42 ... -f new-lab.awk common/ops/sddmm.h
#
# Reads in the operation's header what run and the kernel take: the plan's sparse operand, which is its first member,
# and the arrays that run is given. The width is a member of the plan under its own name. A sparse operand that is a
# pointer, as the layout of block-sparse products, lies on the host: kernels get no arrays of it.

/^typedef struct [a-z0-9_]+_plan \{/ { in_plan = 1; next }
/^\}/ { in_plan = 0 }
in_plan && !sparse {
    line = $0
    sub(/;.*/, "", line)
    on_host = line ~ /\*/
    sparse = line
    sub(/.*[ *]/, "", sparse)
    type = line
    sub(/^ */, "", type)
    sub(/ *\*?[a-zA-Z0-9_]*$/, "", type)
}

/cudaError_t \(\*run\)\(/ { in_run = 1 }
in_run {
    arguments = arguments " " $0
    if (/\);/) in_run = 0
}

END {
    gsub(/  +/, " ", arguments)
    sub(/.*\(\*run\)\(/, "", arguments)
    sub(/\);.*/, "", arguments)
    count = split(arguments, argument, ", *")
    if (!sparse || count < 3) {
        print "new-lab: " FILENAME ": no plan and no run in it" > "/dev/stderr"
        exit 2
    }
    for (i = 2; i < count; i++) { # between the plan and the stream
        name = argument[i]
        sub(/.*\*/, "", name)
        names = names ", " name
        voids = voids ", (void)" name
        taken = argument[i]
        sub(/\*/, "*__restrict__ ", taken)
        arrays = arrays ", " taken
    }
    if (on_host) {
        at = "plan->" sparse "->"
    } else {
        at = sparse "."
        pattern = ", const int *__restrict__ row_ptr, const int *__restrict__ col_idx, const float *__restrict__ values"
        pattern_voids = ", (void)row_ptr, (void)col_idx, (void)values"
        pattern_names = ", " at "d_row_ptr, " at "d_col_idx, " at "d_values"
    }
    print "/*"
    print " * Lab " number " - " title ": WHAT IT IS, in half a line."
    print " *"
    print " * Idea      WHAT IT DOES, in two or three lines."
    print " * Changed   WHAT IS NEW" (parent ? " since lab " parent : "") "."
    print " * Run       make lab" number " && ./lab" number " arxiv 32"
    print " * Watch     WHAT TO LOOK AT."
    print " */"
    print "#include \"device/warp.cuh\""
    print "#include \"ops/" op ".h\"\n"
    print "constexpr int WARPS = 4; /* a block; each works alone */\n"
    print "static __global__ void " op "_" words "_kernel(int rows, int " width pattern arrays ")"
    print "{"
    print "    const int warp = threadIdx.x / WARP_SIZE, lane = threadIdx.x % WARP_SIZE;"
    print "    const int row = blockIdx.x * WARPS + warp;"
    print "    if (row >= rows) return;"
    print "    /* BEGIN STUDENT: WHAT THE STUDENT WRITES, in one line */"
    print "    (void)lane, (void)" width pattern_voids voids ";"
    print "    /* END STUDENT */"
    print "}\n"
    print "static cudaError_t run(" arguments ")"
    print "{"
    if (!on_host) print "    const " type " &" sparse " = plan->" sparse ";"
    print "    if (" at "rows == 0) return cudaSuccess;"
    print "    const int blocks = (" at "rows + WARPS - 1) / WARPS;"
    print "    " op "_" words "_kernel<<<blocks, WARPS * WARP_SIZE, 0, stream>>>(" at "rows, plan->" width pattern_names names ");"
    print "    return cudaGetLastError();"
    print "}\n"
    print "static " op "_contender lab" number " = {"
    print "    .base = {.lab = " number ", .after = " parent ", .name = \"" words "\", .summary = \"WHAT IT ADDS, in half a line\"},"
    print "    .run = run,"
    print "};"
    print toupper(op) "_REGISTER(lab" number ")"
}
