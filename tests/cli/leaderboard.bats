# The leaderboard, of made-up rows: who wins, who stands where, and what may not be compared.

# bats sets $stderr:
# shellcheck disable=SC2154

bats_require_minimum_version 1.5.0

setup() {
    cd "$BATS_TEST_DIRNAME/../.." || return
    rows=$BATS_TEST_TMPDIR/rows.csv
    rivals=$BATS_TEST_TMPDIR/rivals
    mkdir "$rivals"
    cat >"$rows" <<'END'
lab,contender,precision,dataset,origin,N,device,flags,l2,median_ms,status
1,one,fp32,a,real,32,GPU,,warm,4,ok
2,two,fp32,a,real,32,GPU,,warm,2,ok
,cuSPARSE X,fp32,a,real,32,GPU,,warm,3,ok
1,one,fp32,b,"stand-in, made",256,GPU,,warm,8,ok
2,two,fp32,b,"stand-in, made",256,GPU,,warm,,wrong
,cuSPARSE X,fp32,b,"stand-in, made",256,GPU,,warm,4,ok
2,two,fp32,a,real,32,GPU,,cold,0.5,ok
2,two,fp16,a,real,32,GPU,,warm,0.5,ok
2,two,fp32,a,real,32,GPU,--set D=1,warm,0.5,ok
,cuBLAS SGEMM (dense),fp32,a,real,32,GPU,,warm,0.5,ok
END
}

# board: the leaderboard of the rows and of all rivals.
board() { scripts/rows leaderboard "$rows" "$rivals"/*.csv; }

@test "the fastest of each case, and the standings" {
    run -0 scripts/rows leaderboard "$rows"
    [[ $output == *"| a (real) | lab 2 | lab 2 2.000 | X 3.000 | - | 1.50 |"* ]]
    [[ $output == *"| b (stand-in, made) | cuSPARSE X | lab 1 8.000 | X 4.000 | - | 0.50 |"* ]]
    # Ratios of the first: 2/3 and 1, whose geometric mean is 0.816; 2/4 and 4/8; 1 in one case only.
    [[ $output == *"| 1 | cuSPARSE X | 2 | 1 | 81.6 % |"* ]]
    [[ $output == *"| 2 | lab 1 | 2 | 0 | 50.0 % |"* ]]
    [[ $output == *"| 3 | lab 2 | 1 | 1 | 100.0 % |"* ]]
    [[ $output != *cuBLAS* ]]
}

@test "a rival from a folder takes its place" {
    printf 'N,median_ms,contender,dataset,device\n32,1,"Fast, very",a,GPU\n256,16,"Fast, very",b,GPU\n' \
        >"$rivals/fast.csv"
    printf 'N,median_ms,contender,dataset,device\n64,1,elsewhere,a,GPU\n' >"$rivals/other.csv"
    run -0 board
    [[ $output == *"| a (real) | Fast, very | lab 2 2.000 | X 3.000 | Fast, very 1.000 | 0.50 |"* ]]
    [[ $output == *"| 1 | cuSPARSE X | 2 | 1 | 57.7 % |"* ]]
    [[ $output == *"| 2 | Fast, very | 2 | 1 | 50.0 % |"* ]]
    [[ $output != *elsewhere* ]]
}

@test "without rows of others it says that only the vendor is on it" {
    alone="Beside the labs only the vendor's library is on it: there are no rows of other rivals yet"
    run -0 scripts/rows leaderboard "$rows"
    [[ $output == *"$alone"* ]]
    # A rival without a right time of these cases is not on it either.
    printf 'N,median_ms,contender,dataset,device,status\n64,1,elsewhere,a,GPU,ok\n32,1,bad,a,GPU,wrong\n' >"$rivals/none.csv"
    run -0 board
    [[ $output == *"$alone"* ]]
    printf 'N,median_ms,contender,dataset,device\n32,9,slow,a,GPU\n' >"$rivals/slow.csv"
    run -0 board
    [[ $output != *"is on it"* && $output == *"| slow |"* ]]
    sed -i /cuSPARSE/d "$rows"
    run -0 scripts/rows leaderboard "$rows"
    [[ $output == *"Only the labs are on it: there are no rows of other rivals yet"* ]]
}

@test "what was measured elsewhere, of other data, or without a time's column is refused" {
    printf 'contender,dataset,N,device,median_ms\nfar,a,32,TPU,1\n' >"$rivals/far.csv"
    run -3 --separate-stderr board
    [[ $stderr == *"far.csv:2: measured on TPU, the others on GPU"* && -z $output ]]
    printf 'contender,dataset,origin,N,device,median_ms\nfar,a,stand-in,32,GPU,1\n' >"$rivals/far.csv"
    run -3 --separate-stderr board
    [[ $stderr == *"far.csv:2: other data than in the first file: stand-in"* ]]
    printf 'contender,dataset,N,device\nfar,a,32,GPU\n' >"$rivals/far.csv"
    run -3 --separate-stderr board
    [[ $stderr == *"far.csv: no column median_ms"* ]]
    run -3 --separate-stderr scripts/rows leaderboard "$BATS_TEST_TMPDIR/none.csv"
    [[ $stderr == *"no such rows"* ]]
}
