# new-lab.awk - lab.cu of a new lab: awk -v op=sddmm -v number=42 ... -f new-lab.awk common/ops/sddmm.h
#
# What run and the kernel take stands in the operation's header: the plan's sparse operand, which is its
# first member, its width, an int, and the arrays that run is given.

/^typedef struct [a-z0-9_]+_plan \{/ { in_plan = 1; next }
/^\}/ { in_plan = 0 }
in_plan && !sparse { sparse = member(); type = word[1] }
in_plan && !width && $1 == "int" && $2 !~ /\[/ { width = member() }

# The name of a member, "K" of "int K; /* ... */".
function member(    text) {
    text = $0
    sub(/;.*/, "", text)
    split(text, word, " ")
    return word[2]
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
    if (!sparse || !width || count < 3) {
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
    print "static __global__ void " op "_" words "_kernel(int rows, int " width ", const int *__restrict__ row_ptr,"
    print "    const int *__restrict__ col_idx, const float *__restrict__ values" arrays ")"
    print "{"
    print "    const int warp = threadIdx.x / WARP_SIZE, lane = threadIdx.x % WARP_SIZE;"
    print "    const int row = blockIdx.x * WARPS + warp;"
    print "    if (row >= rows) return;"
    print "    /* BEGIN STUDENT: WHAT THE STUDENT WRITES, in one line */"
    print "    (void)lane, (void)" width ", (void)row_ptr, (void)col_idx, (void)values" voids ";"
    print "    /* END STUDENT */"
    print "}\n"
    print "static cudaError_t run(" arguments ")"
    print "{"
    print "    const " type " &" sparse " = plan->" sparse ";"
    print "    if (" sparse ".rows == 0) return cudaSuccess;"
    print "    const int blocks = (" sparse ".rows + WARPS - 1) / WARPS;"
    print "    " op "_" words "_kernel<<<blocks, WARPS * WARP_SIZE, 0, stream>>>(" sparse ".rows, plan->" width ","
    print "        " sparse ".d_row_ptr, " sparse ".d_col_idx, " sparse ".d_values" names ");"
    print "    return cudaGetLastError();"
    print "}\n"
    print "static " op "_contender lab" number " = {"
    print "    .base = {.lab = " number ", .after = " parent ", .name = \"" words "\", .summary = \"WHAT IT ADDS, in half a line\"},"
    print "    .run = run,"
    print "};"
    print toupper(op) "_REGISTER(lab" number ")"
}
