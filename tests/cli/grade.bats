# The starter and the grader: what a student gets, what a submission earns, what is refused, what stays
# when the grader is stopped. tests/cheats has those that want more than they earn. The Makefile reads
# the next line, and builds the runners.
# Grades labs: 1 3

# shellcheck disable=SC2030,SC2031,SC2154

bats_require_minimum_version 1.5.0

setup_file() {
    ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
    cd "$ROOT" || return
    OUT=${OUT:-build/simt}
    export ROOT OUT
    unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES
    [ "${BACKEND:-simt}" = simt ] || return 0
    scripts/starter "$BATS_FILE_TMPDIR/starter"
}

setup() {
    [ "${BACKEND:-simt}" = simt ] || skip "the grader is tested on the CPU backend"
    cd "$ROOT" || return
    unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES
    starter=$BATS_FILE_TMPDIR/starter
    mine=$BATS_TEST_TMPDIR/mine
    json=$BATS_TEST_TMPDIR/results.json
    small=tests/cheats/grade.tsv
}

# grade LAB SUBMISSION [OPTION...]
grade() {
    run -0 "$OUT/grade" "$@" --json "$json"
}

# points FILTER: the points of the tests that the filter keeps.
points() { jq "[.tests[] | select($1) | .score] | add // 0" "$json"; }

# refused TEXT: the submission in $mine gets nothing, for this reason.
refused() {
    grade 1 "$mine" --rubric "$small"
    [ "$(jq .score "$json")" = 0 ]
    jq -r '.tests[0].output' "$json" | grep -F "refused: " | grep -F "$1"
}

# A copy of lab 1's solution in $mine.
take_lab1() {
    mkdir "$mine"
    cp labs/01_row_per_thread/lab.cu "$mine"
}

# answer LAB: fills in its answers.txt in $mine, every prediction right, every question in other words.
answer() {
    awk -F '\t' 'BEGIN { n = split("Eight barriers cost less than fetching values twice from memory/" \
                "Because lanes beyond N have nothing to fetch, half of a request is wasted/" \
                "With longer rows each staged tile pays off sooner, as seen by counting sectors/" \
                "I would try bigger tiles, but then shared memory limits how many blocks fit/" \
                "My guess about barriers was off by two: the last batch has another one", say, "/") }
        FNR == NR { if ($2 == "predict") value["predict." $3] = $4; next }
        /^[a-z].*=$/ { key = $0; sub(/ *=$/, "", key); print key " = " (key in value ? value[key] : key ~ /^(q|reflection)/ ? say[++used] : "me"); next }
        { print }' "labs/$1"/grade.tsv "labs/$1/answers.txt" >"$mine/answers.txt"
}

# unreadable TEXT: $mine is nothing to be graded: status 2, one line that says why, and results of 0 points.
unreadable() {
    run "$OUT/grade" 1 "$mine" --rubric "$small" --json "$json"
    [ "$status" -eq 2 ] && [[ ${lines[-1]} == "grade: $mine: $1" ]]
    jq -e '.score == 0 and (.tests | length) == 8' "$json"
}

# ---- starters ------------------------------------------------------------------------------------

@test "starter: two of the same commit are the same, to the byte" {
    scripts/starter "$BATS_TEST_TMPDIR/again"
    diff -r "$starter" "$BATS_TEST_TMPDIR/again"
    diff <(cd "$starter" && find . -printf '%p %m %t\n' | sort) \
        <(cd "$BATS_TEST_TMPDIR/again" && find . -printf '%p %m %t\n' | sort)
}

@test "starter: that of an unpacked archive is the same, too" {
    mkdir "$BATS_TEST_TMPDIR/archive"
    scripts/source-files | tar -cT - | tar -xC "$BATS_TEST_TMPDIR/archive"
    touch "$BATS_TEST_TMPDIR/archive/lab1"
    "$BATS_TEST_TMPDIR/archive/scripts/starter" "$BATS_TEST_TMPDIR/again"
    diff -r "$starter" "$BATS_TEST_TMPDIR/again"
}

@test "starter: every region is a TODO that names the step, and nothing of its contents is left" {
    for file in labs/*/*.cu labs/*/*.cuh; do
        grep -q 'BEGIN STUDENT' "$file" || continue
        [ "$(grep -c 'BEGIN STUDENT' "$file")" -eq "$(grep -cE 'TODO: .{20,} \*/' "$starter/$file")" ]
        diff <(awk '/END STUDENT/ { s = 0 } !s { sub(/BEGIN STUDENT: .*/, "BEGIN STUDENT */"); print } /BEGIN STUDENT/ { s = 1 }' "$file") \
            <(grep -v 'TODO: ' "$starter/$file")
    done
}

@test "starter: neither the grader, nor its targets, nor measured rows, nor tests with kernels" {
    [ ! -e "$starter/common/grader" ]
    [ -z "$(find "$starter" -name 'grade*' -o -name targets.tsv)" ]
    diff <(cd "$starter/report" && find . -type f | sort) <(cd report && ls -d ./plans/* ./queues/* ./resources.tsv ./results/*/limits.tsv)
    [ -z "$(find "$starter/tests" -name '*.cu' -o -name 'cheats')" ]
    run ! grep -qE '^(grade|starter|ladder|leaderboard|plots|report|predictions)' "$starter/Makefile" "$starter"/mk/*.mk
    [ ! -e "$starter/mk/grader.mk" ] && [ ! -e "$starter/mk/report.mk" ]
    for lab in labs/*/; do [ -f "$starter/${lab}answers.txt" ]; done
}

@test "starter: a README of its own, no notebooks, no dead links, and no link lost that is alive" {
    diff scripts/starter.md "$starter/README.md"
    [ -z "$(find "$starter" -name LOG.md)" ]
    [ ! -e "$starter/docs/tour.md" ]
    local page target linked=0
    while read -r page; do
        while read -r target; do
            case $target in http*) continue ;; esac
            linked=$((linked + 1))
            [ -e "$(dirname "$page")/${target%%#*}" ] || { echo "$page: $target"; false; }
        done < <(tr '\n' ' ' <"$page" | grep -oE '\]\([^) ]+\)' | sed 's/^](\(.*\))$/\1/')
    done < <(find "$starter" -name '*.md')
    [ "$linked" -gt 100 ]
    grep -qF '(docs/where-to-run.md)' "$starter/README.md"
    grep -q '[.]zip' "$starter/README.md" # which it tells to pack
    grep -q '^test   zip ' "$starter/scripts/setup"
    diff docs/counters.md "$starter/docs/counters.md" # every link of it is handed out
    mkdir -p "$BATS_TEST_TMPDIR/a/b"
    printf '%s\n' 'see [here](../a/x.md#part), [gone](y.md) and [a' 'long one](../../z.md); [top](#top), [web](https://w), i[0](1)' 'in [LOG.md](LOG.md).' >"$BATS_TEST_TMPDIR/a/b/p.md"
    printf '%s\n' . ./a ./a/x.md ./a/a ./a/a/x.md ./a/b/p.md | awk -v page=a/b/p.md -f scripts/starter-links.awk - "$BATS_TEST_TMPDIR/a/b/p.md" |
        diff - <(printf '%s\n' 'see [here](../a/x.md#part), gone and a' 'long one; [top](#top), [web](https://w), i0' "in LOG.md (the staff's).")
}

@test "starter: diff says which labs are not written yet" {
    run -0 make -s -C "$starter" diff LAB=3
    [ "${lines[0]}" = "labs/02_warp_per_row is not written yet: of it the diff shows the stub" ]
    [ "${lines[1]}" = "labs/03_shared_tiles is not written yet: of it the diff shows the stub" ]
    [ "${lines[2]}" = "lab 3 grows out of lab 2: write both, and this diff is the step between them" ]
    [ "${lines[3]}" = "--- labs/02_warp_per_row/lab.cu" ]
    mkdir "$mine"
    cp -r "$starter"/* "$mine"
    cp labs/02_warp_per_row/lab.cu "$mine/labs/02_warp_per_row"
    run -0 make -s -C "$mine" diff LAB=3
    [[ ${lines[0]} == "labs/03_shared_tiles is not"* && ${lines[2]} == "--- "* ]]
}

@test "starter: its tests are those of kernels" {
    run -0 make -n -C "$starter" BACKEND=simt test
    [[ $output == *" scripts/run-tests quick "*"build/simt/tests/kernels/matrix"* ]]
}

@test "starter: every lab of it builds as it is, runs, and fails" {
    local tree=$BATS_TEST_TMPDIR/tree stubs=$BATS_TEST_TMPDIR/stubs n programs
    cp -rp "$starter" "$tree"
    # Sources without a stub are compiled already, and newer than the starter's sources. A stub
    # does not use all it is given: warnings of the labs are none of errors here.
    mkdir -p "$tree/build/simt"
    cp -rp "$OUT"/common "$OUT"/labs "$tree/build/simt"
    grep -rl 'BEGIN STUDENT' labs --include='*.cu' --include='*.cuh' >"$stubs"
    cd "$tree"
    grep -rlFf "$stubs" build/simt/labs --include='*.d' | sed 's/d$//' |
        while read -r made; do rm "$made"{o,cc}; done
    local as=(BACKEND=simt CXXFLAGS=-Wno-error WERROR="${WERROR:-0}")
    make "${as[@]}" build/simt/settings
    touch -d @0 build/simt/settings # as if all had been compiled as the stubs are
    mapfile -t programs < <(printf '%s\n' labs/*/ | sed 's,labs/0*\([0-9]*\)_.*,build/simt/lab\1,')
    run -0 nice make -j2 "${as[@]}" "${programs[@]}"
    for n in "${programs[@]}"; do
        run "$n" --vs none
        [ "$status" -eq 1 ] || { echo "$n: $status: $output"; false; }
        [[ $output == *FAIL* ]]
    done
    # Stubs of earlier labs are no news.
    run -1 build/simt/lab3
    [[ $output == *$'\nlab1 row_per_thread  not written yet\nlab2 warp_per_row    not written yet\nlab3 shared_tiles    FAIL '* ]]
    [[ $output == *"FAIL: 0 of 3 contenders right in all "*" elements, 1 wrong, 2 not written yet"* ]]
    # A written lab is tested; an unwritten one is neither right nor wrong.
    cp -p "$ROOT/labs/03_shared_tiles/lab.cu" labs/03_shared_tiles
    touch labs/03_shared_tiles/lab.cu
    make "${as[@]}" build/simt/lab3
    run -0 build/simt/lab3
    [[ ${lines[-1]} == "PASS: 1 of 3 contenders right in all "*" elements, 2 not written yet" ]]
    build/simt/lab3 --json - | jq -e '[.rows[].status] == ["skip", "skip", "ok"]'
    make "${as[@]}" build/simt/tests/kernels/matrix
    run -0 build/simt/tests/kernels/matrix 1/8
    grep -q '^ok .*lab1 .* # SKIP not written yet$' <<<"$output"
    grep -q '^ok .*lab3 shared_tiles: [^#]*$' <<<"$output"
    run ! build/simt/tests/kernels/matrix 1/8 1 # who asks for a lab is told
    [[ $output == *"not ok "*"lab1 "* ]]
}

@test "starter: a folder that is not empty is left alone" {
    mkdir "$mine"
    touch "$mine/homework"
    run scripts/starter "$mine"
    [ "$status" -eq 2 ]
    [[ $output == *"not empty"* ]]
    [ "$(ls "$mine")" = homework ]
}

# ---- what a submission earns ---------------------------------------------------------------------

@test "grade: on a terminal each test is named before it begins" {
    script -qefc true /dev/null </dev/null >/dev/null 2>&1 || skip "script(1) makes no terminal here"
    take_lab1
    script -qefc "$OUT/grade 1 $mine --rubric $small --json $json" /dev/null </dev/null | tr '\r' '\n' >"$BATS_TEST_TMPDIR/said"
    grep -E '^\[ +\] 0/8 compiling the submission *$' "$BATS_TEST_TMPDIR/said"
    grep -E '^\[=* *\] 1/8 correct ' "$BATS_TEST_TMPDIR/said"
    [ "$(grep -cE '^ *[0-9.]+/[0-9]+ +[a-z]+ ' "$BATS_TEST_TMPDIR/said")" -eq 6 ]
}

@test "grade: no lab's solution is refused for how its sources look" {
    local rubric lab
    for rubric in labs/*/grade.tsv; do
        lab=${rubric%/grade.tsv}
        run scripts/grade-stage "$lab" "$lab" "$BATS_TEST_TMPDIR" "$(id -u)"
        [ "$status" -eq 0 ] || { echo "$lab: $output"; false; }
        rm -r "$BATS_TEST_TMPDIR/tree"
    done
}

@test "grade: no lab's solution is refused for what it asks the linker for" {
    local lab kinds source objects=$BATS_TEST_TMPDIR/tree/build/simt texts=()
    for source in labs/*/*.cu; do
        texts+=("$OUT/$source.untraced.i" "$OUT/$source.traced.i")
    done
    run -0 make -s -j2 BACKEND=simt "${texts[@]}"
    for lab in labs/*/; do
        mkdir -p "$objects/$lab" "$objects/traced/$lab"
        for source in "$lab"*.cu; do
            cp "$OUT/$source.o" "$OUT/$source".*.i "$objects/$lab"
            cp "$OUT/traced/$source.o" "$objects/traced/$lab"
        done
        for kinds in "plain traced" traced; do # traced alone: beside a GPU
            run scripts/grade-look "$BATS_TEST_TMPDIR" "${lab%/}" "$OUT" "$kinds"
            [ "$status" -eq 0 ] || { echo "$lab $kinds: $output"; false; }
            rm -r "$BATS_TEST_TMPDIR/simt"
        done
        rm "$objects/$lab"*.o
        run scripts/grade-look "$BATS_TEST_TMPDIR" "${lab%/}" "$OUT" "plain traced"
        [ "$status" -eq 1 ] && [ "$output" = "the compiler left no object" ]
        rm -r "$objects" "$BATS_TEST_TMPDIR/simt"
    done
}

@test "grade: the solution with right answers gets every point there is" {
    mkdir "$mine"
    cp labs/03_shared_tiles/lab.cu "$mine"
    answer 03_shared_tiles
    grade 3 "$mine"
    jq -e '[.tests[] | .score == .max_score] | all' "$json"
    [[ ${lines[-1]} == "lab 3: 80 of 80 points (20 more could not be tested here)" ]]
}

@test "grade: the starter gets the points of the build and no other" {
    grade 3 "$starter"
    [ "$(points '.name == "build"')" = 5 ]
    [ "$(jq .score "$json")" = 5 ]
}

@test "make grade: results go to results.json, or to the file that RESULTS names" {
    local grade=(make -n BACKEND=simt grade LAB=3 SUBMISSION=labs/03_shared_tiles)
    [[ $("${grade[@]}") == *" --json 'results.json' "* ]]
    [[ $("${grade[@]}" RESULTS=build/mine.json) == *" --json 'build/mine.json' "* ]]
}

@test "make grade: a folder's name is one word, whatever stands in it" {
    # shellcheck disable=SC2016
    local name='it'\''s $(shell touch harm) `touch harm` -rf;'
    run -0 make -n BACKEND=simt grade LAB=3 SUBMISSION="$name" RESULTS="it's.json"
    eval "set -- ${lines[-1]}"
    [ "$3" = "$name" ] && [ "$5" = "it's.json" ]
    run -0 make -n BACKEND=simt grade-all LAB=3 SUBMISSIONS="$name"
    eval "set -- ${lines[-1]}"
    [ "$4" = "$name" ]
    # Nor does it run on its way to the grader, by the environment.
    run -2 "$OUT/grade" 3 "$name"
    run -2 make -s BACKEND=simt grade LAB=3 SUBMISSION="$name" RESULTS="$json"
    [[ $output == *"grade: $name: there is no such folder"* ]]
    [ ! -e harm ]
}

@test "grade: beside a GPU the CPU backend builds only what its instruments run" {
    make=(make -n BACKEND=simt LAB=3 KINDS=traced WORK="$BATS_TEST_TMPDIR" --assume-new=labs/03_shared_tiles/lab.cu)
    for goal in lab-objects graded-runners; do
        run -0 "${make[@]}" "$goal"
        [[ $output == *TRACE*labs/03_shared_tiles/lab.cu* ]]
        [[ $output != *"SIMT  "* && $output != *plain* ]]
    done
}

@test "grade: mutants get nothing for results" {
    local file bug
    for bug in rows:LAST_ROW_DROPPED rows:NO_BARRIER_AFTER_READING roma:MASKED_READ_ROW_0 \
        chunks:COUNTER_NOT_RESET; do
        file=${bug%:*} bug=${bug#*:}
        grep -q "MUTANT($bug, " "tests/mutants/$file.cu"
        rm -rf "$mine"
        mkdir "$mine"
        cp "tests/mutants/$file.cu" "$mine/lab.cu"
        cp tests/mutants/mutant.h "$mine"
        # The chosen one is lab 1 here.
        sed -i "s/\.lab = [A-Za-z_]*,/.lab = __builtin_strcmp(#bug, \"$bug\") ? 100 : 1,/
            1,/^#include/s/^#include/#include \"ops\/spmm.h\"\n&/" "$mine/lab.cu" "$mine/mutant.h"
        grade 1 "$mine" --rubric "$small"
        echo "$file $bug: $output"
        [ "$(points '.name == "build"')" = 10 ]
        [ "$(points '.name | startswith("correct spmm shapes")')" = 0 ]
    done
}

@test "grade: a wrong result has no time, wherever the test of it stands" {
    mkdir "$mine"
    cp tests/cheats/replays/lab.cu tests/cheats/honest.* "$mine"
    printf '%s\n' '10 time rand:rows=60,deg=5 33 0.3 0.95' '10 build' \
        '10 correct rand:rows=60,deg=5 33' >"$BATS_TEST_TMPDIR/plan"
    grade 1 "$mine" --rubric "$BATS_TEST_TMPDIR/plan" --rehearse
    jq -e '.score == 10 and .tests[0].max_score == 10 and .leaderboard == [] and
        (.tests[0].output | contains("no time counts"))' "$json"
}

@test "grade: the same submission gets the same points, whatever the secret" {
    take_lab1
    grade 1 "$mine" --rubric "$small"
    cp "$json" "$json.first"
    grade 1 "$mine" --rubric "$small" --seed 7
    diff <(jq '[.tests[] | .name, .score]' "$json.first") <(jq '[.tests[] | .name, .score]' "$json")
}

@test "grade: a whole tree may be handed in, and only the lab's folder of it is used" {
    cp -r "$starter" "$mine"
    cp labs/01_row_per_thread/lab.cu "$mine/labs/01_row_per_thread"
    echo '#error "not this one"' >"$mine/common/ops/spmm.h"
    printf 'all:\n\ttouch %s\n' "$BATS_TEST_TMPDIR/harm" >"$mine/Makefile"
    grade 1 "$mine" --rubric "$small"
    [ "$(points true)" = 70 ]
    [ ! -e "$BATS_TEST_TMPDIR/harm" ]
}

@test "grade: true values of predictions are not told" {
    mkdir "$mine"
    cp labs/03_shared_tiles/lab.cu "$mine"
    sed 's/^\(predict.*=\)$/\1 1/' labs/03_shared_tiles/answers.txt >"$mine/answers.txt"
    grade 3 "$mine"
    [ "$(points '.name | startswith("predict")')" = 0 ]
    jq -r '.tests[] | select(.name | startswith("predict")) | .name, .output' "$json" >"$json.told"
    run ! grep -E '56|1\.457' "$json.told"
}

@test "grade: after a first time-out the other tests of the same program are skipped" {
    mkdir "$mine"
    cp tests/cheats/loops_for_ever/lab.cu tests/cheats/honest.* "$mine"
    grade 1 "$mine" --rubric "$small" --patience 3 --rehearse
    [ "$(points true)" = 10 ]
    [ "$(jq '[.tests[] | select(.output | contains("too much processor time"))] | length' "$json")" -eq 2 ]
    [ "$(jq '[.tests[] | select(.output | startswith("skipped: a test above ran out of time"))] | length' "$json")" -eq 5 ]
}

@test "grade: answers of filler earn nothing, nor do questions that were deleted" {
    local text
    mkdir "$mine"
    cp labs/03_shared_tiles/lab.cu "$mine"
    printf '5 build\n9 answered\n' >"$BATS_TEST_TMPDIR/plan"
    # Ten are asked; name, machine and predictions want no words of one's own.
    answer 03_shared_tiles
    grade 3 "$mine" --rubric "$BATS_TEST_TMPDIR/plan"
    [ "$(points '.name == "answered"')" = 9 ]
    cp "$mine/answers.txt" "$BATS_TEST_TMPDIR/answers"
    for text in "Lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do eiusmod" \
        "barriers barriers barriers barriers barriers barriers" \
        "Which prediction was furthest off, and what did you learn from it?" \
        "One key = value a line. A prediction is one number; percentages go without the sign" \
        "The same sentence about warps and rows below every question"; do
        sed "s/^\(q[0-9]*\) =.*/\1 = $text/" "$BATS_TEST_TMPDIR/answers" >"$mine/answers.txt"
        grade 3 "$mine" --rubric "$BATS_TEST_TMPDIR/plan"
        jq -e '.tests[1].output | test("q4: (too few|no words|hardly)")' "$json"
        jq -e '.tests[1].score <= 9 * 7 / 10' "$json"
    done
    echo "name = me" >"$mine/answers.txt"
    grade 3 "$mine" --rubric "$BATS_TEST_TMPDIR/plan"
    [ "$(points '.name == "answered"')" = 0.9 ]
}

# ---- what is refused -----------------------------------------------------------------------------

@test "grade: links, pipes, odd names and large files are refused" {
    take_lab1
    ln -s /etc/passwd "$mine/notes.h"
    refused "a link"
    rm "$mine/notes.h"
    mkfifo "$mine/pipe.h"
    refused "no regular file"
    rm "$mine/pipe.h"
    # shellcheck disable=SC2016
    touch "$mine/"'$(reboot).h'
    refused "odd characters"
    rm "$mine"/*reboot*
    local name
    for name in -n.h -rf $'two\nlines.h' $'a\ttab.h' $'\x7f.h' $'\xff.h' $'\e[2J.h' 'a blank.h'; do
        touch "$mine/$name"
        refused "odd characters, or one that begins with -"
        rm "$mine/$name"
        mkdir -p "$mine/below/$name"
        refused "odd characters, or one that begins with -"
        rm -r "$mine/below"
    done
    head -c 2000000 /dev/zero >"$mine/data.h"
    refused "larger than 1 MB"
    rm "$mine/data.h"
    # shellcheck disable=SC2016
    echo '#include "ops/$(shell touch harm).h"' >>"$mine/lab.cu"
    refused "an #include of ops/ that is not one"
}

@test "grade: a tree whose folder of the lab is a link gets nothing, wherever that leads" {
    mkdir -p "$mine/labs"
    ln -s "$ROOT/labs/01_row_per_thread" "$mine/labs"
    refused "labs/01_row_per_thread: a link"
    rm -r "$mine/labs"
    ln -s "$ROOT/labs" "$mine/labs"
    refused "labs/01_row_per_thread: a link"
}

@test "grade: a submission that cannot be read is no submission: status 2" {
    unreadable "there is no such folder"
    touch "$mine"
    unreadable "not a folder"
    rm "$mine"
    take_lab1
    # Root may read everything: somebody else tries.
    local as=()
    [ "$(id -u)" -ne 0 ] || as=(setpriv --reuid 65534 --regid 65534 --clear-groups)
    "${as[@]}" test -r "$OUT/grade" -a -x "$ROOT" || skip "nobody else may come here"
    chmod 755 "$BATS_RUN_TMPDIR" "$BATS_TEST_TMPDIR"
    chmod 000 "$mine/lab.cu"
    run "${as[@]}" "$OUT/grade" 1 "$mine" --rubric "$small"
    [ "$status" -eq 2 ] && [ "${lines[-1]}" = "grade: $mine/lab.cu: cannot be read" ]
    chmod 000 "$mine"
    run "${as[@]}" "$OUT/grade" 1 "$mine" --rubric "$small"
    chmod 755 "$mine"
    [ "$status" -eq 2 ] && [ "${lines[-1]}" = "grade: $mine: cannot be read" ]
}

@test "grade: a submission whose own name begins with - is no option" {
    local tree=$BATS_TEST_TMPDIR/tree
    take_lab1
    mkdir "$tree"
    cp -r Makefile config.mk mk scripts common labs "$tree"
    cp -r "$mine" "$tree/-rf"
    run -0 "$tree/scripts/grade-stage" -rf labs/01_row_per_thread "$BATS_TEST_TMPDIR/work" "$(id -u)"
    cmp "$mine/lab.cu" "$BATS_TEST_TMPDIR/work/tree/labs/01_row_per_thread/lab.cu"
}

# words TEXT: what scripts/grade-words says of a source with that text.
words() {
    local lab=labs/01_row_per_thread
    mkdir -p "$BATS_TEST_TMPDIR/$lab"
    cd "$BATS_TEST_TMPDIR" || return
    printf '%b\n' "$1" >$lab/lab.cu
    g++ -std=c++20 -E -x c++ $lab/lab.cu >untraced.i
    g++ -std=c++20 -E -DSIMT_TRACED -x c++ $lab/lab.cu >traced.i
    run "$ROOT/scripts/grade-words" $lab untraced.i traced.i
    cd "$ROOT" || return
}

@test "grade: what keeps code from the instruments is refused, however it is spelt" {
    local says text
    while IFS='|' read -r says text; do
        words "$text"
        echo "$text: $status $output"
        [ "$status" -eq 1 ]
        [[ $output == *"$says"* ]]
        [ "${#lines[@]}" -eq 1 ]
    done <<'END'
lab.cu:1: the attribute no_sanitize, which|__attribute__((no_sanitize("thread"))) void f();
lab.cu:3: the attribute no_sanitize_thread,|\n\nvoid f() __attribute((__no_sanitize_thread__));
the attribute noipa,|[[gnu::noipa]] void f();
the attribute noipa,|[[using gnu: noipa]] void f();
the attribute no_instrument_function,|[[gnu::__no_instrument_function__]] void f();
the attribute optimize,|[[ nodiscard, gnu::optimize("O3") ]] int f();
the attribute target,|__attribute__((noinline, aligned(16), target("avx"))) void f();
the attribute noclone,|#define A(x) [[gnu::x]]\nA(noclone) void f();
the attribute noipa,|<:<:gnu::noipa:>:> void f();
the attribute weak,|__attribute__\n(\n(\nweak\n)\n) void f();
the attribute clang::optnone,|[[clang::optnone]] void f();
the attribute no_sanitize,|#define Q no_sani\\\ntize("thread")\n__attribute__((Q)) void f();
#pragma GCC optimize|#pragma GCC optimize("O0")\nvoid f();
#pragma GCC push_options|%:pragma GCC push_options\nvoid f();
#pragma GCC target("avx2")|_Pragma("GCC target(\\"avx2\\")") void f();
#pragma redefine_extname|#pragma redefine_extname f g\nvoid f();
asm, which|void f() asm("g");
__asm, which|#define G(a, b) a##b\nvoid f() { G(__a, sm)(""); }
_mm_stream_si32, which|void _mm_stream_si32(int *, int);
__builtin_ia32_movnti, which|void f(int *p) { __builtin_ia32_movnti(p, 1); }
__tsan_read4, which|#define G(a, b) a##b\nextern "C" void G(__ts, an_read4)(void *);
__atomic_store_n, which|void f(int *p) { __atomic_store_n(p, 1, 0); }
simt_atomic, which|#define G(a, b) a##b\nvoid f() { G(sim, t_atomic)(); }
asks how, or for what, it is compiled|#ifdef SIMT_TR\\\nACED\nint a;\n#endif\nint b;
END
    for text in '[[maybe_unused]] static int g(int *a, int *b) { return a[b[0]]; }' \
        '__attribute__((noinline, aligned(sizeof(int) * 4))) void f();' '#pragma unroll 4\nint a;' '[[]] int a;' \
        'enum [[deprecated("by asm_free")]] e { x };' 'int target(int optimize) { return optimize; }'; do
        words "$text"
        echo "$text: $status $output"
        [ "$status" -eq 0 ]
    done
}

@test "grade: a #line is refused, whatever stands in it" {
    local text
    take_lab1
    for text in '#line 5 "common/x.h"' '  %: line 1' '# 1 "common/x.h" 1' '/* a */ # /* b\nc */ line 1' \
        'const char *t = R"(\\\n# 1 "common/x.h" 1\n)";'; do
        cp labs/01_row_per_thread/lab.cu "$mine"
        printf "%b\n" "$text" >>"$mine/lab.cu"
        refused "lab.cu: a #line, which tells the instruments wrong places"
    done
}

@test "grade: the answers of usage mistakes are one line" {
    run "$OUT/grade" 3
    [ "$status" -eq 2 ] && [ "${#lines[@]}" -eq 1 ]
    local usage
    for usage in "3 labs --patience never" "3 labs --patience -1" "3 labs --seed x" "three labs" "3 labs --json"; do
        # shellcheck disable=SC2086
        run "$OUT/grade" $usage
        [ "$status" -eq 2 ] && [ "${#lines[@]}" -eq 1 ] && [[ $output == "grade: "* ]]
    done
    run "$OUT/grade" 77 labs
    [ "$status" -eq 2 ] && [[ $output == "grade: there is no lab 77"* ]]
    printf '10\tbuild\n10\tcorect\tshapes\t1\n' >"$BATS_TEST_TMPDIR/plan"
    run "$OUT/grade" 1 labs --rubric "$BATS_TEST_TMPDIR/plan"
    [ "$status" -eq 2 ] && [[ $output == *"plan:2: not a test"* ]]
    run "$OUT/grade" 1 labs --cuda-home /nowhere
    [ "$status" -eq 2 ] && [ "$output" = "grade: /nowhere: no such folder" ]
}

@test "grade: usage mistakes are told without reading what nobody wrote" {
    local usage
    for usage in "" 3 "77 labs" "3 labs --rubric /nowhere" "x y"; do
        # shellcheck disable=SC2086
        run valgrind -q --error-exitcode=9 "$OUT/grade" $usage
        [ "$status" -eq 2 ] && [ "${#lines[@]}" -eq 1 ]
    done
}

# ---- what stays ----------------------------------------------------------------------------------

@test "grade: stopped at any time it leaves whole results, and no process" {
    mkdir "$mine"
    cp tests/cheats/loops_for_ever/lab.cu tests/cheats/honest.* "$mine"
    local work
    work=$(mktemp -u) # others may pass through /tmp
    "$OUT/grade" 1 "$mine" --rubric "$small" --json "$json" --work "$work" >/dev/null 3>&- &
    local pid=$!
    # Until the runner loops: what it is waited for ends without it only if the grader does.
    until pgrep -f "$work/simt/runner/plain 0" >/dev/null; do
        kill -0 "$pid"
        sleep 0.1
    done
    kill -9 "$pid"
    wait "$pid" || true
    jq -e '(.tests | length) == 8 and .tests[0].score == 10 and
        (.tests[1].output | contains("stopped before this test"))' "$json"
    # The kernel kills it with its parent: this waits for as long as that takes.
    while pgrep -f "$work/simt/runner/plain 0" >/dev/null; do sleep 0.1; done
    rm -rf "$work"
}

@test "grade-all: a class has a table and a leaderboard, and is graded once" {
    local class=$BATS_TEST_TMPDIR/class
    mkdir -p "$class/ada" "$class/bob"
    cp labs/01_row_per_thread/lab.cu "$class/ada"
    cp -r "$starter/labs/01_row_per_thread/." "$class/bob"
    run -0 scripts/grade-all "$OUT/grade" 1 "$class" --rubric "$small"
    [ "$(wc -l <"$class.lab1/class.csv")" -eq 3 ]
    grep -q '^"ada",70,70,10,10,' "$class.lab1/class.csv"
    grep -q '^"bob",10,70,10,0,' "$class.lab1/class.csv"
    [ "$(cat "$class.lab1/leaderboard.csv")" = "$(printf 'rank,student,speed,score\n1,ada,,70\n2,bob,,10')" ]
    run -0 scripts/grade-all "$OUT/grade" 1 "$class" --rubric "$small"
    [[ $output == *"ada: graded before"* ]]
    # A name that a table would take for something else.
    mkdir "$class/-rf" "$class/=1+1" "$class"/$'two\nlines'
    run -4 scripts/grade-all "$OUT/grade" 1 "$class" --rubric "$small"
    [ "$(grep -c "NOT GRADED: a folder whose name" <<<"$output")" -eq 3 ]
    [ "$(wc -l <"$class.lab1/class.csv")" -eq 3 ]
}

# ---- new labs ------------------------------------------------------------------------------------

# Makes in $tree a copy of what builds labs, with the objects that are built already. Programs are large, and are linked again.
take_tree() {
    mkdir -p "$tree/build/simt" "$tree/tests"
    cp -rp Makefile config.mk mk scripts common labs "$tree"
    cp -rp tests/kernels "$tree/tests"
    cp -rp "$OUT"/common "$OUT"/labs "$OUT"/settings "$tree/build/simt"
}

@test "new-lab: a lab that is listed, builds, fails, and has a handout to the template" {
    local tree=$BATS_TEST_TMPDIR/tree
    take_tree
    cd "$tree"
    run -0 scripts/new-lab 42_my_idea
    run -0 make -j2 BACKEND=simt build/simt/lab42
    run build/simt/lab42 rand:rows=50,deg=3 5 --vs none
    [ "$status" -eq 1 ] && [[ $output == *"lab42 my_idea  FAIL"* ]]
    diff <(grep '^## ' labs/42_my_idea/README.md) <(grep '^## ' labs/03_shared_tiles/README.md)
    run scripts/new-lab 42_other
    [ "$status" -eq 2 ] && [[ $output == *"there already"* ]]
    run scripts/new-lab 43_x saxpy
    [ "$status" -eq 2 ] && [ "$output" = "new-lab: OP=saxpy: no such operation (there are: $(scripts/operations | cut -d ' ' -f 1 | paste -s -d , | sed 's/,/, /g'))" ]
    [ ! -e labs/43_x ]
    run scripts/new-lab ../42_x
    [ "$status" -eq 2 ]
}

@test "new-lab: of every operation there is, with what its kernels are given" {
    local tree=$BATS_TEST_TMPDIR/tree op width last
    take_tree
    cd "$tree"
    while read -r op width <&4; do
        rm -rf labs/42_*
        run -0 make -s new-lab NAME=42_my_idea OP="$op"
        grep -q "^operation $op$" labs/42_my_idea/grade.tsv
        grep -q "any matrix and any $width, and" labs/42_my_idea/README.md
        tr -s '\n ' ' ' <labs/42_my_idea/lab.cu | grep -q "void ${op}_my_idea_kernel( *int rows, int $width,"
        last=$(scripts/parent-of | awk -v op="$op" '
            $1 == op && $2 != 42 { for (i = 2; i <= 3; i++) if ($i < 42 && $i > last) last = $i } END { print last }')
        [ -z "$last" ] || [ "$(scripts/parent-of 42)" = "$last" ] # an operation of one lab has no line in that list
        run -0 make -j2 BACKEND=simt build/simt/lab42
        run build/simt/lab42 rand:rows=50,deg=3 5 --vs none --csv rows.csv
        [ "$status" -eq 1 ] && [[ $output =~ "lab42 my_idea: "([A-Za-z]+": ")?"nothing was written" ]]
        grep -q "^2,$op,42,my_idea,fp32," rows.csv
    done 4< <(scripts/operations)
}
