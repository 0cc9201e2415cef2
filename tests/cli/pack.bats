# Packs for others: the archive of the sources, and the one that Gradescope takes.

# shellcheck disable=SC2030,SC2031,SC2154

bats_require_minimum_version 1.5.0

setup() {
    ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
    cd "$ROOT" || return
    unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES
    built=$ROOT/${OUT:-build/simt}
    tree=$BATS_TEST_TMPDIR/tree
    zip=$BATS_TEST_TMPDIR/a.zip
    mkdir "$tree"
}

# refuses STATUS TEXT COMMAND...: one line on standard error.
refuses() {
    run --separate-stderr "-$1" "${@:3}"
    echo "$stderr"
    [ "${#stderr_lines[@]}" -eq 1 ]
    [[ $stderr == *"$2"* ]]
}

# Takes the programs built here, as if $tree had built them: its sources are older, its commit another.
take_objects() {
    [ "${BACKEND:-simt}" = simt ] || skip "the grader is tested on the CPU backend"
    [ -e "$built/settings" ] || skip "$built is not built"
    local folder
    mkdir -p "$tree/build/simt/traced"
    cp -p "$built/settings" "$tree/build/simt"
    for folder in common labs/03_shared_tiles labs/01_row_per_thread traced/common traced/labs/03_shared_tiles; do
        mkdir -p "$tree/build/simt/${folder%/*}"
        cp -rp "$built/$folder" "$tree/build/simt/$folder"
    done
    # As the objects were built, lest all of them are built again.
    WERROR=$(grep -c -- ' -Werror' "$built/settings" || true)
    export WERROR=$((WERROR > 0))
}

# ---- the sources ---------------------------------------------------------------------------------

@test "release: the project's files and no other, the same bytes each time" {
    scripts/release "$BATS_TEST_TMPDIR/a.tar.gz"
    scripts/release "$BATS_TEST_TMPDIR/b.tar.gz"
    cmp "$BATS_TEST_TMPDIR/a.tar.gz" "$BATS_TEST_TMPDIR/b.tar.gz"
    diff <(scripts/source-files) <(tar -tzf "$BATS_TEST_TMPDIR/a.tar.gz" | sed 's,^spmm-labs-[^/]*/,,' | LC_ALL=C sort)
    run ! grep -vE '^[-drwx]+ 0/0 +[0-9]+ 1970-01-01 00:00 ' <(TZ=UTC tar -tvzf "$BATS_TEST_TMPDIR/a.tar.gz")
    refuses 2 "x.zip: not called .tar.gz" scripts/release "$BATS_TEST_TMPDIR/x.zip"
}

@test "release: nothing is written where a file is missing" {
    git clone -q . "$tree" 2>/dev/null || skip "git does not track this tree"
    cp scripts/release "$tree/scripts/"
    rm "$tree/README.md"
    run -4 "$tree/scripts/release" "$BATS_TEST_TMPDIR/a.tar.gz"
    [[ $output == *"release: $BATS_TEST_TMPDIR/a.tar.gz: not written"* ]]
    [ ! -e "$BATS_TEST_TMPDIR/a.tar.gz" ]
}

@test "release: what is unpacked builds and runs without git, and says that its commit is unknown" {
    scripts/release "$BATS_TEST_TMPDIR/a.tar.gz"
    tar -C "$tree" --strip-components=1 -xzf "$BATS_TEST_TMPDIR/a.tar.gz"
    take_objects
    mkdir "$BATS_TEST_TMPDIR/bin"
    printf '#!/bin/sh\nexit 127\n' >"$BATS_TEST_TMPDIR/bin/git"
    chmod +x "$BATS_TEST_TMPDIR/bin/git"
    PATH=$BATS_TEST_TMPDIR/bin:$PATH
    cd "$tree"
    run --separate-stderr -0 make BACKEND=simt build/simt/lab1
    [ -z "$stderr" ]
    run -0 build/simt/lab1 --version
    [ "$output" = "build/simt/lab1, commit unknown, backend simt" ] || [ "$output" = "lab1, commit unknown, backend simt" ]
    run -0 build/simt/lab1
    [[ ${lines[-1]} == "PASS: "* ]]
    diff <(scripts/source-files) <(tar -tzf "$BATS_TEST_TMPDIR/a.tar.gz" | sed 's,^spmm-labs-[^/]*/,,' | LC_ALL=C sort)
}

# ---- Gradescope ----------------------------------------------------------------------------------

@test "autograder: a wrong call is one line" {
    refuses 2 "which lab?" scripts/autograder
    refuses 2 "LAB=three: not a number" scripts/autograder three "$zip"
    refuses 2 "which archive?" scripts/autograder 3
    refuses 2 "x.tar: not called .zip" scripts/autograder 3 x.tar
    refuses 2 "/nowhere: no such folder" scripts/autograder 3 /nowhere/x.zip
    refuses 2 "there is no lab 98" scripts/autograder 98 "$zip"
    [ ! -e "$zip" ]
}

@test "autograder: of other labs only what this one links; no tests, no texts; the same bytes each time" {
    make -s autograder LAB=03 OUT="$zip"
    scripts/autograder 3 "$BATS_TEST_TMPDIR/b.zip"
    cmp "$zip" "$BATS_TEST_TMPDIR/b.zip"
    unzip -q "$zip" -d "$tree"
    [ "$(cd "$tree" && echo labs/*)" = labs/03_shared_tiles ]
    [ "$(cd "$tree" && find . -name '*.md')" = ./labs/03_shared_tiles/README.md ]
    [ "$(cd "$tree" && echo *)" = "Makefile common config.mk datasets labs mk run_autograder scripts setup.sh" ]
    [ -x "$tree/setup.sh" ]
    [ -x "$tree/run_autograder" ]
    scripts/autograder 7 "$zip"
    diff <(unzip -Z1 "$zip" | sed -n 's,^labs/\([^/]*\)/.*,\1,p' | sort -u) \
        <({ echo 07_subwarp; sed -n 's/^links[[:space:]]*//p' labs/07_subwarp/grade.tsv; } | sort)
    shellcheck "$tree/setup.sh" "$tree/run_autograder"
}

@test "autograder: grades where Gradescope puts things, and whatever is handed in has its results" {
    export AUTOGRADER=$BATS_TEST_TMPDIR/autograder
    mkdir "$AUTOGRADER"
    mv "$tree" "$AUTOGRADER/source"
    tree=$AUTOGRADER/source
    scripts/autograder 3 "$zip"
    unzip -q "$zip" -d "$tree"
    take_objects
    sh "$tree/setup.sh"
    [ "$(stat -c %a "$tree")" = 700 ]
    cp "$tree/run_autograder" "$AUTOGRADER"
    cp -r labs/03_shared_tiles "$AUTOGRADER/submission"
    run -0 "$AUTOGRADER/run_autograder"
    jq -e '.score > 0 and ([.tests[] | select(.name | test("^(build|correct|repeated|memcheck|racecheck|counter)")) | .score == .max_score] | all)' \
        "$AUTOGRADER/results/results.json"
    rm "$AUTOGRADER/submission/lab.cu"
    run -0 "$AUTOGRADER/run_autograder"
    jq -e '.score == 0 and (.tests | length) > 5' "$AUTOGRADER/results/results.json"
    rm -r "$AUTOGRADER/submission"
    run -0 "$AUTOGRADER/run_autograder"
    jq -e '.score == 0' "$AUTOGRADER/results/results.json"
    rm "$tree/Makefile"
    run ! "$AUTOGRADER/run_autograder"
    [ ! -e "$AUTOGRADER/results/results.json" ]
}
