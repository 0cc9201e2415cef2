# What the texts promise: links lead somewhere, commands run, tables show the measured rows.
#
# Commands of a block that begins with ```sh are run as they stand, from the root of the checkout;
# those that need a GPU stand in a block ```sh gpu, those that need a class, or minutes,
# ```sh run-by-hand.

bats_require_minimum_version 1.5.0

setup_file() {
    ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
    export ROOT
}

setup() {
    cd "$ROOT" || return
    texts=(README.md report/report.md datasets/README.md datasets/samples/README.md docs/*.md labs/*/*.md)
    rows=report/results/h200/spmm.csv
    export XDG_CACHE_HOME=$BATS_FILE_TMPDIR/cache
    unset SPMM_DATA_DIR MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES # of the make that runs the tests
}

# runs_as_written FILE: every block of commands, except the one that would run these tests again.
runs_as_written() {
    local blocks=$BATS_TEST_TMPDIR/blocks n
    rm -rf "$blocks"
    mkdir "$blocks"
    awk -v to="$blocks/" '/^```/ { inside = $0 == "```sh"; blocks += inside; next }
        inside { print > (to blocks) }' "$1"
    for n in "$blocks"/*; do
        grep -q 'make test' "$n" && continue
        echo "--- $1:"
        cat "$n"
        bash -e "$n" >"$BATS_TEST_TMPDIR/log" 2>&1 || { cat "$BATS_TEST_TMPDIR/log"; return 1; }
    done
}

@test "every lab has a handout with a figure, a form for the answers to what it asks, and a line in the README" {
    for lab in labs/*/; do
        [ -f "$lab/answers.txt" ]
        while read -r letter; do
            grep -q "^$letter\. " "$lab/README.md" || { echo "${lab}README.md does not ask $letter"; false; }
        done < <(sed -n 's/^# \([a-z]\)\. .*/\1/p' "$lab/answers.txt")
        grep -qE '\]\([a-z_]+\.svg\)' "$lab/README.md"
        grep -qF "(${lab}README.md)" README.md
    done
}

@test "links lead to files" {
    for text in "${texts[@]}"; do
        while read -r target; do
            case $target in http*) continue ;; esac
            [ -e "$(dirname "$text")/${target%%#*}" ] || { echo "$text: $target"; false; }
        done < <(tr '\n' ' ' <"$text" | grep -oE '\]\([^) ]+\)' | sed 's/^](\(.*\))$/\1/')
    done
}

@test "the tables are those of the measured rows" {
    cp -r Makefile config.mk mk scripts labs README.md report "$BATS_TEST_TMPDIR"
    mkdir "$BATS_TEST_TMPDIR/common"
    cp -r common/ops common/rows common/results common/matrix "$BATS_TEST_TMPDIR/common"
    make -C "$BATS_TEST_TMPDIR" ladder
    for text in README.md labs/*/README.md; do
        diff "$text" "$BATS_TEST_TMPDIR/$text"
        case $text in labs/09_* | labs/20_*) continue ;; esac # of language models' weights
        grep -q '^| ddi (real) |' "$text" || grep -qx 'Not measured yet.' "$text"
    done
    run ! grep -lx 'Not measured yet.' labs/[012]*/README.md
}

@test "a lab that 16 bits were measured of, too, has its table in fp32, and only a table of 16 bits names their commits" {
    fp16=$BATS_TEST_TMPDIR/fp16.csv
    sed 's/,8,mixed/,99,mixed/' report/results/h200/spmm-fp16.csv >"$fp16"
    scripts/rows ladder lab=99 "$rows" >"$BATS_TEST_TMPDIR/alone"
    scripts/rows ladder lab=99 "$rows" "$fp16" | diff "$BATS_TEST_TMPDIR/alone" -
    scripts/rows ladder lab=8 "$rows" report/results/h200/spmm-fp16.csv | grep -q 'lab8 fp16 ms'
}

@test "every measured row says where it comes from, and none is of a wrong result or of edited sources" {
    grep -q . "$rows"
    for file in $(scripts/operations | sed 's,\([^ ]*\) .*,report/results/*/\1*.csv,') report/results/*/counted.csv; do
        [ -e "$file" ] || continue
        awk -f scripts/csv.awk -f /dev/fd/3 "$file" 3<<'AWK'
        FNR == 1 { csv_columns($0, column); next }
        {
            csv_split($0, cell)
            split("device driver toolkit commit origin dataset source", must, " ")
            for (i in must) if (cell[column[must[i]]] == "") { print FILENAME ":" FNR ": no " must[i]; bad = 1 }
            if (cell[column["commit"]] ~ /dirty/) { print FILENAME ":" FNR ": edited sources"; bad = 1 }
            if (cell[column["status"]] != "ok" && cell[column["median_ms"]] != "") { print FILENAME ":" FNR ": a time"; bad = 1 }
        }
        END { exit bad }
AWK
    done
}

@test "README: what the main job prints is what it prints" {
    [ "${BACKEND:-simt}" = simt ] || skip "a GPU adds columns"
    cd "$BATS_TEST_TMPDIR"
    mkdir datasets # as on a machine that has downloaded nothing
    cp -r "$ROOT"/datasets/{registry.tsv,samples,standins} datasets
    SPMM_REGISTRY=$PWD/datasets/registry.tsv "$ROOT/lab3" arxiv 32 >printed
    diff <(awk '/^```/ { show = 0 } show; /^```text/ && !shown++ { show = 1 }' "$ROOT/README.md"; echo) printed
}

@test "docs: how well estimates order the measured rows is what the rows say" {
    counted=report/results/h200/counted.csv
    [ -e "$counted" ] || skip "nobody has run make predictions"
    diff <(scripts/rows predictions "$counted" "$rows") report/results/h200/predictions.csv
    cp docs/counters.md "$BATS_TEST_TMPDIR"
    scripts/write-between "$BATS_TEST_TMPDIR/counters.md" predictions \
        scripts/rows predictions summary=1 "$counted" "$rows"
    diff docs/counters.md "$BATS_TEST_TMPDIR/counters.md"
}

@test "docs: the example of counters is what it prints" {
    [ "${BACKEND:-simt}" = simt ] || skip "the counters are those of the CPU backend"
    ./lab2 rand:rows=2000,deg=12,skew=1.2 32 --counters --vs none |
        awk 'NF == 0 { show = 0 } /^-- lab2/ { show = 1 } show' >"$BATS_TEST_TMPDIR/printed"
    diff <(awk '/^```/ { show = 0 } show; /^```text/ && !shown++ { show = 1 }' docs/counters.md) \
        "$BATS_TEST_TMPDIR/printed"
}

@test "README: commands run as written" { runs_as_written README.md; }
@test "handouts: commands run as written" {
    for text in labs/*/README.md; do
        runs_as_written "$text"
    done
}
@test "docs: commands run as written" {
    for text in docs/*.md; do
        runs_as_written "$text"
    done
}
