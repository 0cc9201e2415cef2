# --trace: the page that plays what a warp does. Its figures against --counters, its findings, bad input, and the
# page itself in a browser (Debian's chromium; scripts/setup --browser), where trace.js clicks and looks.
#
# bats sets $stderr, and runs each test in a process of its own:
# shellcheck disable=SC2016,SC2030,SC2031,SC2154

bats_require_minimum_version 1.5.0

TINY=rand:rows=40,deg=6,skew=1

setup_file() {
    ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
    case ${OUT:=build/simt} in
        /*) PROGRAMS=$OUT ;;
        *) PROGRAMS=$ROOT/$OUT ;;
    esac
    export ROOT PROGRAMS BACKEND=${BACKEND:-simt}
    export SPMM_REGISTRY=$BATS_FILE_TMPDIR/datasets/registry.tsv
    mkdir "$BATS_FILE_TMPDIR/datasets"
    cp -r "$ROOT"/datasets/{registry.tsv,samples,standins} "$BATS_FILE_TMPDIR/datasets"
}

setup() {
    [ "$BACKEND" = simt ] || skip "the instruments are those of the CPU backend"
    [ -x "$PROGRAMS/lab3" ] || skip "$PROGRAMS/lab3 is not built"
    mkdir "$BATS_TEST_TMPDIR/work"
    cd "$BATS_TEST_TMPDIR/work" || return
    ln -s "$PROGRAMS"/lab[1-9] .
    ln -s "$PROGRAMS/traced/tests/cli/faulty" faulty
    unset SPMM_DATA_DIR FAULT
}

# fails STATUS TEXT COMMAND...: one line on standard error that holds TEXT, nothing on standard output.
fails() {
    local expected=$1 text=$2
    shift 2
    run --separate-stderr "$@"
    echo "status $status, stdout: $output, stderr: $stderr"
    [ "$status" -eq "$expected" ]
    [ -z "$output" ]
    [ "${#stderr_lines[@]}" -eq 1 ]
    [[ $stderr == *"$text"* ]]
}

# The recording in a page, as JSON.
recording() {
    sed -n '/id="trace">/,/<\/script>/p' "$1" | sed '1s/.*id="trace">//; $s,</script>,,'
}

# is FILTER [FILE]: jq's filter holds of the recording in the page.
is() {
    recording "${2:-page.html}" | jq -e "$1" >/dev/null || {
        echo "does not hold: $1"
        recording "${2:-page.html}" | jq -c 'del(.files, .kernels[].steps)'
        return 1
    }
}

# ---- what is recorded ----------------------------------------------------------------------------

@test "a page, and where it is" {
    run --separate-stderr ./lab2 "$TINY" 32 --trace page.html
    [ "$status" -eq 0 ]
    [[ $output == *"recorded on the CPU backend"* ]]
    [[ ${lines[-1]} == "the recorded block, step by step: page.html (open it in a browser)" ]]
    [ "$(head -c 15 page.html)" = "<!doctype html>" ]
    [ "$(grep -c 'https\?://' <(sed 's,http://www.w3.org/2000/svg,,g' page.html))" -eq 0 ]
    [ "$(wc -c <page.html)" -lt 5000000 ]
    is '.schema == 1 and (.kernels | length == 1) and .kernels[0].lab == 2'
    is '.kernels[0] | .at == [0, 0, 0] and .warp == 0 and .warps == 4 and .left_out == 0'
    is '[.kernels[0].arrays[].name] | sort == ["A.col_idx", "A.row_ptr", "A.values", "B", "C"]'
    is '.files | to_entries[] | select(.key | endswith("labs/02_warp_per_row/lab.cu")).value | contains("spmm_warp_per_row_kernel")'
    # Again, over the old page; nothing depends on time.
    recording page.html >before
    ./lab2 "$TINY" 32 --trace page.html >/dev/null
    recording page.html | diff before -
}

@test "the costs beside the source are those of --counters" {
    for lab in 1 3 5 9; do
        "./lab$lab" "$TINY" 33 --counters --vs none --json rows.json --trace page.html >/dev/null
        jq -c '.rows[0].kernels[] | select(.phase == "run") | .lines[] |
            [.where, .kind, .size, .requests, .lanes, .bytes, .sectors // .wavefronts, .serial // 0]' \
            rows.json | sort >counters
        [ -s counters ]
        recording page.html | jq -c '["global_load", "global_store", "global_atomic", "shared_load", "shared_store",
            "shared_atomic"] as $names | .kernels[0].precision as $p | .kernels[] | select(.precision == $p) |
            .costs[] | [.[0], $names[.[1]], .[2], .[3], .[4], .[5], .[6], .[8]]' | sort >costs
        diff counters costs
    done
}

@test "the steps of a grid of one block add up to the counters of each line" {
    ./lab1 rand:rows=100,deg=6 5 --counters --vs none --trace page.html >/dev/null
    is '.kernels[0] | .grid == [1, 1, 1] and .left_out == 0'
    is '.kernels[0] as $k | [$k.steps[] | select(.[2] < 6) | {where: $k.lines[.[0]], kind: .[2], bytes: .[5], cost: .[6]}] |
        group_by([.where, .kind]) |
        map([.[0].where, .[0].kind, length, (map(.bytes) | add), (map(.cost) | add)]) | sort ==
        ($k.costs | map([.[0], .[1], .[3], .[5], .[6]]) | sort)'
    # Lab 3: shared memory, too, and warps that end early.
    ./lab3 rand:rows=3,deg=3 33 --counters --vs none --trace page.html --trace-block 1 >/dev/null
    is '.kernels[0] | .number == 1 and .at == [0, 1, 0] and ([.steps[] | select(.[2] == 1) | .[4]] | all(. == 1))'
}

@test "given blocks and warps, the worst and the longest" {
    ./lab2 "$TINY" 33 --trace page.html --trace-block 7 --trace-warp 2 >/dev/null
    is '.kernels[0] | .number == 7 and .warp == 2 and .why == "the block asked for"'
    # The hub is the longest row; its warp has most steps.
    ./lab2 "$TINY" 32 --counters --vs none --json rows.json --trace page.html --trace-warp longest >/dev/null
    longest=$(jq '.rows[0].kernels[0].counters.longest_warp' rows.json)
    is '.kernels[0] | .warp as $w | [.steps[] | select(.[1] == $w)] | length == '"$longest"
    # At N = 33 the second half of each row of B has one column: one sector a request, the first half up to five.
    ./lab2 "$TINY" 33 --trace page.html --trace-warp worst >/dev/null
    is '.kernels[0] | .at[1] == 0 and .why == "the warp with most sectors a request"'
    ./lab4 "$TINY" 32 --trace page.html >/dev/null
    is '.kernels | length >= 1'
}

@test "launches of one kernel in unlike shapes: the page has that of the block it shows" {
    FAULT=shapes ./faulty "$TINY" 5 --trace page.html --trace-block 2 >/dev/null
    is '[.kernels[] | select(.kernel == "spmm_shapes_kernel")][0] |
        .number == 2 and .grid == [3, 1, 1] and .block == [64, 1, 1] and .warps == 2 and
        ([.steps[][1]] | max) == 1'
    FAULT=shapes ./faulty "$TINY" 5 --trace page.html >/dev/null
    is '[.kernels[] | select(.kernel == "spmm_shapes_kernel")][0] | .grid == [1, 1, 1] and .warps == 1'
}

@test "two labs side by side: the second where the first one's nonzero is" {
    # Lab 1's program holds no lab 2: lab 2's makes the page.
    ./lab1 rand:rows=400,deg=8 32 --trace page.html --vs lab2 --trace-block 2 >/dev/null
    is '.side_by_side and [.kernels[].lab] == [1, 2]'
    is '.kernels[0].number == 2 and .kernels[1].number == 64'
    is '.kernels[1].why == "the block with the same nonzero"'
    # Where values are not in A's order, there is none.
    ./lab9 "$TINY" 32 --trace page.html --vs lab2 >/dev/null
    is '[.kernels[].lab] | first == 2 and last == 9'
    fails 2 "--vs lab98: there is no such lab" ./lab1 "$TINY" 32 --trace page.html --vs lab98
}

@test "a long block is cut, and says so" {
    ./lab1 rand:rows=64,deg=60 256 --trace page.html >/dev/null
    is '.kernels[0] | .left_out > 0 and (.steps | length) <= 12000 and (.steps | length) > 3000'
    [ "$(wc -c <page.html)" -lt 5000000 ]
}

@test "the handouts' answers can be counted on the page, and lab 1's drawing is made of it" {
    # Loads of B of one column: lab 1, prediction b.
    ./lab1 "$ROOT/datasets/samples/village" 32 --trace page.html >/dev/null
    loads='.kernels[0] as $k | ($k.arrays[] | select(.name == "B")) as $b | $k.steps | .[:map(.[2]) | index(1)] |
        map(select(.[9] >= $b.start and .[9] < $b.start + $b.bytes))'
    [ "$(recording page.html | jq "$loads | map(.[6]) | add")" -eq 26 ]
    "$ROOT/scripts/draw-lanes" page.html | diff "$ROOT/labs/01_row_per_thread/row_per_thread.svg" -
    # Lab 3, predictions a and b: barriers and loads of B for a row of 50.
    ./lab3 rand:rows=100,deg=50 32 --trace page.html >/dev/null
    is '.kernels[0] as $k | ($k.arrays[] | select(.name == "B")) as $b | $k.steps | map(select(.[1] == 0)) |
        (map(select(.[2] == 7)) | length) == 4 and
        (map(select(.[2] == 0 and .[9] >= $b.start and .[9] < $b.start + $b.bytes)) | length) == 56'
}

# ---- findings ------------------------------------------------------------------------------------

@test "a race: the block with it, and the steps of both threads" {
    FAULT=race run ./faulty "$TINY" 5 --racecheck --trace page.html
    [ "$status" -eq 1 ]
    is '.kernels[0] | .kernel == "spmm_race_kernel" and .why == "the block of the first finding"'
    is '.kernels[0].findings | length == 1 and .[0].kind == "race"'
    # One stores, the other loads the same word.
    is '.kernels[0] | .findings[0] as $f | [.steps[$f.step], .steps[$f.other_step]] |
        map(.[2]) == [4, 3] and map(.[1]) == [1, 0]'
    is '.kernels[0].findings[0] | .lane == 0 and .other_lane == 31'
}

@test "out of bounds: the access is the one that is marked, also where it ends the launch" {
    FAULT=outside run ./faulty "$TINY" 5 --memcheck --trace page.html
    [ "$status" -eq 1 ]
    is '.kernels[0] | .findings[0] as $f | .lines[.steps[$f.step][0]] == $f.where'
    FAULT=far-outside run ./faulty "$TINY" 5 --memcheck --trace page.html
    [ "$status" -eq 1 ]
    is '.kernels[0] | .kernel == "spmm_outside_kernel" and .costs == [] and .findings[0].step == 0'
    # The processor finds it, where no instrument looks.
    FAULT=far-outside run ./faulty "$TINY" 5 --trace page.html
    [ "$status" -eq 1 ]
    is '.kernels[0].findings[0] | .kind == "illegal address" and .step == 0'
    # A block that the user has named stays.
    FAULT=outside run ./faulty "$TINY" 5 --memcheck --trace page.html --trace-block 1
    [ "$status" -eq 1 ]
    is '[.kernels[] | select(.kernel == "spmm_plain_kernel")][0].number == 1'
}

@test "a kernel that was not launched has no page, and its own exit code" {
    FAULT=oom run ./faulty "$TINY" 5 --trace page.html
    [ "$status" -eq 5 ]
    [ ! -e page.html ]
}

# ---- bad input -----------------------------------------------------------------------------------

@test "what cannot be shown or written" {
    fails 4 "nowhere/page.html: cannot write" ./lab2 "$TINY" 32 --trace nowhere/page.html
    echo kept >notes.txt
    fails 2 "notes.txt is there and is no page of --trace" ./lab2 "$TINY" 32 --trace notes.txt
    [ "$(cat notes.txt)" = kept ]
    fails 2 "rows and the page of --trace cannot both go to page.html" ./lab2 --trace page.html --csv ./page.html
    fails 2 "rows and the page of --trace cannot both go to page.html" ./lab2 --json page.html --trace page.html
    fails 2 "--trace shows one N: got '32,33'" ./lab2 "$TINY" 32,33 --trace page.html
    fails 2 "--trace shows one kernel, or two with --vs labK" ./lab2 --trace page.html --vs best
    fails 2 "--trace shows one matrix: set:rnn has" ./lab2 set:rnn 32 --trace page.html
    run --separate-stderr ./lab2 "$TINY" 32 --trace page.html --trace-block 1000000
    [ "$status" -eq 4 ]
    [[ $stderr == *"nothing was recorded: the grid has no such block"* ]]
    [ ! -e page.html ]
}

# ---- in a browser --------------------------------------------------------------------------------

# browse PAGE WIDTH [FRAGMENT]: what trace.js says after it has clicked and looked, a line a check.
browse() {
    local dir=$BATS_TEST_TMPDIR/browser
    command -v chromium >/dev/null || skip "no chromium here (scripts/setup --browser)"
    rm -rf "$dir"
    mkdir "$dir"
    # Errors of the page itself are noted before its own scripts run; the checks come after them.
    awk -v checks="$ROOT/tests/cli/trace.js" '
        /<style>/ && !seen++ { print "<script>const errors = []; onerror = e => { errors.push(e); };</script>" }
        /^<\/body>/ { print "<script>"; while ((getline line < checks) > 0) print line; print "</script>" }
        { print }' "$1" >"$dir/page.html"
    run timeout 100 chromium --headless --no-sandbox --disable-gpu --user-data-dir="$dir/profile" \
        --window-size="$2,900" --virtual-time-budget=6000 --dump-dom "file://$dir/page.html#${3:-}"
    output=$(sed -n '/<pre id="verdict">/,/<\/pre>/p' <<<"$output" | sed 's/<[^>]*>//g')
    echo "$output"
    [ -n "$output" ] && ! grep -q '^not ok' <<<"$output"
}

@test "browser: steps, plays, jumps, counts, and draws what was counted" {
    ./lab3 rand:rows=50,deg=40 33 --trace page.html >/dev/null
    browse page.html 1400
    [ "$(grep -c '^ok' <<<"$output")" -ge 20 ]
    # A telephone.
    browse page.html 500 'theme=dark&step=5&warp=1'
}

@test "browser: tensor cores, barriers and copies" {
    ./lab9 "$TINY" 32 --trace page.html >/dev/null
    browse page.html 820
}

@test "browser: two kernels stay together" {
    ./lab1 "$TINY" 32 --trace page.html --vs lab2 >/dev/null
    browse page.html 1400
    [[ $output == *"ok the other side is at the same nonzero"* ]]
}

@test "browser: a race opens at its step, with both threads marked" {
    FAULT=race run ./faulty "$TINY" 5 --racecheck --trace page.html
    browse page.html 1400
    [[ $output == *"ok opens at the finding"* ]]
    [[ $output == *"ok both threads are marked"* ]]
}
