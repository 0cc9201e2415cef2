# datasets/fetch and datasets/convert, without a network: archives of our own behind
# SPMM_DATA_MIRROR, and a registry of our own with datasets that are made of them.
#
# bats runs each test in a process of its own:
# shellcheck disable=SC2030,SC2031

bats_require_minimum_version 1.5.0

setup() {
    ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
    fetch=$ROOT/datasets/fetch
    case ${OUT:=build/simt} in
        /*) CONVERT=$OUT/convert ;;
        *) CONVERT=$ROOT/$OUT/convert ;;
    esac
    [ -x "$CONVERT" ] || skip "$CONVERT is not built"
    cd "$BATS_TEST_TMPDIR" || return
    export CONVERT SPMM_NO_CACHE=1
    export SPMM_REGISTRY=$PWD/registry.tsv SPMM_DATA_MIRROR=file://$PWD/mirror
    unset SPMM_DATA_DIR
    mkdir mirror

    # 0 -> 1 -> 2 and a self loop; as text, in a zip of OGB's layout, and in a tarball.
    printf '0\t1\n1\t2\n2\t2\n' >mirror/pairs.txt
    mkdir -p web/raw dlmc
    printf '0,1\n1,2\n2,2\n' | gzip >web/raw/edge.csv.gz
    printf '2, 4, 3\n0 1 3\n0 1 3\n' >dlmc/layer.smtx
    zip -qr mirror/web.zip web
    tar -czf mirror/layers.tar.gz dlmc
    entry pairs 4 4 3 pairs.txt - -
    entry web 3 3 3 web.zip '*/raw/edge.csv.gz' --transpose
    entry both 3 3 4 web.zip '*/raw/edge.csv.gz' '--add-reverse --drop-self-loops'
    entry layer 2 4 3 layers.tar.gz dlmc/layer.smtx -
    entry secret 3 3 3 - - 'it is a secret'
}

# entry NAME ROWS COLS NNZ FILE MEMBER RECIPE [SHA256]
entry() {
    printf '%s\ttoys\t%s\t%s\t%s\trand:rows=%s\thttp://localhost/%s\t%s\t%s\t%s\t%s\tours\trows\n' \
        "$1" "$2" "$3" "$4" "$2" "$5" "$5" "$6" "$7" "${8:--}" >>registry.tsv
}

# Only the result is there: no download, no half of one, nothing unpacked.
assert_tidy() {
    [ ! -e data/.part ]
    [ "$(ls data)" = "$1" ]
}

# The one line of a failure, and nothing left behind but what $2 names.
assert_refused() {
    [ "$status" -eq "$1" ]
    [ ! -e "data/$2.csr" ]
    [ ! -e data/.part/unpacked ]
    [ "$(grep -c -v ': downloading ' <<<"$output")" -eq 1 ]
}

@test "fetch: a list of pairs, a zip of OGB's layout, a tarball" {
    run -0 "$fetch" pairs web both layer
    assert_tidy "$(printf '%s\n' both.csr layer.csr pairs.csr web.csr)"
    [ "${lines[-1]}" = "$PWD/data/layer.csr: 2 x 4, 3 nonzeros" ]
    run -0 "$CONVERT" --info web
    [[ $output == *"origin      real"*"source      $PWD/data/web.csr"* ]]
    run -0 "$CONVERT" --info layer
    [[ $output == *"cols        4"* ]]
}

@test "fetch: the recipe is applied" {
    # Transposed, row 2 has the two entries; with reverse edges and without the loop, row 1 has.
    run -0 "$fetch" web both
    run -0 "$CONVERT" --transpose data/web.csr back.csr
    run -0 "$CONVERT" web/raw/edge.csv.gz straight.csr
    cmp back.csr straight.csr
    run -0 "$CONVERT" --transpose data/both.csr both.csr
    cmp both.csr data/both.csr
}

@test "fetch: ddi as OGB publishes it" {
    shared=${SPMM_SHARED_DATASETS:-$ROOT/../shared/datasets}
    [ -e "$shared/ogb-csv/ogbl-ddi.edge.csv.gz" ] || skip "no ogb-csv in \$SPMM_SHARED_DATASETS"
    mkdir -p ddi/raw
    for part in edge num-node-list num-edge-list; do
        cp "$shared/ogb-csv/ogbl-ddi.$part.csv.gz" "ddi/raw/$part.csv.gz"
    done
    zip -qr mirror/ddi.zip ddi
    grep -v '^#' "$ROOT/datasets/registry.tsv" >registry.tsv
    run -0 "$fetch" ddi
    assert_tidy ddi.csr
    run -0 "$CONVERT" --info ddi
    [[ $output == *"origin      real"*"nonzeros    2135822"*"max       2234"* ]]
}

@test "fetch: what is here is not fetched again" {
    run -0 "$fetch" pairs
    rm mirror/pairs.txt
    run -0 "$fetch" pairs
    [[ $output == *"pairs: already here: $PWD/data/pairs.csr" ]]
}

@test "fetch: names" {
    run -0 "$fetch" --list
    [ "${lines[0]}" = "pairs              http://localhost/pairs.txt" ]
    [[ $output != *secret* ]]
    run -3 "$fetch" pair
    [ "$output" = "fetch: pair: no such dataset; did you mean pairs? (datasets/fetch --list)" ]
    run -3 "$fetch" zzzzzz
    [ "$output" = "fetch: zzzzzz: no such dataset (datasets/fetch --list)" ]
    run -3 "$fetch" secret
    [ "$output" = "fetch: secret: cannot be fetched: it is a secret" ]
    run -2 "$fetch" --lst
    [ "$output" = "fetch: unknown option --lst (datasets/fetch --help)" ]
    run -2 "$fetch"
    [[ ${lines[0]} == "datasets/fetch NAME..."* ]]
    run -0 "$fetch" --help
    SPMM_REGISTRY=/nowhere run -3 "$fetch" pairs
    [ "$output" = "fetch: /nowhere: cannot read the list of datasets" ]
}

@test "fetch: checksums" {
    sum=$(sha256sum mirror/pairs.txt | cut -d ' ' -f 1)
    entry sealed 4 4 3 pairs.txt - - "$sum"
    entry broken 4 4 3 pairs.txt - - "${sum%?????}00000"
    run -0 "$fetch" sealed
    run -3 "$fetch" broken
    assert_refused 3 broken
    [[ $output == *"fetch: broken: pairs.txt: SHA-256 is $sum, not "* ]]
    [ ! -e data/.part ]
}

@test "fetch: wrong counts" {
    entry wide 4 4 5 pairs.txt - -
    entry small 2 2 3 pairs.txt - -
    run -3 "$fetch" wide
    assert_refused 3 wide
    [[ $output == *"not the dataset of the registry"*"gives 4 rows and 3 nonzeros, not 4 and 5)" ]]
    run -3 "$fetch" small
    assert_refused 3 small
    [[ $output == *"3 x 3 does not fit into 2 rows and columns)" ]]
    [ ! -e data/.part ]
}

@test "fetch: archives that are none" {
    head -c 100 mirror/web.zip >mirror/cut.zip
    head -c 60 mirror/layers.tar.gz >mirror/cut.tar.gz
    printf 'nonsense\n' >mirror/text.zip
    printf 'a\tb\n' >mirror/words.txt
    entry cutzip 3 3 3 cut.zip '*/raw/edge.csv.gz' -
    entry cuttar 2 4 3 cut.tar.gz dlmc/layer.smtx -
    entry text 3 3 3 text.zip '*/raw/edge.csv.gz' -
    entry lacking 3 3 3 web.zip '*/raw/other.csv.gz' -
    entry lacks 2 4 3 layers.tar.gz dlmc/other.smtx -
    entry words 3 3 3 words.txt - -
    for name in cutzip cuttar text lacking lacks; do
        run -3 "$fetch" "$name"
        assert_refused 3 "$name"
        [[ $output == *"$name: "*": no intact archive with "*" in it" ]]
        [ ! -e data/.part ]
    done
    run -3 "$fetch" words
    assert_refused 3 words
    [[ $output == *"words: words.txt: not the dataset of the registry (convert: "* ]]
}

@test "fetch: an interrupted download is taken up again" {
    # Its four bytes differ from the file's, so that the result shows whose were taken.
    mkdir -p data/.part
    printf '1\t0\n' >data/.part/pairs.txt.partial
    { printf '1\t0\n'; tail -c +5 mirror/pairs.txt; } >spliced.txt
    run -0 "$fetch" pairs
    assert_tidy pairs.csr
    run -0 "$CONVERT" --rows 4 spliced.txt spliced.csr
    cmp spliced.csr data/pairs.csr
}

@test "fetch: a download that cannot be taken up starts anew" {
    mkdir -p data/.part
    head -c 1000 /dev/zero >data/.part/pairs.txt.partial # longer than the file
    run -0 "$fetch" pairs
    assert_tidy pairs.csr
}

# while_lives PID COMMAND...: waits until the command succeeds; fails when the process has ended before.
while_lives() {
    local pid=$1
    shift
    until "$@"; do
        kill -0 "$pid" || return
        sleep 0.05
    done
}

@test "fetch: a second one leaves the first alone and waits for it" {
    mkdir bin
    # A curl that is at work until the test says otherwise, or is gone with its folder.
    printf '#!/bin/sh\ntouch started\nwhile [ -e started ] && [ ! -e go ]; do sleep 0.05; done\nexec %s "$@"\n' \
        "$(command -v curl)" >bin/curl
    chmod +x bin/curl
    PATH=$PWD/bin:$PATH "$fetch" pairs >/dev/null 2>first.log 3>&- &
    first=$!
    while_lives $first [ -e started ]
    mkdir data/.part/unpacked
    run -0 "$fetch" --list
    run -3 "$fetch" pair
    [ -e data/.part/unpacked ]
    "$fetch" pairs 2>second.log 3>&- &
    second=$!
    while_lives $second grep -qx "fetch: another fetch is at work in $PWD/data: waiting for its end" second.log
    [ -e data/.part/unpacked ]
    touch go
    wait $first
    wait $second
    [ "$(tail -n 1 second.log)" = "fetch: pairs: already here: $PWD/data/pairs.csr" ]
    assert_tidy pairs.csr
}

@test "fetch: a file put there by hand is used" {
    mkdir -p data/.part
    mv mirror/web.zip data/.part
    run -0 "$fetch" web
    [[ $output != *downloading* ]]
    assert_tidy web.csr
}

@test "fetch: no server, no such file" {
    SPMM_DATA_MIRROR=http://127.0.0.1:9 run -4 "$fetch" pairs
    assert_refused 4 pairs
    [[ $output == *"the server cannot be reached (no network?); or put pairs.txt into $PWD/data/.part yourself" ]]
    rm mirror/pairs.txt
    run -4 "$fetch" pairs
    assert_refused 4 pairs
    [[ $output == *"mirror/pairs.txt: no such file; or put "* ]]
}

@test "fetch: no place to write" {
    touch data
    run -4 "$fetch" pairs
    [[ $output == "fetch: $PWD/data: cannot be made" ]]
    rm data
    mkdir bin
    printf '#!/bin/sh\necho Filesystem\necho /dev/x 9 9 0 100%% /\n' >bin/df
    chmod +x bin/df
    entry large 3 3 300000000 pairs.txt - -
    PATH=$PWD/bin:$PATH run -4 "$fetch" large
    assert_refused 4 large
    [[ $output == "fetch: large: needs about 3433 MB in $PWD/data, which has 0 MB free" ]]
}

@test "fetch: missing programs" {
    mkdir bin
    for tool in awk basename cut df dirname find flock grep gzip mkdir mv printf rm rmdir sed sh; do
        ln -s "$(command -v "$tool")" "bin/$tool"
    done
    PATH=$PWD/bin run -4 "$fetch" pairs
    [ "$output" = "fetch: curl is not installed (scripts/setup --test installs curl and unzip)" ]
    ln -s "$(command -v curl)" bin/curl
    PATH=$PWD/bin run -4 "$fetch" web
    [[ $output == *"fetch: unzip is not installed (scripts/setup --test installs curl and unzip)" ]]
    grep -q '^test   curl ' "$ROOT/scripts/setup"
    grep -q '^test   unzip ' "$ROOT/scripts/setup"
    CONVERT=/nowhere/convert run -4 "$fetch" pairs
    [ "$output" = "fetch: /nowhere/convert: no such program (CONVERT)" ]
}

@test "fetch: a result that cannot be written" {
    mkdir bin
    printf '#!/bin/sh\necho "convert: x.csr: disk full" >&2\nexit 4\n' >bin/convert
    chmod +x bin/convert
    CONVERT=$PWD/bin/convert run -4 "$fetch" pairs
    assert_refused 4 pairs
    [[ $output == *"fetch: pairs: convert: x.csr: disk full" ]]
    [ -e data/.part/pairs.txt ] # the download was good: the next try need not repeat it
}

@test "convert: usage" {
    run -0 "$CONVERT" --help
    [ "${lines[0]}" = "usage: convert [OPTION...] DATASET OUT.csr" ]
    run -2 "$CONVERT"
    [ "$output" = "convert: wants a dataset and an output file (convert --help)" ]
    run -2 "$CONVERT" --info
    [ "$output" = "convert: wants a dataset (convert --help)" ]
    run -2 "$CONVERT" --transpos a b
    [ "$output" = "convert: unknown option --transpos; did you mean --transpose?" ]
    run -2 "$CONVERT" --rows
    [ "$output" = "convert: --rows needs a number" ]
    run -2 "$CONVERT" --expect-nnz 3x a b
    [ "$output" = "convert: --expect-nnz 3x: not a whole number from 0 up" ]
    run -2 "$CONVERT" a b c
    [ "$output" = "convert: c: one name too many" ]
}

@test "convert: a name, a path, a generator" {
    run -0 "$fetch" pairs
    run -0 "$CONVERT" pairs name.csr
    cmp data/pairs.csr name.csr
    run -0 "$CONVERT" ./data/pairs.csr path.csr
    cmp data/pairs.csr path.csr
    run -0 "$CONVERT" rand:rows=9,deg=2,seed=3 made.csr
    [ "$output" = "made.csr: 9 x 9, 18 nonzeros" ]
    run -3 "$CONVERT" set:toys toys.csr
    [[ $output == *"a set of datasets; one is needed here" ]]
}

@test "convert: a stand-in is not written under a name that hides it" {
    sed -i 's/rand:rows=4/&,deg=0.75/' registry.tsv # so that it has pairs' three nonzeros
    mkdir -p stand-in data
    for out in data/pairs.csr stand-in/pairs.csr; do
        run -3 "$CONVERT" pairs "$out"
        [ "$output" = "convert: pairs: its file is not here, and its stand-in is written only to a \
name with \"stand-in\" in it, such as pairs.stand-in.csr" ]
        [ ! -e "$out" ]
    done
    run -0 "$CONVERT" pairs data/pairs.stand-in.csr
    run -0 "$CONVERT" --info pairs # which does not find that file
    [[ $output == *"origin      stand-in"* ]]
    run -0 "$CONVERT" --info data/pairs.stand-in.csr
    [[ $output == "pairs.stand-in.csr
origin      file"* ]]
}

@test "convert: failures" {
    run -3 "$CONVERT" nothing.mtx out.csr
    [[ $output == "convert: nothing.mtx: "* ]]
    run -3 "$CONVERT" --expect-nnz 4 mirror/pairs.txt out.csr
    [ "$output" = "convert: mirror/pairs.txt: gives 3 rows and 3 nonzeros, not 3 and 4" ]
    run -3 "$CONVERT" --coalesce dlmc/layer.smtx out.csr
    [[ $output == "convert: dlmc/layer.smtx: 2 x 4 is not square"* ]]
    [ ! -e out.csr ]
    run -4 "$CONVERT" mirror/pairs.txt nowhere/out.csr
    [[ $output == "convert: nowhere/out.csr: "* ]]
    run -3 "$CONVERT" --info nothing
    [[ $output == "convert: nothing: no such file or dataset"* ]]
}

@test "convert: --info" {
    SPMM_REGISTRY='' run -0 "$CONVERT" --info "$ROOT/datasets/samples/village"
    [ "$output" = "village
origin      file
source      $ROOT/datasets/samples/village
rows        12
cols        12
nonzeros    31
values      no, a pattern
density     0.2153
row lengths
  mean      2.583
  cov       1.077
  gini      0.4866
  empty     2
  p1        0
  p10       0
  p25       1
  p50       2
  p75       3
  p90       4
  p99       11
  max       11" ]
}
