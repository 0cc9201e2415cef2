# `make bench`: plans, what is kept, what happens when a run fails or is stopped. The labs of these tests
# are a script that writes rows of its own.

# bats sets $stderr, and runs each test in a process of its own:
# shellcheck disable=SC2030,SC2031,SC2154

bats_require_minimum_version 1.5.0

setup() {
    ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
    cd "$BATS_TEST_TMPDIR" || return
    unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES BACKEND RETRY LIMIT ONLY CUDA_VISIBLE_DEVICES
    export RESULTS=report/results COMMIT=abc
    rows=report/results/fake_1
    mkdir programs
    # A lab whose dataset says what becomes of it; the datasets of its sets stand below.
    cat >programs/lab1 <<'END'
#!/bin/sh
if [ "$1" = --version ]; then
    printf 'lab1, commit %s, backend cuda\n' "$COMMIT"
    [ -n "$NO_DEVICE" ] && echo 'no device: none at all' && exit
    printf 'device: NVIDIA Fake 1\ndriver: 5.0\ntoolkit: 13.0\nfolder: fake_1\n'
    exit
fi
dataset=$1 widths=$(echo "$2" | tr , ' ')
shift 2
case $* in *--runs*) flags=runs=5 ;; *) flags= ;; esac
columns=schema,operation,lab,contender,precision,dataset,origin,source,N,backend,commit,flags,seed,l2
cell() { echo "2,spmm,1,one,fp32,$1,real,\"made, here\",$2,cuda,$COMMIT,$flags,1,warm"; }
for last; do :; done
case $dataset in
set:pair) datasets="a b" ;;
set:mixed) datasets="a dies b" ;;
set:slow) datasets="dies sleeps later" ;;
set:gap) datasets="a gap" ;;
*) datasets=$dataset ;;
esac
if [ "$last" = --cells ]; then
    case $dataset in
    unknown) echo "lab1: unknown: no such dataset" >&2 && exit 3 ;;
    usage) echo "lab1: unknown option" >&2 && exit 2 ;;
    esac
    echo $columns,spec
    for d in $datasets; do for N in $widths; do echo "$(cell $d $N),$d"; done; done
    exit
fi
echo "$dataset" $widths >>runs
[ "$dataset" != many ] || { echo "lab1: more than 512 settings" >&2 && exit 2; }
[ "$dataset" != absent ] || { echo "lab1: absent: no such file" >&2 && exit 3; }
echo $columns,device,driver,toolkit,median_ms,status,message >new
for d in $datasets; do
    for N in $widths; do
        case $d.$N in
        dies.2) kill -9 $$ ;;
        sleeps.2) touch asleep && exec sleep 60 ;;
        gap.2) ;;
        full.2) echo "lab1: no room" >&2 && exit 5 ;;
        wrong.*) echo "$(cell $d $N),NVIDIA Fake 1,5.0,13.0,,wrong,never written" >>new && code=1 ;;
        *) echo "$(cell $d $N),NVIDIA Fake 1,5.0,13.0,${TIME:-1},ok," >>new ;;
        esac
        cp new "$last"
    done
done
exit ${code:-0}
END
    chmod +x programs/lab1
}

# plan LINE...: the plan of the test, one of these files.
plan() {
    printf '%s\n' "$@" >plan
}

bench() {
    "$ROOT/scripts/bench" plan programs
}

# start_bench: until the dataset that sleeps does. stop_bench: as one who stops it.
start_bench() {
    "$ROOT/scripts/bench" plan programs >log 2>&1 3>&- &
    bench=$!
    until [ -e asleep ]; do
        kill -0 "$bench"
        sleep 0.1
    done
}

stop_bench() {
    local ended=0
    kill -TERM "$bench"
    wait "$bench" || ended=$?
    [ "$ended" -eq 130 ]
    grep -q "interrupted; what is measured is in $rows" log
}

# cells FILE: dataset, N, commit, time, status and message of its rows.
cells() {
    awk -f "$ROOT/tests/csv.awk" -f - "$1" <<'AWK'
    FNR == 1 { csv_columns($0, at); next }
    {
        csv_split($0, c)
        print c[at["dataset"]], c[at["N"]], c[at["commit"]], c[at["median_ms"]], c[at["status"]], c[at["message"]]
    }
AWK
}

@test "rows go to the folder of the GPU, a file a purpose, and are kept the next time" {
    plan '# why' 'spmm-graphs.csv 10 lab1 set:pair 1,2' 'spmm-other.csv 2.5 lab1 a 1 --runs 5'
    run -0 --separate-stderr bench
    [[ $output == "bench: 5 cells done, 0 kept, 0 of them failed, in "*": $rows" ]]
    [ "${#stderr_lines[@]}" -eq 2 ] # a line a run, as this is no terminal
    [[ ${stderr_lines[0]} == "bench: 4/5 spmm-graphs.csv: lab1 set:pair 1,2"*", took "*" s of "*", about "*" left" ]]
    diff <(cells "$rows/spmm-graphs.csv") - <<'END'
a 1 abc 1 ok 
a 2 abc 1 ok 
b 1 abc 1 ok 
b 2 abc 1 ok 
END
    [ "$(cut -d, -f 13 "$rows/spmm-other.csv" | tail -n 1)" = runs=5 ]
    [ "$(cat runs)" = $'set:pair 1 2\na 1' ]
    run -0 bench
    [[ $output == *"0 cells done, 5 kept"* ]]
    plan 'spmm-graphs.csv 10 lab1 set:pair 1,2,3' 'spmm-graphs.csv 10 lab1 a 1 --runs 5'
    run -0 bench
    [ "$(tail -n 2 runs)" = $'set:pair 3\na 1' ] # other widths, and other flags
    [ "$(echo "$rows"/*)" = "$rows/spmm-graphs.csv $rows/spmm-other.csv" ]
}

@test "the datasets of a job are one run; where that fails, or some have rows, each is its own" {
    plan 'spmm-x.csv 9 lab1 set:mixed 1,2'
    run -4 --separate-stderr bench
    [[ $output == *"6 cells done, 0 kept, 1 of them failed"* ]]
    [ "$(cat runs)" = $'set:mixed 1 2\na 1 2\ndies 1 2\nb 1 2' ]
    diff <(cells "$rows/spmm-x.csv" | cut -d' ' -f 1-5) - <<'END'
a 1 abc 1 ok
a 2 abc 1 ok
dies 1 abc 1 ok
dies 2 abc  error
b 1 abc 1 ok
b 2 abc 1 ok
END
    plan 'spmm-x.csv 1 lab1 a 3' 'spmm-y.csv 1 lab1 b 1'
    run -0 bench
    rm runs
    plan 'spmm-x.csv 1 lab1 set:pair 3' 'spmm-y.csv 1 lab1 set:pair 1'
    run -0 bench
    [ "$(cat runs)" = $'b 3\na 1' ]
}

@test "where a run of all datasets ends well but lacks a cell, the others count as done" {
    plan 'spmm-x.csv 100 lab1 set:gap 1,2'
    run -4 --separate-stderr bench
    [[ $output == *"4 cells done, 0 kept, 1 of them failed"* ]]
    [[ ${stderr_lines[0]} == "bench: 4/4 spmm-x.csv: lab1 gap 2: wrote no row, "*" of 25, about 0 s left" ]]
    [ "$(cat runs)" = $'set:gap 1 2\ngap 2' ]
}

@test "another commit or GPU is measured again, in place of the rows before" {
    plan 'spmm-x.csv 1 lab1 set:pair 1'
    bench
    COMMIT=def TIME=2 bench
    [ "$(cells "$rows/spmm-x.csv")" = $'a 1 def 2 ok \nb 1 def 2 ok ' ]
    sed -i 's/NVIDIA Fake 1/NVIDIA Fake 0/' "$rows/spmm-x.csv"
    COMMIT=def run -0 bench
    [[ $output == *"2 cells done, 0 kept"* ]]
}

@test "what a run has not come back with is a row, and is run again with RETRY=1 alone" {
    plan 'spmm-x.csv 1 lab1 dies 1,2,3' 'spmm-x.csv 1 lab1 full 1,2' 'spmm-x.csv 1 lab1 a 1'
    run -4 --separate-stderr bench
    [[ $stderr == *"dies 1,2,3: ended with status 137 after "* ]]
    [[ $output == *"6 cells done, 0 kept, 2 of them failed"* ]]
    cells "$rows/spmm-x.csv" | grep -qx 'dies 2 abc  error ended with status 137 after [0-9]* s'
    cells "$rows/spmm-x.csv" | grep -qx 'full 2 abc  oom ended with status 5 after [0-9]* s: lab1: no room'
    [ "$(cells "$rows/spmm-x.csv" | grep -c ' ok $')" -eq 4 ] # the widths before and behind, and what follows
    grep -q 'dies.*,NVIDIA Fake 1,5.0,13.0,' "$rows/spmm-x.csv"
    rm runs
    run -0 bench
    [[ $output == *"0 cells done, 6 kept"* ]]
    [ ! -e runs ]
    sed -i 's/dies.2/never/' programs/lab1
    RETRY=1 run -5 bench
    [ "$(cat runs)" = $'dies 2\nfull 2' ]
    cells "$rows/spmm-x.csv" | grep -qx 'dies 2 abc 1 ok '
}

@test "a run that takes too long is stopped" {
    plan 'spmm-x.csv 1 lab1 sleeps 1,2'
    # A timeout(1) whose time is over when the run sleeps: on a loaded machine half a second may come before that.
    mkdir bin
    cat >bin/timeout <<'END'
#!/bin/sh
[ "$1 $2 $3" = "-k 10 0.5" ] || exit 1
shift 3
"$@" &
until [ -e asleep ]; do
    kill -0 $! 2>/dev/null || exit 1
    sleep 0.05
done
kill $!
exit 124
END
    chmod +x bin/timeout
    PATH=$PWD/bin:$PATH LIMIT=0.5 run -4 bench
    cells "$rows/spmm-x.csv" | grep -qx 'sleeps 1 abc 1 ok '
    cells "$rows/spmm-x.csv" | grep -qx 'sleeps 2 abc  error stopped after 0.5 s'
}

@test "another GPU measures for the same folder meanwhile, and waits while that is written" {
    plan 'spmm-x.csv 1 lab1 a 1' 'spmm-x.csv 1 lab1 sleeps 2' 'spmm-x.csv 1 lab1 b 1' 'spmm-x.csv 1 lab1 c 1'
    ONLY='a 1|sleeps' start_bench
    CUDA_VISIBLE_DEVICES=1 ONLY='b 1' run -0 bench
    exec 7<"$rows"
    flock 7
    CUDA_VISIBLE_DEVICES=1 ONLY='c 1' "$ROOT/scripts/bench" plan programs >waits 2>&1 3>&- 7>&- &
    until grep -q c runs; do sleep 0.1; done
    sleep 0.5
    run ! grep -q ',c,' "$rows/spmm-x.csv"
    flock -u 7
    wait $!
    stop_bench
    [ "$(cells "$rows/spmm-x.csv")" = $'a 1 abc 1 ok \nb 1 abc 1 ok \nc 1 abc 1 ok ' ]
}

@test "interrupted: what is measured stays, the rest is run the next time" {
    plan 'spmm-x.csv 1 lab1 a 1' 'spmm-x.csv 1 lab1 sleeps 1,2,3' 'spmm-x.csv 1 lab1 b 1'
    start_bench
    run -4 bench
    [[ $output == "bench: $rows: another bench is measuring" ]]
    stop_bench
    [ "$(cells "$rows/spmm-x.csv")" = $'a 1 abc 1 ok \nsleeps 1 abc 1 ok ' ]
    [ "$(echo "$rows"/*)" = "$rows/spmm-x.csv" ]
    sed -i 's/sleeps.2/never/' programs/lab1
    run -0 bench
    [ "$(tail -n 2 runs)" = $'sleeps 2 3\nb 1' ]
}

@test "interrupted where a job runs dataset by dataset: no other starts" {
    plan 'spmm-x.csv 1 lab1 set:slow 1,2' 'spmm-x.csv 1 lab1 a 1'
    start_bench
    stop_bench
    [ "$(cat runs)" = $'set:slow 1 2\ndies 1 2\nsleeps 1 2' ]
    [ "$(cells "$rows/spmm-x.csv" | cut -d' ' -f 1-5)" = $'dies 1 abc 1 ok\ndies 2 abc  error\nsleeps 1 abc 1 ok' ]
}

@test "a wrong result is a row without a time, and the exit code says so" {
    plan 'spmm-x.csv 1 lab1 wrong 1' 'spmm-x.csv 1 lab1 a 1'
    run -1 bench
    [ "$(cells "$rows/spmm-x.csv")" = $'wrong 1 abc  wrong never written\na 1 abc 1 ok ' ]
}

@test "where there is no data, there are no rows, and the others are measured" {
    plan 'spmm-x.csv 1 lab1 unknown 1' 'spmm-x.csv 1 lab1 absent 1' 'spmm-x.csv 1 lab1 a 1'
    run -3 --separate-stderr bench
    [[ $stderr == *"plan:1: left out: lab1: unknown: no such dataset"* ]]
    [[ $output == *"bench: 1 cells done,"*"of 2 lines or datasets there is no data here"* ]]
    [ "$(cells "$rows/spmm-x.csv")" = 'a 1 abc 1 ok ' ]
}

@test "rows of edited sources stay out of report/results, and are never kept" {
    plan 'spmm-x.csv 1 lab1 a 1'
    COMMIT=abc-dirty run -2 bench
    [[ $output == "bench: sources without a commit (abc-dirty): commit them, or measure elsewhere with RESULTS=build/results" ]]
    [ ! -e report ]
    COMMIT=abc-dirty RESULTS=elsewhere bench
    plan 'spmm-x.csv 1 lab1 set:pair 1'
    COMMIT=abc-dirty RESULTS=elsewhere run -0 bench
    [[ $output == *"2 cells done, 0 kept"* ]]
    [ "$(cat runs)" = $'a 1\nset:pair 1' ] # once, though there are rows of such a commit now
    [ -e elsewhere/fake_1/spmm-x.csv ]
}

@test "a dry run says what would be done, and does nothing" {
    plan 'spmm-x.csv 100 lab1 set:pair 1,2'
    plan_all=$(cat plan)
    plan 'spmm-x.csv 1 lab1 a 1'
    bench
    echo "$plan_all" >plan
    rm runs
    run -0 "$ROOT/scripts/bench" plan programs --dry-run
    [[ ${lines[0]} =~ ^" "+"1 to do "+"1 kept "+"25 s  spmm-x.csv "+"lab1 a 2 "*$ ]]
    [[ ${lines[1]} =~ ^" "+"2 to do "+"0 kept "+"50 s  spmm-x.csv "+"lab1 b 1,2 "*$ ]]
    [ "${lines[2]}" = "3 cells to do, 1 kept, about 75 s" ]
    [ ! -e runs ]
    NO_DEVICE=1 run -0 "$ROOT/scripts/bench" plan programs --dry-run
    [ "${lines[-1]}" = "4 cells to do, 0 kept, about 2 min" ]
}

@test "no GPU: one line, and 77" {
    plan 'spmm-x.csv 1 lab1 a 1'
    NO_DEVICE=1 run -77 bench
    [[ $output == "bench: needs a GPU (no device: none at all); "*"make report"* && ${#lines[@]} -eq 1 ]]
    BACKEND=simt run -77 bench
    [ "${#lines[@]}" -eq 1 ]
    [ ! -e report ]
}

@test "ONLY: the lines of the plan in which it is found" {
    plan 'spmm-x.csv 1 lab1 a 1' 'spmm-y.csv 1 lab1 b 1'
    export ONLY='^spmm-y'
    run -0 "$ROOT/scripts/bench" plan programs --dry-run
    [[ ${lines[0]} == *"spmm-y.csv"*"lab1 b 1"* ]]
    [[ $output != *spmm-x.csv* ]]
    ONLY=z
    run -2 bench
    [ "$output" = 'bench: plan: no job with "z" in it' ]
}

@test "plans that cannot be run: the line is named, and nothing is done" {
    local line
    for line in 'spmm-x.csv lab1 a 1' 'spmm-x.csv 0x lab1 a 1' '../x.csv 1 lab1 a 1' 'spmm-x.csv 1 lab1 a' 'spmm-x.csv 1 lab1 a 1,' \
        'spmm-x.csv 1 bench a 1'; do
        plan '# a comment' 'spmm-x.csv 1 lab1 a 1' "$line"
        run -2 bench
        [ "$output" = "bench: plan:3: expected FILE.csv SECONDS labK DATASET N,... [OPTION...]" ]
    done
    plan '# nothing'
    run -2 bench
    [ "$output" = "bench: plan: no jobs" ]
    plan 'spmm-x.csv 1 lab1 set:pair 1' 'spmm-x.csv 1 lab1 b 1,2'
    run -2 bench
    [ "$output" = "bench: plan:2: measures b at N = 1 for spmm-x.csv as line 1 does" ]
    plan 'spmm-x.csv 1 lab1 usage 1'
    run -2 bench
    [ "$output" = "bench: plan:1: lab1: unknown option" ]
    plan 'spmm-x.csv 1 lab2 a 1'
    run -2 bench
    [[ $output == "bench: plan:1: no program programs/lab2"* ]]
    [ ! -e runs ]
    plan 'spmm-x.csv 1 lab1 a 1' 'spmm-x.csv 1 lab1 many 1' # found out when it is its turn
    run -2 bench
    [ "${lines[-1]}" = "bench: plan:2: lab1: more than 512 settings" ]
    [ "$(cells "$rows/spmm-x.csv")" = 'a 1 abc 1 ok ' ]
    sed "s/\\\$COMMIT/older/" programs/lab1 >programs/lab2
    chmod +x programs/lab2
    plan 'spmm-x.csv 1 lab1 a 1' 'spmm-x.csv 1 lab2 b 1'
    run -2 bench
    [[ $output == "bench: programs of two commits, abc and older: build them again" ]]
    plan 'spmm-x.csv 1 lab1 a 1' 'sddmm.csv 1 lab1 b 1'
    run -2 bench
    [ "$output" = "bench: plan:2: sddmm.csv would hold rows of spmm: name it spmm.csv or spmm-PURPOSE.csv" ]
    run -2 "$ROOT/scripts/bench" fast programs
    [ "$output" = "bench: PLAN=fast: no such plan" ]
}

@test "the plans of the project are plans, quick is a part of full, and every file of rows is in one" {
    cd "$ROOT"
    scripts/rows plan report/plans/full >"$BATS_TEST_TMPDIR/full"
    # A line of quick may have a part of a set, as in set:rnn/1024.
    while IFS=$'\t' read -r _ file _ program words; do
        [ -n "$words" ]
        read -r whole options <<<"$words"
        until cut -f 2,4,5 "$BATS_TEST_TMPDIR/full" | grep -qxF "$file"$'\t'"$program"$'\t'"$whole $options"; do
            [[ $whole = */* ]]
            whole=${whole%/*}
        done
    done < <(scripts/rows plan report/plans/quick)
    for file in $(scripts/operations | sed 's,\([^ ]*\) .*,report/results/*/\1*.csv,'); do
        [ -e "$file" ] || continue # an operation without rows
        # Files of apps are named in their scripts.
        grep -qE "^(rows_of[a-z0-9_]* )?$(basename "$file") " report/plans/* apps/*/measure
    done
}

@test "the labs understand the plans of the project" {
    cd "$ROOT"
    programs=${OUT:-build/simt}
    [ -x "$programs/lab99" ] || skip "$programs/lab99 is not built"
    for plan in report/plans/*; do
        run -0 --separate-stderr scripts/bench "$plan" "$programs" --dry-run
        # Files left out are those that somebody has to put here.
        left_out=$(grep -v ': datasets/data/' <<<"$stderr" || true)
        [ -z "$left_out" ]
    done
}

@test "a file of something else is left alone" {
    plan 'spmm-x.csv 1 lab1 a 1'
    mkdir -p "$rows"
    echo 'name,grade' >"$rows/spmm-x.csv"
    run -2 bench
    [ "$output" = "bench: $rows/spmm-x.csv: no rows of this suite" ]
    [ "$(cat "$rows/spmm-x.csv")" = 'name,grade' ]
}

@test "merged rows: others keep their place and their text, columns go by name" {
    cat >old.csv <<'END'
schema,contender,dataset,N,precision,l2,seed,flags,tuning,median_ms,message
1,one,a,1,fp32,warm,1,sweep,D=1,5,"say ""no"", then"
1,one,b,1,fp32,warm,1,sweep,D=1,5,
1,one,b,1,fp32,warm,1,sweep,D=2,6,
1,two,b,1,fp32,warm,1,sweep,,7,
END
    cat >new.csv <<'END'
schema,dataset,contender,N,precision,l2,seed,flags,median_ms
1,c,one,1,fp32,warm,1,sweep,9
1,b,one,1,fp32,warm,1,sweep,8
END
    "$ROOT/scripts/merge-rows" old.csv new.csv
    diff old.csv - <<'END'
schema,contender,dataset,N,precision,l2,seed,flags,tuning,median_ms,message
1,one,a,1,fp32,warm,1,sweep,D=1,5,"say ""no"", then"
1,one,b,1,fp32,warm,1,sweep,,8,
1,two,b,1,fp32,warm,1,sweep,,7,
1,one,c,1,fp32,warm,1,sweep,,9,
END
    for bad in nonsense ''; do
        printf '%s' "$bad" >new.csv
        run -3 "$ROOT/scripts/merge-rows" old.csv new.csv
        [[ $output == "rows merge: new.csv: "*"no rows of this suite" ]]
        [ "$(wc -l <old.csv)" -eq 5 ]
        [ ! -e old.csv.new ]
    done
}

@test "a row of schema 1 beside rows of schema 2 becomes one of them, without a bound" {
    cat >old.csv <<'END'
schema,lab,contender,operation,dataset,N,precision,l2,seed,flags,median_ms,roofline_share
1,3,one,spmm,a,1,fp32,warm,1,,5,7.5
1,3,one,spmm,b,1,fp32,warm,1,,5,7.5
END
    cat >new.csv <<'END'
schema,operation,lab,contender,dataset,N,precision,l2,seed,flags,median_ms,bound_ms,bound_share,gather_share
2,spmm,3,one,b,1,fp32,warm,1,,4,2,0.5,1.5
END
    cat >both.csv <<'END'
schema,operation,lab,contender,dataset,N,precision,l2,seed,flags,median_ms,bound_ms,bound_share,gather_share
2,spmm,3,one,a,1,fp32,warm,1,,5,,,
2,spmm,3,one,b,1,fp32,warm,1,,4,2,0.5,1.5
END
    cp old.csv first.csv
    "$ROOT/scripts/merge-rows" first.csv new.csv
    diff first.csv both.csv
    "$ROOT/scripts/merge-rows" new.csv old.csv # rows of old programs
    diff new.csv - <<'END'
schema,operation,lab,contender,dataset,N,precision,l2,seed,flags,median_ms,bound_ms,bound_share,gather_share
2,spmm,3,one,b,1,fp32,warm,1,,5,,,
2,spmm,3,one,a,1,fp32,warm,1,,5,,,
END
}

@test "merged rows of two operations: those of the one never take the place of the other's" {
    header=schema,operation,contender,dataset,N,precision,l2,seed,flags,median_ms
    printf '%s\n' $header 2,spmm,one,a,32,fp32,warm,1,,5 >old.csv
    printf '%s\n' $header 2,sddmm,one,a,32,fp32,warm,1,,7 >new.csv
    "$ROOT/scripts/merge-rows" old.csv new.csv
    [ "$(cat old.csv)" = $header$'\n2,spmm,one,a,32,fp32,warm,1,,5\n2,sddmm,one,a,32,fp32,warm,1,,7' ]
}

@test "rows whose columns are not those of the file, which would lose cells, are not merged" {
    printf '%s\n' schema,contender,dataset,N,precision,l2,seed,flags,median_ms 1,one,a,1,fp32,warm,1,,5 >old.csv
    sed 's/median_ms/mean_ms/' old.csv >new.csv # as many
    cp old.csv before.csv
    run -3 "$ROOT/scripts/merge-rows" old.csv new.csv
    [ "$output" = "rows merge: new.csv: old.csv has no place for its column mean_ms" ]
    sed -i 's/mean_ms/mean_ms,status/; s/5$/5,ok/' new.csv # more
    run -3 "$ROOT/scripts/merge-rows" old.csv new.csv
    [ "$output" = "rows merge: old.csv: new.csv has no place for its column median_ms" ]
    cmp old.csv before.csv
    [ "$(echo old.csv*)" = old.csv ]
}
