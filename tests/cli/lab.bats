# The labs' command line as a user meets it: tables, CSV and JSON, every exit code, every kind of
# error, where data comes from, colour. Texts of some length are compared with files in golden/;
# UPDATE_GOLDEN=1 bats tests/cli/lab.bats writes those anew.
#
# bats sets $stderr, and runs each test in a process of its own:
# shellcheck disable=SC2030,SC2031,SC2154

bats_require_minimum_version 1.5.0

TINY=rand:rows=8,deg=1 # one product an element: the same error in whatever order a lab adds

setup_file() {
    ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
    case ${OUT:=build/simt} in
        /*) PROGRAMS=$OUT ;;
        *) PROGRAMS=$ROOT/$OUT ;;
    esac
    export ROOT PROGRAMS BACKEND=${BACKEND:-simt}
    # The project's datasets, but without what this machine has downloaded.
    export SPMM_REGISTRY=$BATS_FILE_TMPDIR/datasets/registry.tsv
    mkdir "$BATS_FILE_TMPDIR/datasets"
    cp -r "$ROOT"/datasets/{registry.tsv,samples,standins} "$BATS_FILE_TMPDIR/datasets"
}

setup() {
    [ -x "$PROGRAMS/lab3" ] || skip "$PROGRAMS/lab3 is not built"
    mkdir "$BATS_TEST_TMPDIR/work" # bats writes beside it
    cd "$BATS_TEST_TMPDIR/work" || return
    ln -s "$PROGRAMS"/lab[1-5] "$PROGRAMS/tests/cli/faulty" .
    at_start=$(ls)
    export XDG_CACHE_HOME=$BATS_FILE_TMPDIR/cache
    unset SPMM_DATA_DIR NO_COLOR FAULT
    datasets=${SPMM_REGISTRY%/*}
}

# own_registry LINE...: name, rows, columns, nonzeros and stand-in, in place of the project's.
own_registry() {
    export SPMM_REGISTRY=$PWD/registry.tsv
    local name rows cols nnz stand_in
    while read -r name rows cols nnz stand_in; do
        printf '%s\ttoys\t%s\t%s\t%s\t%s\n' "$name" "$rows" "$cols" "$nnz" "$stand_in"
    done >registry.tsv
}

# A file that reads as "tiny" of the registry below: 3 x 3 with 2 nonzeros.
tiny_file() {
    printf '%%%%MatrixMarket matrix coordinate pattern general\n3 3 2\n1 2\n3 3\n' >"$1"
}

toys() {
    own_registry <<'END'
tiny 3 3 2 rand:rows=3,deg=0.667,empty=0.4
wide 2 5 4 weights:rows=2,cols=5,nnz=4
END
}

# succeeds COMMAND...: status 0 and nothing on standard error.
succeeds() {
    run --separate-stderr "$@"
    echo "status $status, stderr: $stderr"
    [ "$status" -eq 0 ]
    [ -z "$stderr" ]
}

# fails STATUS TEXT COMMAND...: one line on standard error, which begins with the program's name and
# holds TEXT; nothing on standard output.
fails() {
    local expected=$1 text=$2
    shift 2
    run --separate-stderr "$@"
    echo "status $status, stdout: $output, stderr: $stderr"
    [ "$status" -eq "$expected" ]
    [ -z "$output" ]
    [ "${#stderr_lines[@]}" -eq 1 ]
    [[ $stderr == "${1#./}: "* ]]
    [[ $stderr == *"$text"* ]]
}

# Hides what differs between builds, machines and days.
masked() {
    local version commit
    version=$(./lab1 --version)
    commit=${version#*commit }
    sed "s/${commit%%,*}/COMMIT/g; s|$datasets|DATASETS|g"
}

# matches_golden NAME: standard input is the text of golden/NAME.
matches_golden() {
    local golden=$BATS_TEST_DIRNAME/golden/$1
    cat >actual
    [ -z "${UPDATE_GOLDEN-}" ] || cp actual "$golden"
    diff "$golden" actual
}

simt_only() {
    [ "$BACKEND" = simt ] || skip "the text is of the CPU backend"
}

# The names of the files that a test, or a lab, has made here.
new_files() {
    comm -13 <(echo "$at_start") <(ls) | paste -s -d ' ' -
}

# ---- what is printed -----------------------------------------------------------------------------

@test "--help" {
    succeeds ./lab5 --help
    matches_golden help.txt <<<"$output"
    [ "$(./lab5 -h)" = "$output" ]
}

@test "--help of a program of one lab" {
    succeeds ./lab1 --help
    [[ $output == *"Runs lab 1 on a sparse matrix"* ]]
}

@test "--version" {
    succeeds ./lab2 --version
    [[ ${lines[0]} =~ ^"lab2, commit "[0-9a-z-]+", backend $BACKEND"$ ]] # of a GPU more lines follow
    [ "$BACKEND" = cuda ] || [ "${#lines[@]}" -eq 1 ]
}

@test "--cells: the rows of the last lab that a run writes, before it runs" {
    toys
    mkdir data
    tiny_file data/tiny.mtx
    succeeds ./lab3 set:toys 5,6 --data-dir data --seed 3 --vs none --csv rows.csv
    succeeds ./lab3 set:toys 5,6 --data-dir data --seed 3 --vs none --cells
    cat >columns.awk <<'AWK'
    FNR == 1 { csv_columns($0, at); next }
    {
        csv_split($0, cell)
        line = ""
        for (i = 1; i <= split("schema lab contender operation precision dataset origin N backend " \
            "commit flags seed l2", want, " "); i++) line = line "," cell[at[want[i]]]
        print line
    }
AWK
    diff <(awk -f "$ROOT/tests/csv.awk" -f columns.awk rows.csv) \
        <(awk -f "$ROOT/tests/csv.awk" -f columns.awk <<<"$output")
    [ "$(grep -c ',real,' <<<"$output")" -eq 2 ]
    ./lab3 set:toys 5 --cells --sweep --check-only --cold | grep -q ',check-only;sweep,1,cold,wide$'
    run -3 ./lab3 tiniy --cells
    [[ $output == *"lab3: tiniy: no such file or dataset; did you mean tiny?"* ]]
}

@test "--list names every lab, tunable, dataset, generator and format" {
    succeeds ./lab5 --list
    local folder n name
    for folder in "$ROOT"/labs/0[1-5]_*; do
        n=$(basename "$folder")
        name=${n#*_}
        n=${n%%_*}
        [[ $output =~ "  lab${n#0} "\ *"$name"\ +[^\ ] ]]
        [ "$(sed -nE "s/^  lab${n#0} .*\(after lab([0-9]+)\)$/\1/p" <<<"$output")" = "$("$ROOT/scripts/parent-of" "${n#0}")" ]
    done
    [ "$(grep -c '^  lab[0-9]' <<<"$output")" -eq 5 ]
    [[ $output =~ "        D = "[0-9] ]]
    while read -r name; do
        grep -qE "^  $name +[0-9]+ +[0-9]+ +[0-9]+  (stand-in|/)" <<<"$output"
    done < <(grep -v '^#' "$SPMM_REGISTRY" | cut -f 1)
    [[ $output == *"set:graphs"* && $output == *"rand:KEY=VALUE"* ]]
    [ "$(grep -c '^  mtx ' <<<"$output")" -eq 1 ]
}

@test "--list says which files are here" {
    toys
    mkdir mine
    tiny_file mine/tiny.mtx
    succeeds ./lab1 --list --data-dir mine
    grep -qE '^  tiny  +3  +3  +2  mine/tiny.mtx$' <<<"$output"
    grep -qE '^  wide  +2  +5  +4  stand-in$' <<<"$output"
    run --separate-stderr -3 ./lab1 --list --data-dir nowhere
    [ "$stderr" = "lab1: nowhere: no such folder (named by --data-dir)" ]
}

@test "the table of the bundled sample" {
    simt_only
    succeeds ./lab3
    # The order in which a lab adds decides the error's digits.
    masked <<<"$output" | sed 's/ 0\.[0-9][0-9][0-9] / E.EEE /' | matches_golden sample.txt
}

@test "the table, CSV and JSON of a tiny matrix" {
    simt_only
    succeeds ./lab3 "$TINY" 5
    matches_golden tiny.txt <<<"$output"
    succeeds ./lab3 "$TINY" 5 --csv -
    masked <<<"$output" | matches_golden tiny.csv
    succeeds ./lab3 "$TINY" 5 --json -
    masked <<<"$output" | matches_golden tiny.json
}

@test "the table of a wrong lab" {
    simt_only
    FAULT=wrong run --separate-stderr -1 ./faulty "$TINY" 5
    [ -z "$stderr" ]
    matches_golden wrong.txt <<<"$output"
}

@test "CSV and JSON have the same columns and the same rows" {
    succeeds ./lab2 "$TINY" 3,4 --csv rows.csv --json rows.json
    [ "$(jq -r '.schema' rows.json)" = 2 ]
    [ "schema,$(jq -r '.rows[0] | keys_unsorted | join(",")' rows.json)" = "$(head -n 1 rows.csv)" ]
    [ "$(jq '[.rows[] | keys_unsorted] | unique | length' rows.json)" -eq 1 ]
    local rows
    rows=$(jq '.rows | length' rows.json)
    [ "$rows" -ge 4 ]
    [ "$(wc -l <rows.csv)" -eq $((rows + 1)) ]
    # No cell of these rows holds a comma but the dataset's source, which is quoted.
    [ "$(jq -r '.rows[] | [.lab, .N, .status] | join(",")' rows.json)" = \
        "$(tail -n +2 rows.csv | sed 's/"[^"]*"//g' |
            awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i } NR > 1 {
                print $at["lab"] "," $at["N"] "," $at["status"] }' <(head -n 1 rows.csv) -)" ]
    [ "$(jq -c '[.rows[] | select(.lab > 0) | .N]' rows.json)" = "[3,3,4,4]" ]
    [ "$(jq -r '[.rows[] | .backend] | unique[]' rows.json)" = "$BACKEND" ]
}

@test "without a GPU no row has a time" {
    simt_only
    succeeds ./lab5 "$TINY" --json -
    [ "$(jq '[.rows[] | .median_ms, .prepare_ms, .gflops, .gather_gbs, .bound_ms, .gather_share,
        .speedup_vendor_best, .speedup_lab_before] | map(select(. != null)) | length' \
        <<<"$output")" -eq 0 ]
    [ "$(jq '[.rows[] | .worst_error] | map(select(. == null)) | length' <<<"$output")" -eq 0 ]
}

@test "any width, and several" {
    succeeds ./lab5 rand:rows=40,deg=6,skew=1 1,33,100
    [ "$(grep -c '^PASS: ' <<<"$output")" -eq 3 ]
    [[ $output == *"N = 1,"*"all 40 elements"*"N = 33,"*"all 1320 elements"*"N = 100,"* ]]
}

@test "a set is one table a member, and one file" {
    toys
    succeeds ./lab2 set:toys 2,3 --json rows.json --vs none
    [ "$(grep -c '^PASS: ' <<<"$output")" -eq 4 ]
    [ "$(jq -c '[.rows[] | [.dataset, .N]]' rows.json)" = \
        '[["tiny",2],["tiny",3],["wide",2],["wide",3]]' ]
}

@test "the options that change a run are in its rows" {
    succeeds ./lab4 "$TINY" --check-only --set D=2,C=1 --seed 5 --cold --json -
    [ "$(jq -c '.rows[] | select(.lab == 4) | [.flags, .tuning, .seed, .l2]' <<<"$output")" = \
        '["check-only;D=2;C=1","D=2 C=1",5,"cold"]' ]
    succeeds ./lab1 "$TINY" --bench-only --runs 2 --json -
    [ "$(jq -r '.rows[0].flags' <<<"$output")" = "bench-only;runs=2" ]
}

@test "--vs chooses who runs, --sweep repeats the last lab" {
    succeeds ./lab4 "$TINY" --vs none --json -
    [ "$(jq -c '[.rows[].lab]' <<<"$output")" = "[4]" ]
    succeeds ./lab4 "$TINY" --vs lab2 --json -
    [ "$(jq -c '[.rows[].lab]' <<<"$output")" = "[2,4]" ]
    succeeds ./lab4 "$TINY" --vs vendor --json -
    [ "$(jq -c '[.rows[].lab | numbers]' <<<"$output")" = "[4]" ]
    succeeds ./lab4 "$TINY" --vs none --sweep --set D=2 --check-only
    local values
    values=$(./lab4 --list | sed -n 's/^ *C = \([0-9 ]*[0-9]\) .*/\1/p')
    [ "$(grep -c '^lab4 tuning D=2 C=[0-9]* *PASS' <<<"$output")" -eq "$(wc -w <<<"$values")" ]
}

@test "a seed gives the same inputs every time, another seed others" {
    succeeds ./lab1 rand:rows=50 --vs none --json one.json --seed 3
    succeeds ./lab1 rand:rows=50 --vs none --json two.json --seed 3
    succeeds ./lab1 rand:rows=50 --vs none --json three.json --seed 4
    [ "$(jq .rows[].worst_error one.json)" = "$(jq .rows[].worst_error two.json)" ]
    [ "$(jq .rows[].worst_error one.json)" != "$(jq .rows[].worst_error three.json)" ]
}

# ---- where data comes from -----------------------------------------------------------------------

@test "a stand-in says so in the table, CSV and JSON" {
    succeeds ./lab1 rn50.g1 4 --csv rows.csv --json rows.json
    [[ ${lines[0]} == "rn50.g1: stand-in data (stand-in: weights:"* ]]
    [[ ${lines[1]} == "  A STAND-IN, not the real matrix: "*"(make data DATASET=rn50.g1)" ]]
    [[ $(sed -n 2p rows.csv) == *,rn50.g1,stand-in,\"stand-in:* ]]
    [ "$(jq -r '[.rows[].origin] | unique[]' rows.json)" = stand-in ]
}

@test "--data-dir, then SPMM_DATA_DIR, then data/ beside the registry, then a stand-in" {
    toys
    mkdir data theirs mine
    found() { ./lab1 tiny 2 --vs none --json - "$@" | jq -r '.rows[0] | .origin, .source'; }
    [[ $(found) == $'stand-in\nstand-in: rand:'* ]]
    tiny_file data/tiny.mtx
    [ "$(found)" = $'real\n'"$PWD/data/tiny.mtx" ]
    tiny_file theirs/tiny.mtx
    export SPMM_DATA_DIR=theirs
    [ "$(found)" = $'real\ntheirs/tiny.mtx' ]
    [ "$(found --data-dir mine)" = $'real\ntheirs/tiny.mtx' ]
    tiny_file mine/tiny.mtx
    [ "$(found --data-dir mine)" = $'real\nmine/tiny.mtx' ]
}

@test "a file by its path is a file, not the dataset of its name" {
    toys
    tiny_file tiny.mtx
    succeeds ./lab1 ./tiny.mtx 2
    [[ ${lines[0]} == "tiny.mtx: file data (./tiny.mtx)" ]]
}

@test "real arxiv" {
    local folder=${SPMM_SHARED_DATASETS:-$ROOT/../shared/datasets}/lab-format
    [ -e "$folder/arxiv.config" ] || skip "no lab-format/arxiv in \$SPMM_SHARED_DATASETS"
    SPMM_DATA_DIR=$folder succeeds ./lab3 arxiv 32 --json rows.json
    [[ ${lines[0]} == "arxiv: real data ("* ]]
    [[ ${lines[1]} == "  169343 x 169343, 1166243 nonzeros; "* ]]
    [[ $output == *$'\nPASS: '*" contenders right in all 5418976 elements"* ]]
    [ "$(jq -c '[.rows[] | [.origin, .rows, .nnz]] | unique' rows.json)" = \
        '[["real",169343,1166243]]' ]
}

@test "any working directory" {
    mkdir project project/datasets
    cp -r "$datasets"/{registry.tsv,samples} project/datasets
    cp "$PROGRAMS/lab1" project
    unset SPMM_REGISTRY
    local here=$PWD
    cd /
    succeeds "$here/project/lab1" # the bundled sample, beside the program
    [[ ${lines[0]} == "market.mtx: sample data ($here/project/datasets/samples/market.mtx)" ]]
    cd "$here/project/datasets"
    succeeds ../lab1 samples/market.mtx 3
    cp ../lab1 "$here/alone"
    run --separate-stderr -3 "$here/alone"
    [[ $stderr == "lab1: the bundled sample is not here (datasets/samples/market.mtx above "* ]]
}

# ---- exit codes and error lines ------------------------------------------------------------------

@test "1: a wrong result, which has no time and no PASS" {
    FAULT=wrong run --separate-stderr -1 ./faulty "$TINY" 5 --json rows.json
    [[ $output == *"FAIL: "* && $output != *"PASS: "* ]]
    [ "$(jq -c '.rows[] | select(.lab == 2) | [.status, .message, .median_ms]' rows.json)" = \
        '["wrong","never written: only the last row, 7",null]' ]
    [ "$(jq -r '.rows[] | select(.lab == 1) | .status' rows.json)" = ok ]
}

@test "1: also where other datasets and widths are right" {
    own_registry <<<'tiny 3 3 2 rand:rows=3,deg=0.667,empty=0.4'
    FAULT=wrong run --separate-stderr -1 ./faulty set:toys 5,6
    [ "$(grep -c '^FAIL: ' <<<"$output")" -eq 2 ]
}

@test "2: usage" {
    fails 2 "unknown option --chek; did you mean --check-only?" ./lab3 --chek
    fails 2 "unknown option -x (--help lists them)" ./lab3 arxiv -x
    fails 2 "--csv needs a value (--help shows which)" ./lab3 arxiv 32 --csv
    fails 2 "--cold takes no value (--help shows which do)" ./lab3 --cold=1
    fails 2 "N must be a whole number from 1 to 1048576" ./lab3 arxiv 0
    fails 2 "too many words: '64' (expected [DATASET [N]])" ./lab3 arxiv 32 64
    fails 2 "--runs x: expected 1 to 1000000" ./lab3 --runs x
    fails 2 "--vs lab9: this program does not hold that lab (--list)" ./lab3 --vs lab9
    fails 2 "--set D=3: choose one of 1, 2, 4" ./lab4 --set D=3
    fails 2 "--set: no tunable is called 'D' (--list shows them)" ./lab3 --set D=2
    fails 2 "--csv and --json cannot both go to -" ./lab3 --csv - --json -
    fails 2 "--tune measures, which --check-only forbids" ./lab4 --tune --check-only
    fails 2 "--device 1000: this machine has " ./lab3 --device 1000
}

@test "2: rows that would replace each other, or the data" {
    fails 2 "--csv and --json cannot both go to a.csv" ./lab3 --csv a.csv --json ./a.csv
    fails 2 "--csv and --json cannot both go to a.csv" ./lab3 --csv a.csv --json "$PWD/a.csv"
    [ ! -e a.csv ]
    tiny_file my.mtx
    cp my.mtx before
    fails 2 "./my.mtx is there and holds no rows of this suite: remove it, or choose another name" \
        ./lab3 my.mtx 3 --csv ./my.mtx
    fails 2 "my.mtx is there and holds no rows" ./lab3 "$TINY" 3 --json my.mtx
    cmp my.mtx before
    : >empty
    succeeds ./lab3 "$TINY" 3 --csv empty --json rows.json
    succeeds ./lab3 "$TINY" 3 --csv rows.json --json empty
    [ "$(jq '.rows | length' empty)" -eq 3 ]
}

@test "a sweep has a row for each setting that ran, once" {
    succeeds ./lab5 "$TINY" 33 --vs none --sweep --set D=1,SPLIT=64 --json rows.json
    [ "$(jq -r '.rows[].tuning' rows.json | sort | uniq -d | wc -l)" -eq 0 ]
    [ "$(jq '.rows | length' rows.json)" -eq 3 ] # C = 1 alone divides 33; LANES = 8, 16, 32
}

@test "2: two labs of one number" {
    FAULT=twin run --separate-stderr -2 ./faulty "$TINY"
    [ "$stderr" = "lab1: labs 'plain' and 'faulty' both say that they are lab 1" ]
}

@test "3: datasets" {
    fails 3 "arxvi: no such file or dataset; did you mean arxiv? (--list shows the names)" \
        ./lab3 arxvi
    fails 3 "32: no such file or dataset; DATASET comes first, then the width: arxiv 32" ./lab3 32
    fails 3 "set:graps: no such set; did you mean set:graphs?" ./lab3 set:graps
    fails 3 "nowhere: no such folder (named by --data-dir)" ./lab3 arxiv --data-dir nowhere
    SPMM_DATA_DIR=nowhere fails 3 "nowhere: no such folder (named by SPMM_DATA_DIR)" ./lab3 arxiv
    fails 3 "rand: no key 'row'; did you mean rows?" ./lab3 rand:row=3
    echo nonsense >nonsense.mtx
    fails 3 "nonsense.mtx:1: " ./lab3 nonsense.mtx
    printf '%%%%MatrixMarket matrix coordinate real general\n2 2 1\n2 1 inf\n' >inf.mtx
    fails 3 "inf.mtx, N = 7: row 1: the value at column 0 is not finite" ./lab3 inf.mtx 7
    toys
    mkdir data
    tiny_file data/wide.mtx
    fails 3 "data/wide.mtx: 3 x 3 with 2 nonzeros, but the registry has wide as 2 x 5 with 4" \
        ./lab3 wide
}

@test "4: a kernel that cannot be launched" {
    FAULT=error run --separate-stderr -4 ./faulty "$TINY" --json rows.json
    [[ $output == *"lab2 faulty: run: "*" at tests/cli/faulty.cu:"* ]]
    [[ $output == *"FAIL: 1 of "* ]]
    [ "$(jq -r '.rows[] | select(.lab == 2) | .status' rows.json)" = error ]
}

@test "4: files that cannot be written, before any work" {
    fails 4 "nowhere/rows.csv: cannot write: No such file or directory" \
        ./lab3 no-such-dataset --csv nowhere/rows.csv
    fails 4 "nowhere/rows.json: cannot write: No such file or directory" \
        ./lab3 no-such-dataset --csv rows.csv --json nowhere/rows.json
    [ ! -e rows.csv ]
    fails 4 "$PWD: cannot write: Is a directory" ./lab3 no-such-dataset --csv "$PWD"
    fails 4 "cannot write to a file without a name" ./lab3 no-such-dataset --csv ""
}

@test "4: a full disk" {
    run --separate-stderr -4 ./lab1 "$TINY" --csv /dev/full
    [[ $output == *"PASS: "* ]]
    [ "$stderr" = "lab1: /dev/full: cannot write: No space left on device" ]
    local arguments
    for arguments in "$TINY" "$TINY --csv -" "$TINY --json -" --help --list --version; do
        # shellcheck disable=SC2086 # split into words
        run --separate-stderr -4 sh -c "./lab1 $arguments >/dev/full"
        [ "$stderr" = "lab1: standard output: cannot write: No space left on device" ]
    done
}

@test "4: a full disk under what convert prints" {
    run --separate-stderr -4 sh -c "'$PROGRAMS/convert' --info $TINY >/dev/full"
    [ "$stderr" = "convert: standard output: cannot write: No space left on device" ]
}

@test "4: a reader who leaves costs no rows" {
    local reader out
    exec {out}> >(true)
    reader=$!
    wait "$reader"
    ./lab3 "$TINY" 1,2 --csv rows.csv 2>said 1>&"$out" || [ $? -eq 4 ]
    exec {out}>&-
    [ "$(wc -l <rows.csv)" -eq 7 ]
    [ "$(cat said)" = "lab3: standard output: cannot write: Broken pipe" ]
}

@test "5: what does not fit" {
    run --separate-stderr -5 "$PROGRAMS/lab30" rand:rows=1000000,deg=1 1048576 --precision fp32
    [[ $stderr == "lab30: rand:rows=1000000,deg=1, K = 1048576: the problem needs 8388.6 GB of memory"* ]]
    fails 5 "rand:rows=1000000,deg=1, N = 1048576: the problem needs 4194.3 GB of memory, but only " \
        ./lab3 rand:rows=1000000,deg=1 1048576
    [[ $stderr == *" GB are available; try a smaller N" ]]
    FAULT=oom run --separate-stderr -5 ./faulty "$TINY" --json rows.json
    [ "$(jq -r '.rows[] | select(.lab == 2) | .status' rows.json)" = oom ]
    [[ $output == *"lab2 faulty: prepare: cudaMalloc"*" at tests/cli/faulty.cu:"* ]]
}

@test "77: a newer GPU is needed" {
    FAULT=skip run --separate-stderr -77 ./faulty "$TINY" --json rows.json
    [[ $output == *"lab2 faulty: needs a GPU of compute capability 99.9 or newer"* ]]
    [[ $output == *"SKIP: "* ]]
    [ "$(jq -r '.rows[] | select(.lab == 2) | .status' rows.json)" = skip ]
}

@test "77: a GPU is needed" {
    simt_only
    fails 77 "--tune measures, and the CPU backend keeps no time: it needs a GPU" ./lab4 --tune
}

# ---- nothing is lost, nothing is mixed -----------------------------------------------------------

@test "rows on standard output are alone there" {
    succeeds ./lab1 "$TINY" --csv -
    [[ ${lines[0]} == schema,operation,lab,* && $output != *PASS* ]]
    succeeds ./lab1 "$TINY" --json - --csv rows.csv
    [ "$(jq '.rows | length' <<<"$output")" -eq $(($(wc -l <rows.csv) - 1)) ]
}

@test "a failing dataset costs the others nothing" {
    own_registry <<'END'
first 3 3 2 rand:rows=3,deg=0.667,empty=0.4
broken 3 3 2 rand:rows=3,deg=1
last 2 5 4 weights:rows=2,cols=5,nnz=4
END
    run --separate-stderr -3 ./lab1 set:toys --csv rows.csv --json rows.json --vs none
    [ "${#stderr_lines[@]}" -eq 1 ]
    [[ $stderr == "lab1: rand:"*"with 3 nonzeros, but the registry has broken as 3 x 3 with 2"* ||
        $stderr == "lab1: "*"broken"* ]]
    [ "$(grep -c '^PASS: ' <<<"$output")" -eq 2 ]
    [ "$(jq -c '[.rows[].dataset]' rows.json)" = '["first","last"]' ]
    [ "$(wc -l <rows.csv)" -eq 3 ]
}

@test "a run without a row leaves the old file" {
    echo "schema: last week's rows" >rows.csv
    fails 3 "no-such-dataset: no such file" ./lab1 no-such-dataset --csv rows.csv
    [ "$(cat rows.csv)" = "schema: last week's rows" ]
    fails 3 "no-such-dataset: no such file" ./lab1 no-such-dataset --json -
    [ "$(new_files)" = rows.csv ]
}

@test "a file that cannot be written does not keep the other from being written" {
    run --separate-stderr -4 ./lab1 "$TINY" --csv /dev/full --json rows.json
    [ "$(jq '.rows | length' rows.json)" -ge 1 ]
}

# has_lines NUMBER: rows.csv.
has_lines() { [ "$(wc -l <rows.csv)" -eq "$1" ]; }

# is_another: rows.csv is not before.csv any more.
is_another() { ! cmp -s rows.csv before.csv; }

# interrupt SIGNAL: stops a run of N = 1 and 2 while it waits in the second, as soon as COMMAND... succeeds.
interrupt() {
    local signal=$1 lab ended=0
    shift
    mkfifo gate
    # A shell's script takes the interrupt away from programs behind it: env gives it back.
    FAULT=waits env --default-signal=INT ./faulty "$TINY" 1,2 --vs none --csv rows.csv >/dev/null 3>&- &
    lab=$!
    until "$@"; do
        kill -0 "$lab"
        sleep 0.05
    done
    kill -"$signal" "$lab"
    wait "$lab" || ended=$?
    rm gate
    [ "$ended" -gt 128 ]
}

@test "an interrupted run leaves the rows of the widths it has finished, and no other file" {
    interrupt TERM [ -e rows.csv ]
    has_lines 2
    [ "$(new_files)" = rows.csv ]
}

@test "an interrupted run leaves the rows that were in the file before; a complete one does not" {
    local signal
    succeeds ./faulty "$TINY" 3,4 --vs none --csv rows.csv
    cp rows.csv before.csv
    for signal in INT TERM KILL; do
        cp before.csv rows.csv
        interrupt "$signal" is_another
        has_lines 4
        [ "$(tail -n 2 rows.csv)" = "$(tail -n 2 before.csv)" ]
    done
    succeeds ./faulty "$TINY" 1 --vs none --csv rows.csv
    has_lines 2
}

@test "a disk that is full in the middle of the rows leaves the old ones" {
    succeeds ./faulty "$TINY" 3,4 --vs none --csv rows.csv
    cp rows.csv before.csv
    # In the place of a full disk: files may have 1 KB, and who writes more is told so.
    run --separate-stderr -4 bash -c "trap '' XFSZ; ulimit -f 1; ./faulty '$TINY' 1,2,3,4,5,6 --vs none --csv rows.csv"
    [[ $stderr == *"rows.csv: cannot write: File too large"* ]]
    cmp rows.csv before.csv
    [ "$(new_files)" = "before.csv rows.csv" ]
}

@test "a named pipe gets everything, once" {
    toys
    mkfifo pipe
    cat pipe >got 3>&- &
    local reader=$!
    succeeds ./lab1 set:toys --vs none --csv pipe
    wait "$reader"
    [ "$(grep -c '^schema,' got)" -eq 1 ]
    [ "$(wc -l <got)" -eq 3 ]
}

# ---- colour --------------------------------------------------------------------------------------

# on_terminal COMMAND: its output, as on a terminal.
on_terminal() {
    script -qefc "$1" /dev/null </dev/null
}

@test "on a terminal each part of the work is named before it begins" {
    script -qefc true /dev/null </dev/null >/dev/null 2>&1 || skip "script(1) makes no terminal here"
    local said
    said=$(on_terminal "./lab1 rand:rows=50,deg=3 5" | tr '\r' '\n')
    grep -E '^\[ +\] 0/1 rand:rows=50,deg=3: generating the matrix *$' <<<"$said"
    grep -E '^\[ +\] 0/1 rand:rows=50,deg=3: making the operands *$' <<<"$said"
    grep -E '^\[ +\] 0/1 rand:rows=50,deg=3: preparing the checks *$' <<<"$said"
    grep -E '^\[ +\] 0/1 rand:rows=50,deg=3 N=5 row_per_thread *$' <<<"$said"
    on_terminal ./lab1 | grep -q ' market.mtx: reading the sample '
    succeeds ./lab1 rand:rows=50,deg=3 5 # elsewhere nothing is shown
    toys
    on_terminal "./lab1 wide 5" | grep -q ' wide: making its stand-in '
}

@test "colour on a terminal only, and not against the user's wish" {
    script -qefc true /dev/null </dev/null >/dev/null 2>&1 || skip "script(1) makes no terminal here"
    local green=$'\033[32m' red=$'\033[31m' plain=$'\033[0m' escape=$'\033'
    [[ $(on_terminal "./lab1 $TINY") == *"${green}PASS${plain}: "* ]]
    [[ $(FAULT=wrong on_terminal "./faulty $TINY") == *"${red}FAIL${plain}: "* ]]
    [[ $(NO_COLOR=1 on_terminal "./lab1 $TINY") != *"$escape"* ]]
    [[ $(NO_COLOR='' on_terminal "./lab1 $TINY") == *"$green"* ]]
    [[ $(on_terminal "./lab1 $TINY --csv -") != *"$escape"* ]]
    succeeds ./lab1 "$TINY"
    [[ $output == *"PASS: "* && $output != *"$escape"* ]]
}
