# GPUs of other generations: the page's table is what the labs ask for, and the CPU backend has their limits.

# bats sets $output and $lines:
# shellcheck disable=SC2154

bats_require_minimum_version 1.5.0

setup() {
    ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
    cd "$ROOT" || return
    programs=${OUT:-build/simt}
}

need() {
    local program
    for program in "$@"; do
        if [ ! -x "$programs/$program" ]; then skip "$program is not built"; fi
    done
}

# number_of labs/05_split_rows/lab.cu: 5
number_of() {
    local number=${1#labs/}
    number=${number%%_*}
    echo "${number#0}"
}

@test "capability: the table of the page is what the labs ask for" {
    local lab needs
    for lab in labs/*/lab.cu; do
        needs=$(sed -n 's/.*\.min_compute_capability = .*\([0-9][0-9]*\)\([0-9]\),.*/\1.\2/p' "$lab" | sort -u)
        if [ -n "$needs" ]; then echo "$(number_of "$lab") $needs"; fi
    done | sort -n >"$BATS_TEST_TMPDIR/labs"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/labs")" -ge 11 ]
    sed -n 's/^| \([0-9]*\) | \([0-9]*\.[0-9]\) | .*/\1 \2/p' docs/where-to-run.md | diff - "$BATS_TEST_TMPDIR/labs"
}

@test "capability: a lab that needs a newer generation says so, and the rule takes another" {
    need lab20 lab53 lab99
    SIMT_CAPABILITY=80 run -77 "$programs/lab20" weights:rows=100,cols=100,sparsity=0.5 8 --check-only --vs none --precision fp16 \
        --set STEP=2
    [[ $output = *"needs a GPU of compute capability 9.0 or newer"* ]]
    SIMT_CAPABILITY=120 run -77 "$programs/lab53" blocks:in=128,block=64,density=0.5 64 --check-only --vs none --precision fp16
    [[ $output = *"9.0"* ]]
    SIMT_CAPABILITY=75 run -0 "$programs/lab99" weights:rows=600,cols=600,sparsity=0.9 64 --check-only --vs none
    [[ $output = *PASS* ]]
}

# Labs that ask for more shared memory than every kernel has.
@test "capability: kernels of much shared memory keep to the 99 KB of 8.6, 8.9 and 12.0" {
    need tests/kernels/matrix
    local lab number
    while read -r lab; do
        number=$(number_of "$lab")
        if grep -q '\.min_compute_capability = 90' "$lab"; then continue; fi
        SIMT_CAPABILITY=86 "$programs/tests/kernels/matrix" "$number" quick 1/12 >"$BATS_TEST_TMPDIR/tap" || {
            grep '^not ok' "$BATS_TEST_TMPDIR/tap"
            return 1
        }
        grep -q "^ok .* lab$number " "$BATS_TEST_TMPDIR/tap"
    done < <(grep -lE 'allow_(all_)?shared|MaxDynamicSharedMemorySize' labs/*/lab.cu)
}
