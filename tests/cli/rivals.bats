# `make rivals` as far as it goes without PyTorch: the rows of a dry run, the suite's layouts in it, and what is refused.

# bats sets $stderr:
# shellcheck disable=SC2154

bats_require_minimum_version 1.5.0

setup() {
    cd "$BATS_TEST_DIRNAME/../.." || return
    programs=${OUT:-build/simt} results=$BATS_TEST_TMPDIR/rivals
    for program in convert lab1; do
        [ -x "$programs/$program" ] || skip "$program is not built"
    done
}

measure() { python3 report/rivals/measure.py --programs "$programs" --lab lab1 --results "$results" "$@"; }

# columns FILE: the names in its first line, a line each.
columns() { head -n 1 "$1" | tr , '\n'; }

@test "a dry run has a row for each rival and problem, and no time" {
    run -0 measure --dry-run --features 256 --sides 64,32 --densities 0.5,0.1 --widths 64
    [ "$(wc -l <"$results/bsmm-fp16.csv")" -eq 21 ] # 2 sides, 2 densities, 5 rivals
    [ "$(wc -l <"$results/attention.csv")" -eq 7 ]  # 2 sizes, 2 rivals in fp16 and 1 in fp32
    [ "$(grep -c ',skip,not measured: a dry run$' "$results/bsmm-fp16.csv")" -eq 20 ]
    # 4 x 4 blocks of 64, half of them; 8 x 8 of 32, a tenth: 6.4 of 64.
    grep -q '^2,bsmm,0,stk dds,fp16,"blocks:in=256,block=64,density=0.5",generated,.*,4,4,8,64,' "$results/bsmm-fp16.csv"
    grep -q '^2,bsmm,0,stk dds,fp16,"blocks:in=256,block=32,density=0.1",generated,.*,8,8,6,64,' "$results/bsmm-fp16.csv"
    [[ ${lines[-1]} == "$results/attention.csv: 6 rows, 0 with a right result" ]]
}

@test "its columns are some of a lab's, in their order" {
    run -0 measure --dry-run --features 256 --densities 0.5 --widths 64
    "$programs/lab1" datasets/samples/market.mtx 8 --vs none --csv "$BATS_TEST_TMPDIR/lab.csv" >/dev/null
    columns "$results/attention.csv" >"$BATS_TEST_TMPDIR/own"
    columns "$BATS_TEST_TMPDIR/lab.csv" | grep -Fxf "$BATS_TEST_TMPDIR/own" | diff - "$BATS_TEST_TMPDIR/own"
}

@test "the sparse transformer takes its rows" {
    app=$programs/apps/sparse_transformer/sparse_transformer
    [ -x "$app" ] || skip "apps/sparse_transformer is not built"
    run -0 measure --dry-run --features 256 --densities 0.5 --widths 64 --tokens 32
    sed -i '/SDPA flash.*HEADS=8/s/,warm,,,/,warm,,0.5,/' "$results/attention.csv"
    run -0 "$app" mask:rows=32 --sweep --heads 8 --hidden 1024 --rivals "$results/attention.csv"
    [[ $output == *"fp16"*"against PyTorch SDPA flash"* ]]
}

@test "refused: a GPU that is not here, programs, numbers, folders" {
    run -77 --separate-stderr measure
    [[ $stderr == "rivals: needs a GPU; $programs has programs for the CPU, or there is no GPU here" ]]
    programs=/nowhere run -2 --separate-stderr measure --dry-run
    [[ $stderr == "rivals: /nowhere/lab1 does not run "* ]]
    run -2 --separate-stderr measure --widths many
    [[ $stderr == *"argument --widths: invalid"* ]]
    results=/dev/null/none run -4 --separate-stderr measure --dry-run
    [[ $stderr == "rivals: "*"/dev/null"* ]]
}
