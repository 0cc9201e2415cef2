# Promises of the texts: links lead somewhere, commands run, tables show the measured rows.
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
    texts=(README.md report/report.md datasets/README.md datasets/samples/README.md docs/*.md labs/*/*.md apps/*/*.md)
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
        [ -e "$n" ] || continue # a page without commands
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
    cp -r Makefile config.mk mk scripts labs apps docs README.md report "$BATS_TEST_TMPDIR"
    mkdir "$BATS_TEST_TMPDIR/common"
    cp -r common/ops common/rows common/results common/matrix "$BATS_TEST_TMPDIR/common"
    make -C "$BATS_TEST_TMPDIR" ladder
    for text in README.md docs/times.md labs/*/README.md; do
        diff "$text" "$BATS_TEST_TMPDIR/$text"
        # A line a lab; weights and blocks in 16 bits; the table of the lab after it has both; never timed.
        case $text in
        README.md | labs/09_* | labs/2[034]_* | labs/35_* | labs/5[2345]_* | labs/7[01]_*) continue ;;
        labs/5*) row='^| blocks:in=5120' ;;
        *) row='^| ddi (real) |' ;;
        esac
        grep -q "$row" "$text" || grep -qx 'Not measured yet.' "$text"
    done
    run ! grep -lx 'Not measured yet.' labs/[01]*/README.md labs/2[01]*/README.md
}

@test "a lab that 16 bits were measured of, too, has its table in fp32, and only a table of 16 bits names their commits" {
    fp16=$BATS_TEST_TMPDIR/fp16.csv
    sed 's/,8,mixed/,99,mixed/' report/results/h200/spmm-fp16.csv >"$fp16"
    scripts/rows ladder lab=99 "$rows" >"$BATS_TEST_TMPDIR/alone"
    scripts/rows ladder lab=99 "$rows" "$fp16" | diff "$BATS_TEST_TMPDIR/alone" -
    scripts/rows ladder lab=8 "$rows" report/results/h200/spmm-fp16.csv | grep -q 'lab8 fp16 ms'
}

@test "the table of a lab names graphs without a row of it in one line" {
    grep -v '^2,spmm,5,split_rows,fp32,ddi,' "$rows" >"$BATS_TEST_TMPDIR/without.csv"
    [ "$(scripts/rows ladder lab=5 "$BATS_TEST_TMPDIR/without.csv" | grep -cx 'Not measured: ddi (real)\.')" -eq 2 ]
    [ "$(scripts/rows ladder lab=5 "$BATS_TEST_TMPDIR/without.csv" | grep -c '^| ddi')" -eq 0 ]
    [ "$(scripts/rows ladder lab=5 "$rows" | grep -c 'Not measured')" -eq 0 ]
}

@test "every measured row says where it comes from, and none is of a wrong result or of edited sources" {
    grep -q . "$rows"
    for file in $(scripts/operations | sed 's,\([^ ]*\) .*,report/results/*/\1*.csv,') report/results/*/counted.csv; do
        [ -e "$file" ] || continue
        awk -f tests/csv.awk -f /dev/fd/3 "$file" 3<<'AWK'
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

@test "README: a line a lab, whose figure is that of the full table, and none without rows" {
    of_last_lab=$(awk -F'|' '/^N = 32/ { here = 1 } here && /^\| geometric mean/ { print $(NF - 1); exit }' docs/times.md)
    [[ $of_last_lab =~ ([0-9.]+)\*\*,\ ([0-9]+\ of\ [0-9]+) ]]
    grep -qF "(labs/99_open/README.md) | open: the fastest SpMM of the suite, and room for yours | ${BASH_REMATCH[1]} | ${BASH_REMATCH[2]} | cuSPARSE, N = 32 |" README.md
    networks=$(awk 'FNR == 2 && /^ \* Lab [0-9]+ - /' apps/*/*.c | wc -l)
    [ "$networks" -ge 1 ]
    [ "$(scripts/rows lines "$rows" | grep -c '^| \[')" -eq "$(($(find labs -mindepth 1 -maxdepth 1 -name '[0-9]*' | wc -l) + networks))" ]
    scripts/rows lines "$rows" | grep -q '^| \[30\].*| - | - | not measured yet |$'
    run -3 scripts/rows lines no-such.csv
    run -3 scripts/rows lines labs="$BATS_TEST_TMPDIR" "$rows"
    mkdir "$BATS_TEST_TMPDIR/42_x"
    printf '/*\n * A lab without its line.\n' >"$BATS_TEST_TMPDIR/42_x/lab.cu"
    run -3 scripts/rows lines labs="$BATS_TEST_TMPDIR" "$rows"
    [[ $output == *"42_x/lab.cu:2: no line of the form"* ]]
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

# Prints the functions of headers that begin in the first column, a signature a line. Members of structs do not.
device_functions() {
    awk '
        /^template </ && !/__device__/ { before = $0; next }
        (/^[^ #\/*]/ && /__device__/) || more { text = (more ? text : before) " " $0; more = 1 }
        more && /\)$/ {
            gsub(/(static|__device__|__forceinline__) /, "", text)
            gsub(/ +/, " ", text)
            sub(/^ /, "", text)
            print text
            more = 0
        }
        { before = "" }' "$@"
}

@test "docs: the page of wrappers has every function of the headers it names, and no other" {
    mapfile -t headers < <(grep '^## ' docs/device-api.md | grep -o 'common/device/[a-z_]*\.cuh')
    [ "${#headers[@]}" -ge 12 ]
    device_functions "${headers[@]}" | LC_ALL=C sort >"$BATS_TEST_TMPDIR/there"
    grep -q '^int lane_id()$' "$BATS_TEST_TMPDIR/there"
    # shellcheck disable=SC2016
    sed -n 's/^| `\([^`]*\)` | [^|]* | `[^`]*` |$/\1/p' docs/device-api.md | LC_ALL=C sort | diff - "$BATS_TEST_TMPDIR/there"
    # shellcheck disable=SC2016
    run ! grep -vE '^\| (`[^`]*` \| [^|]* \| `[^`]*`|function \| meaning \| use) \|$|^\|---' <(grep '^|' docs/device-api.md)
}

@test "docs: each term of the glossary stands in the lab that it names, once in the list" {
    [ "$(grep -c '^| .*README.md) |$' docs/glossary.md)" -gt 80 ]
    sed -n 's,^| \([^|,]*\).* | \[[0-9]*\](\.\./\(labs/[a-z0-9_]*\)/README.md) |$,\2 \1,p' docs/glossary.md >"$BATS_TEST_TMPDIR/terms"
    [ -z "$(cut -d ' ' -f 2- "$BATS_TEST_TMPDIR/terms" | LC_ALL=C sort | uniq -d)" ]
    while read -r lab term; do
        cat "$lab"/README.md "$lab"/lab.cu | tr -s "\n*> " " " | grep -qiF -e "$(echo "$term" | tr -d '`')" || { echo "$lab: $term"; false; }
    done <"$BATS_TEST_TMPDIR/terms"
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
