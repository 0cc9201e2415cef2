# `make rivals` as far as it goes without PyTorch: the rows of a dry run, the suite's layouts in it, and what is refused.
# And the report's tables of made-up rows.

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

# rows FILE: a file of rows, of short lines on standard input: lab, contender, operation, dataset, rows, nnz, N, flags,
# time, vendor's best, device, status, message.
rows() {
    echo operation,lab,contender,precision,dataset,origin,rows,cols,nnz,N,device,driver,toolkit,commit,flags,tuning,l2,prepare_ms,median_ms,gflops,vendor_best,vendor_default,status,message >"$1"
    awk -F '|' -v OFS=, '{
        for (i = 1; i <= NF; i++) if ($i ~ /,/) $i = "\"" $i "\""
        print $3, $1, $2, "fp16", $4, "generated", $5, $5, $6, $7, $11, 580, "13.0", "abc", $8, "", "warm", "", $9, "", $10, $10, $12, $13
    }' >>"$1"
}

@test "rivals beside the labs: who is fastest, what is refused, what is missing" {
    a=blocks:in=512,block=64,density=1 b=blocks:in=512,block=64,density=0.5
    rows "$BATS_TEST_TMPDIR/labs.csv" <<END
52|one|bsmm|$a|8|64|64||0.04|cuSPARSE X|GPU|ok|
53|two|bsmm|$a|8|64|64||0.02|cuSPARSE X|GPU|ok|
0|cuSPARSE X|bsmm|$a|8|64|64||0.06|cuSPARSE X|GPU|ok|
0|cuBLAS GemmEx (dense)|bsmm|$a|8|64|64||0.01|cuSPARSE X|GPU|ok|
0|cuBLASLt (dense)|bsmm|$a|8|64|64||0.009|cuSPARSE X|GPU|ok|
52|one|bsmm|$b|8|32|64||0.03|cuSPARSE X|GPU|ok|
END
    rows "$BATS_TEST_TMPDIR/rivals.csv" <<END
0|P|bsmm|$a|8|64|64||0.05||GPU|ok|
0|T|bsmm|$a|8|64|64||0.03||GPU|ok|
0|S|bsmm|$a|8|64|64||||GPU|skip|not supported: blocks of 128 alone
0|M (dense)|bsmm|$a|8|64|64||0.008||GPU|ok|
0|P|bsmm|$b|8|32|64||0.015||GPU|ok|
0|T|bsmm|$b|8|32|64||||GPU|wrong|off
0|P|bsmm|$b|8|32|128||0.01||GPU|ok|
END
    run -0 scripts/rows table rivals precision=fp16 "$BATS_TEST_TMPDIR/labs.csv" "$BATS_TEST_TMPDIR/rivals.csv"
    # In us; the ratio is 0.03 over 0.02, and 0.015 over 0.03. N = 128 has no lab.
    diff - <(grep '^|' <<<"$output") <<END
| matrix | N | fastest lab, us (which) | cuBLAS, us (which) | cuSPARSE, us (which) | P, us | T, us | S, us | M (dense), us | lab over the fastest rival |
|---|---:|---|---|---|---:|---:|---:|---:|---:|
| $a (generated) | 64 | 20.0 (lab 53) | 9.0 (Lt) | 60.0 (X) | 50.0 | 30.0 | not supported | 8.0 | 1.50 |
| $b (generated) | 64 | 30.0 (lab 52) | - | - | 15.0 | wrong | - | - | 0.50 (behind) |
END
    sed -i 's/,GPU,/,another,/' "$BATS_TEST_TMPDIR/rivals.csv"
    run -3 scripts/rows table rivals precision=fp16 "$BATS_TEST_TMPDIR/labs.csv" "$BATS_TEST_TMPDIR/rivals.csv"
    [[ $output == *"rivals.csv:2: measured on another, the labs on GPU, driver 580, CUDA 13.0" ]]
    run -3 scripts/rows table rivals precision=fp16 "$BATS_TEST_TMPDIR/labs.csv"
    [[ $output == *"no rows of rivals on problems of the labs; make rivals measures them" ]]
}

@test "dense attention of rivals: the share up to which masks are faster" {
    rows "$BATS_TEST_TMPDIR/sweep.csv" <<END
0|cuBLAS dense|attention|mask:rows=3,band=3|3|6|8|HEADS=2|8||GPU|ok|
36|one|attention|mask:rows=3,band=1,share=0|3|3|8|HEADS=2|2||GPU|ok|
36|one|attention|mask:rows=3,band=2,share=0|3|6|8|HEADS=2|8||GPU|ok|
END
    rows "$BATS_TEST_TMPDIR/rivals.csv" <<END
0|flash|attention|mask:rows=3,band=3|3|6|8|HEADS=2|4||GPU|ok|
0|quick|attention|mask:rows=3,band=3|3|6|8|HEADS=2|1||GPU|ok|
0|other heads|attention|mask:rows=3,band=3|3|6|8|HEADS=4|4||GPU|ok|
END
    run -0 scripts/rows table transformer_rivals "$BATS_TEST_TMPDIR/sweep.csv" "$BATS_TEST_TMPDIR/rivals.csv"
    # Masks have 3 and 6 of 6 pairs. By logarithms 4 is half-way from 2 to 8, and 70.7 from 50 to 100.
    diff - <(grep '^|' <<<"$output") <<END
| dense attention | in | ms | a band alone, % |
|---|---|---:|---:|
| cuBLAS dense | fp16 | 8.000 | all |
| flash | fp16 | 4.000 | 70.7 |
| quick | fp16 | 1.000 | none |
END
}
