# scripts/compare, on rows made up for it: which rows are one case, what is noise, what is said of them.

# bats sets $stderr:
# shellcheck disable=SC2154

bats_require_minimum_version 1.5.0

setup() {
    cd "$BATS_TEST_DIRNAME/../.." || return
    old=$BATS_TEST_TMPDIR/old.csv new=$BATS_TEST_TMPDIR/new.csv
    header=lab,contender,precision,dataset,origin,N,l2,seed,flags,tuning,device,driver,toolkit,median_ms,iqr_ms,status
}

# rows FILE: lab, contender, dataset, N, flags, tuning, median, iqr and status in, rows out.
rows() {
    echo "$header" >"$1"
    while IFS=, read -r lab contender dataset N flags tuning median iqr status; do
        echo "$lab,$contender,fp32,$dataset,real,$N,warm,1,$flags,$tuning,GPU,5.0,13.0,$median,$iqr,$status"
    done >>"$1"
}

# says TEXT: a line of the output, blanks squeezed.
says() {
    tr -s ' ' <<<"$output" | sed 's/ $//' | grep -qxF -- "$1" || { echo "no line: $1"; echo "$output"; return 1; }
}

@test "faster and slower, beyond the noise and beyond 2 %" {
    rows "$old" <<'END'
1,one,a,32,,,10,0.1,ok
1,one,a,256,,,10,0.1,ok
1,one,b,32,,,10,3,ok
1,one,b,256,,,10,0,ok
2,two,a,32,,D=1,4,0.1,ok
0,vendor X,a,32,,,10,0,ok
END
    rows "$new" <<'END'
1,one,a,32,,,12,0.1,ok
1,one,a,256,,,8,0.1,ok
1,one,b,32,,,14.2,3,ok
1,one,b,256,,,10.15,0,ok
2,two,a,32,,D=2,2,0.1,ok
0,vendor X,a,32,,,10,0,ok
END
    run -0 scripts/compare "$old" "$new"
    says "spmm lab1 one a 32 fp32 10 12 0.833 slower"
    says "spmm lab1 one a 256 fp32 10 8 1.250 faster"
    says "spmm lab2 two a 32 fp32 4 2 2.000 faster" # the rule has chosen another setting: the same case
    [[ $output != *"one"*" b "* && $output != *"vendor X"* ]] # 4.2 is within 3 and 3, 1.5 % are nothing
    says "spmm lab1 4 rows: 2 same, 1 faster, 1 slower; old over new 0.922"
    says "spmm vendor 1 rows: 1 same; old over new 1.000"
    says "all 6 rows: 3 same, 2 faster, 1 slower, 0 status, 0 new, 0 gone"
    run -0 scripts/compare --all "$old" "$new"
    says "spmm lab1 one b 32 fp32 10 14.2 0.704 same"
    [ "$(grep -c ' lab1 one\| lab2 two\| vendor X' <<<"$output")" -eq 6 ]
    [[ $(sed -n 2p <<<"$output") == "spmm     lab1 one "*" 32 "* && $(sed -n 7p <<<"$output") == "spmm     vendor X"* ]]
    shuffled=$BATS_TEST_TMPDIR/shuffled.csv
    { echo "$header" && tail -n +2 "$new" | tac; } >"$shuffled"
    [ "$(scripts/compare --all "$old" "$shuffled")" = "$output" ]
}

@test "in a sweep each setting is a case; flags and the data's origin tell cases apart" {
    rows "$old" <<'END'
1,one,a,32,bench-only;sweep;C=1,D=1,10,0,ok
1,one,a,32,bench-only;sweep;C=1,D=2,10,0,ok
1,one,b,32,,,10,0,ok
1,one,c,32,,,10,0,ok
END
    rows "$new" <<'END'
1,one,a,32,bench-only;sweep;C=1,D=1,10,0,ok
1,one,a,32,bench-only;sweep;C=1,D=2,5,0,ok
1,one,b,32,runs=5,,10,0,ok
1,one,c,32,,,10,0,ok
END
    sed -i 's/c,real/c,stand-in/' "$new"
    run -0 scripts/compare "$old" "$new"
    says "spmm lab1 one a 32 fp32 10 5 2.000 faster [bench-only;sweep;C=1 D=2]"
    says "spmm lab1 one b 32 fp32 10 - - gone"
    says "spmm lab1 one b 32 fp32 - 10 - new [runs=5]"
    says "spmm lab1 one c 32 fp32 10 - - gone"
    says "spmm lab1 one c (stand-in) 32 fp32 - 10 - new"
    says "all 6 rows: 1 same, 1 faster, 0 slower, 0 status, 2 new, 2 gone"
}

@test "rows of another operation are other cases, and have counts of their own" {
    rows "$old" <<<'1,one,a,32,,,10,0,ok'
    { sed '1s/^/operation,/; 2s/^/spmm,/' "$old" && tail -n +2 "$old" | sed 's/^/sddmm,/; s/,10,0,/,7,0,/'; } >"$new"
    mv "$new" "$old"
    sed '/^sddmm/s/,7,/,14,/' "$old" >"$new"
    run -0 scripts/compare --all "$old" "$new"
    says "sddmm lab1 one a 32 fp32 7 14 0.500 slower"
    says "spmm lab1 one a 32 fp32 10 10 1.000 same"
    says "sddmm lab1 1 rows: 1 slower; old over new 0.500"
    says "spmm lab1 1 rows: 1 same; old over new 1.000"
}

@test "a result that is no longer right, or right again, is said; without a time there is no ratio" {
    rows "$old" <<'END'
1,one,a,32,,,10,0,ok
1,one,b,32,,,,,wrong
1,one,c,32,,,,,oom
END
    rows "$new" <<'END'
1,one,a,32,,,,,wrong
1,one,b,32,,,10,0,ok
1,one,c,32,,,,,oom
END
    run -0 scripts/compare "$old" "$new"
    says "spmm lab1 one a 32 fp32 10 - - ok -> wrong"
    says "spmm lab1 one b 32 fp32 - 10 - wrong -> ok"
    says "spmm lab1 3 rows: 1 same, 2 status"
}

@test "other machines are said, the same one is not" {
    rows "$old" <<<'1,one,a,32,,,10,0,ok'
    run -0 --separate-stderr scripts/compare "$old" "$old"
    [ -z "$stderr" ]
    sed 's/5\.0/6.0/' "$old" >"$new"
    run -0 --separate-stderr scripts/compare "$old" "$new"
    [ "$stderr" = "rows compare: other machines, GPU, driver 5.0, CUDA 13.0 and GPU, driver 6.0, CUDA 13.0: what differs need not be the code" ]
}

@test "2: usage; 3: no rows" {
    rows "$old" <<<'1,one,a,32,,,10,0,ok'
    run -2 scripts/compare "$old"
    [ "$output" = "rows compare: usage: rows compare [all=1] OLD.csv NEW.csv" ]
    run -3 scripts/compare "$old" "$BATS_TEST_TMPDIR/none.csv"
    [[ $output == "rows compare: "*"/none.csv: cannot be read" ]]
    echo 'name,grade' >"$new"
    run -3 --separate-stderr scripts/compare "$old" "$new"
    [[ $stderr == "rows compare: "*"/new.csv: no column lab: no rows of this suite" && -z $output ]]
    : >"$new"
    run -3 --separate-stderr scripts/compare "$old" "$new"
    [[ $stderr == *"an empty file"* && -z $output ]]
}
