# Graphs beyond 2^31 nonzeros as a user meets them. The limits are made small by SPMM_TEST_RANGE_NONZEROS and
# SPMM_TEST_CHECKED_ELEMENTS (common/matrix/test_limit.h); what is refused before it is made needs no small limit.
#
# bats sets $stderr, and runs each test in a process of its own:
# shellcheck disable=SC2030,SC2031,SC2154

bats_require_minimum_version 1.5.0

setup() {
    ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
    case ${OUT:=build/simt} in
        /*) PROGRAMS=$OUT ;;
        *) PROGRAMS=$ROOT/$OUT ;;
    esac
    [ -x "$PROGRAMS/lab11" ] || skip "$PROGRAMS/lab11 is not built"
    cd "$BATS_TEST_TMPDIR" || return
    ln -s "$PROGRAMS/lab11" .
    unset SPMM_DATA_DIR
    export XDG_CACHE_HOME=$BATS_TEST_TMPDIR/cache
    graph=powerlaw:rows=3000,nnz=24000,longest=400
}

# fails STATUS TEXT COMMAND...: the command ends with that status and one line that holds the text.
fails() {
    local expected=$1 text=$2
    shift 2
    run --separate-stderr "$@"
    [ "$status" -eq "$expected" ]
    [ -z "$output" ]
    [ "$(wc -l <<<"$stderr")" -eq 1 ]
    [[ $stderr == *"$text"* ]]
}

@test "A in ranges: the same command, and the same results to the bit where sums do not cross rows" {
    ./lab11 "$graph" 32 --check-only --precision fp32 --json whole.json >whole.txt
    SPMM_TEST_RANGE_NONZEROS=8000 ./lab11 "$graph" 32 --check-only --precision fp32 --json cut.json >cut.txt
    grep -q 'PASS: .* right in all 96000 elements' whole.txt
    grep -q 'PASS: .* right in all 96000 elements' cut.txt
    run ! grep 'ranges of rows' whole.txt
    grep -qE 'A in [34] ranges of rows, one after the other, from rows 0, [0-9]+, [0-9]+' cut.txt
    [ "$(jq '[.rows[].ranges] | unique | .[]' whole.json)" -eq 1 ]
    [ "$(jq '[.rows[].ranges] | unique | .[]' cut.json)" -ge 3 ]
    [ "$(jq '[.rows[].checked_share] | unique | .[]' cut.json)" -eq 1 ]
    worst='.rows[] | select(.lab == 1 or .lab == 2 or .lab == 3) | .worst_error'
    [ "$(jq "$worst" whole.json)" = "$(jq "$worst" cut.json)" ]
}

@test "a sample of rows is never called all" {
    export SPMM_TEST_CHECKED_ELEMENTS=8000 SPMM_TEST_RANGE_NONZEROS=9000
    run -0 --separate-stderr ./lab11 "$graph" 32 --check-only --precision fp32
    [[ $output == *"right in a sample of rows, "*" of 96000 elements"* ]]
    [[ $output != *"in all"* ]]
    ./lab11 "$graph" 32 --check-only --precision fp32 --json sample.json >/dev/null
    share=$(jq '[.rows[].checked_share] | max' sample.json)
    awk -v share="$share" 'BEGIN { exit !(share > 0.06 && share < 0.13) }'
    first=$output
    run -0 --separate-stderr ./lab11 "$graph" 32 --check-only --precision fp32
    [ "$(tail -n 2 <<<"$output")" = "$(tail -n 2 <<<"$first")" ] # the seed is fixed
}

@test "what no range takes: one line, exit status 5" {
    export SPMM_TEST_RANGE_NONZEROS=399
    fails 5 "row " ./lab11 "$graph" 32 --check-only --precision fp32
    [[ $stderr == *"has 400 nonzeros: the 32-bit offsets of kernels take at most 399 in a range of rows"* ]]
    SPMM_TEST_RANGE_NONZEROS=1000
    fails 5 "24000 nonzeros need more than 8 row ranges of at most 1000" \
        ./lab11 "$graph" 32 --check-only --precision fp32
}

@test "what does not fit is refused before it is made, with the number of devices" {
    fails 5 "papers100M.both: the operands take " ./lab11 papers100M.both 100000 --precision fp32
    [[ $stderr == *"GB are free; no number of such devices holds 44423.98 GB on each; try a smaller N" ]]
    printf 'tall\ttoys\t2000000000\t100\t1000000000000\tpowerlaw:rows=4\n' >registry.tsv
    SPMM_REGISTRY=$PWD/registry.tsv fails 5 "tall: the operands take 8264.00 GB of device memory and " \
        ./lab11 tall 32 --precision fp32
    [[ $stderr =~ " and "([0-9.]+)" GB are free; "([0-9]+)" such devices would hold them, or try a smaller N"$ ]]
    free=${BASH_REMATCH[1]} devices=${BASH_REMATCH[2]}
    awk -v free="$free" -v devices="$devices" 'BEGIN { need = 8264 / free
        exit !(devices >= 0.99 * need && devices <= 1.01 * need + 1) }'
}

@test "files whose headers promise billions of nonzeros are refused by their length" {
    printf '%%%%MatrixMarket matrix coordinate pattern general\n5 5 4000000000\n1 1\n' >billions.mtx
    printf '3, 3, 4000000000\n0 1 2 3\n0 1 2\n' >billions.smtx
    # 2 x 2, 3,000,000,000 nonzeros = 0xb2d05e00, no values
    {
        printf 'SPMMCSR\001'
        printf '\002\000\000\000\000\000\000\000\002\000\000\000\000\000\000\000'
        printf '\000\136\320\262\000\000\000\000'
        head -c 40 /dev/zero
        head -c 24 /dev/zero
    } >billions.csr
    for file in billions.*; do
        fails 3 "$file" ./lab11 "$file" 32 --check-only
    done
}
