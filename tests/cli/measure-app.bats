# Scripts that measure apps: what they need, where rows go, and that one failure does not stop the rest.

# bats sets $stderr and the like, and runs each test in a process of its own:
# shellcheck disable=SC2030,SC2031,SC2154

bats_require_minimum_version 1.5.0

setup() {
    cd "$BATS_TEST_DIRNAME/../.." || return
    export PROGRAMS=$BATS_TEST_TMPDIR/programs KEPT=$BATS_TEST_TMPDIR/kept RESULTS=
}

# program PATH: a program of $PROGRAMS that runs the script on standard input.
program() {
    mkdir -p "$(dirname "$PROGRAMS/$1")"
    { echo '#!/bin/sh'; cat; } >"$PROGRAMS/$1"
    chmod +x "$PROGRAMS/$1"
}

# app NAME: one that writes a row of its words; it fails where they have "gcn", and has no room, but a row, for "128".
app() {
    program "apps/$1/$1" <<'END'
words=$*
while [ "$1" != --csv ]; do shift; done
case $words in *gcn*) exit 1 ;; esac
printf '%s\n' words "$words" >"$2"
case $words in *" 128"*) exit 5 ;; esac
END
}

# lab36 FOLDER: of a GPU whose rows go there; without one, of the CPU.
lab36() { program lab36 <<<"echo 'lab36, commit 1'${1:+; echo folder: $1}"; }

@test "every app that can be timed has a script that begins with its name" {
    for script in apps/*/measure; do
        name=$(basename "$(dirname "$script")")
        grep -qx "measure_app $name" "$script"
        run --separate-stderr -2 "$script"
        [ "$stderr" = "measure: $PROGRAMS/apps/$name/$name is not built (make measure-app APP=$name)" ]
        [ -z "$output" ]
    done
}

@test "77: programs for the CPU have no times" {
    app gat
    lab36
    run --separate-stderr -77 apps/gat/measure
    [ "$stderr" = "measure: needs a GPU; $PROGRAMS has programs for the CPU, or there is no GPU here" ]
}

@test "rows of all runs in one file; a failure is told at the end, and what does not fit is none" {
    app gat
    lab36 h1
    export RESULTS=$BATS_TEST_TMPDIR/results
    run --separate-stderr -1 apps/gat/measure cora.mtx
    [ "$(grep -c '^measure: exit 1: .*--model gcn' <<<"$stderr")" -eq 6 ]
    [[ $output == *"$RESULTS/apps-gat.csv: 6 rows" ]]
    [ "$(grep -cx words "$RESULTS/apps-gat.csv")" -eq 1 ]
    [ "$(grep -c '^arxiv --model gat --heads' "$RESULTS/apps-gat.csv")" -eq 3 ]
    sed -i 's/exit 1/exit 0/' "$PROGRAMS/apps/gat/gat"
    run -0 apps/gat/measure
    [[ $output == *"$RESULTS/apps-gat.csv: 3 rows" ]] # begun anew
}

@test "the same command goes on: runs that ended well are kept, of one commit, until RETRY=1" {
    export RESULTS=$BATS_TEST_TMPDIR/results
    app gat
    lab36 h1
    run -1 apps/gat/measure
    [ "$(grep -c '^+ ' <<<"$output")" -eq 6 ]
    sed -i 's/ words "/ again "/' "$PROGRAMS/apps/gat/gat"
    run -1 apps/gat/measure
    [ "$(grep -c '^kept: ' <<<"$output")" -eq 3 ]
    [ "$(grep -c '^+ .*gcn' <<<"$output")" -eq 3 ] # what failed runs again
    [ "$(grep -c '^arxiv --model gat --heads' "$RESULTS/apps-gat.csv")" -eq 3 ]
    [ "$(head -n 1 "$RESULTS/apps-gat.csv")" = words ]
    RETRY=1 run -1 apps/gat/measure
    [ "$(grep -c '^+ ' <<<"$output")" -eq 6 ]
    [ "$(head -n 1 "$RESULTS/apps-gat.csv")" = again ]
    for commit in 2 3-dirty 3-dirty; do
        sed -i "s/commit [^;,' ]*/commit $commit/" "$PROGRAMS/lab36"
        run -1 apps/gat/measure
        [ "$(grep -c '^+ ' <<<"$output")" -eq 6 ]
    done
}

@test "4: a folder that cannot be written" {
    app gat
    lab36 h1
    RESULTS=/dev/null/x run -4 apps/gat/measure
}

@test "make measure-app names what it builds and runs" {
    run -0 make -s -n BACKEND=simt measure-app APP=mlp
    [[ $output == *"PROGRAMS='build/simt' apps/mlp/measure"* ]]
    run -2 make -s BACKEND=simt measure-app
    [[ $output == *"measure-app: which app? (make measure-app APP=gat)"* ]]
}
