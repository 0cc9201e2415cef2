# apps.bash - what the tests of programs that train share: `load apps`.

# bats sets $stderr and the like:
# shellcheck shell=bash disable=SC2154

# open_app NAME: $app is the program, from the project's folder, where the test goes on; it is skipped if there is none.
open_app() {
    name=$1
    ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
    cd "$ROOT" || return
    OUT=${OUT:-build/simt}
    app=$OUT/apps/$name/$name
    [ -x "$app" ] || skip "$app is not built"
    unset SPMM_DATA_DIR MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES
    export OMP_WAIT_POLICY=passive # as scripts/run-tests has it
}

# fails STATUS TEXT WORD...: the program says this one line on stderr, and ends so.
fails() {
    local expected=$1 text=$2
    shift 2
    run --separate-stderr "$app" "$@"
    echo "status $status, stderr: $stderr"
    [ "$status" -eq "$expected" ]
    [ "${#stderr_lines[@]}" -eq 1 ]
    [[ $stderr == "$name: "*"$text"* ]]
}

# build_wrong FILE SCRIPT: the program with apps/NAME/FILE edited by sed, from the objects of the build under test.
build_wrong() {
    local file=apps/$name/$1 script=$2
    [ "${BACKEND:-simt}" = simt ] || skip "one backend is enough"
    mkdir -p "$BATS_TEST_TMPDIR/build/simt"
    cp -rp Makefile config.mk mk scripts common labs apps "$BATS_TEST_TMPDIR"
    cp -rp "$OUT"/{common,labs,apps,generated,settings} "$BATS_TEST_TMPDIR/build/simt"
    cp -rp datasets "$BATS_TEST_TMPDIR"
    cd "$BATS_TEST_TMPDIR" || return
    sed -i "$script" "$file"
    run ! cmp -s "$file" "$ROOT/$file"
    until [ "$file" -nt "$app" ]; do touch "$file"; done
    make -s BACKEND=simt "build/simt/apps/$name/$name" >log 2>&1 || { cat log; return 1; }
    app=build/simt/apps/$name/$name
}
