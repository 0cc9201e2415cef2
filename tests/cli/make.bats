# The Makefile and its scripts, in a copy of the tree: help, settings, backends, labs found by their
# folders, the runner of the tests. Builds next to nothing: objects come from the build under test.

# bats sets $stderr, and runs each test in a process of its own:
# shellcheck disable=SC2030,SC2031,SC2154

bats_require_minimum_version 1.5.0

setup_file() {
    ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
    case ${OUT:=build/simt} in
        /*) ;;
        *) OUT=$ROOT/$OUT ;;
    esac
    export ROOT
    export BUILT=$OUT TESTED=${BACKEND:-simt}
}

setup() {
    # Variables of an outer make would be taken for wishes of this one.
    unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES OUT BACKEND ARCH DEBUG WERROR CUDA_HOME BUILD V
    tree=$BATS_TEST_TMPDIR/tree
    fake=$BATS_TEST_TMPDIR/fake
    mkdir -p "$tree/tests/cli" "$tree/datasets" "$fake/bin"
    cd "$ROOT" || return
    cp -rp Makefile config.mk mk scripts common labs "$tree"
    cp -p datasets/convert.c "$tree/datasets"
    cd "$tree" || return
    object=build/simt/common/matrix/status.c.o # small, and it depends on little
}

# compiles [KNOB=VALUE...]: whether making $object has something to do; it must succeed.
compiles() {
    make BACKEND=simt "$object" "$@" >log 2>&1 || { cat log; return 2; }
    grep -q 'CC.*common/matrix/status.c' log
}

# Touches a file until it is newer than $object: one tick of the file system's clock may hold both.
touch_after_object() {
    until [ "$1" -nt "$object" ]; do
        touch "$1"
    done
}

# A command in $fake/bin that prints its standard input.
stand_in() {
    { echo '#!/bin/sh'; echo "cat <<'END'"; cat; echo END; } >"$fake/bin/$1"
    chmod +x "$fake/bin/$1"
}

have_nvcc() { printf 'sm_%s\n' 50 75 80 90 100 | stand_in nvcc; }
have_gpu() { printf '%s\n' "${1:-9.0}" | stand_in nvidia-smi; }
have_no_gpu() { printf '#!/bin/sh\nexit 9\n' >"$fake/bin/nvidia-smi"; chmod +x "$fake/bin/nvidia-smi"; }

# detects WORD...: detect-backend, with the stand-ins only, prints all these words.
detects() {
    run -0 env PATH="$fake/bin:$PATH" CUDA_HOME="$fake" "${wish[@]}" scripts/detect-backend
    local word
    for word; do
        [[ " $output " == *" $word "* ]] || { echo "no $word in: $output"; return 1; }
    done
}

# refuses TEXT COMMAND...: fails with one line on stderr that holds TEXT, and nothing on stdout.
refuses() {
    local text=$1
    shift
    run --separate-stderr "$@"
    echo "status $status, stdout: $output, stderr: $stderr"
    [ "$status" -ne 0 ]
    [ -z "$output" ]
    [ "${#stderr_lines[@]}" -eq 1 ]
    [[ $stderr == *"$text"* ]]
}

# ---- compilers -----------------------------------------------------------------------------------

@test "clang is refused in one line, wherever it is asked for" {
    echo '#define __clang__ 1' | stand_in not-gcc
    local path=$fake/bin/not-gcc
    refuses "CXX=$path is clang, and this suite is built by gcc and g++" make BACKEND=simt CXX="$path" lab3
    CC=$path refuses "CC=$path is clang" make BACKEND=simt build/simt/lab3
    run -0 make -n BACKEND=simt CC="$(command -v gcc)" CXX="$(command -v g++)" lab3
    CC=$path run -0 make help
}

# ---- help ----------------------------------------------------------------------------------------

@test "make alone prints help and builds nothing" {
    find . | sort >"$BATS_TEST_TMPDIR/before"
    run -0 make
    find . | sort | diff "$BATS_TEST_TMPDIR/before" -
    [ "${lines[0]}" = "usage: make TARGET [KNOB=value ...]" ]
    [[ $output != *backend:* ]]
    [ "$output" = "$(make help)" ]
}

@test "help shows every target that has a text, every knob, and fits a screen" {
    run -0 make
    [ "$(grep -cE '^(# )?[A-Za-z0-9-]+:.*## ' Makefile)" -gt 8 ]
    while IFS= read -r target; do
        grep -qE "^  $target  +[A-Z]" <<<"$output" || { echo "no target $target"; false; }
    done < <(sed -nE 's/^(# )?([A-Za-z0-9-]+):.*## .*/\2/p' Makefile mk/*.mk labs/*/lab.mk)
    [ "$(grep -c '?=' config.mk)" -gt 4 ]
    while read -r name default; do
        grep -qE "^  $name=$default  +[^ ]" <<<"$output" || { echo "no knob $name"; false; }
    done < <(sed -nE 's/^([A-Z_]+) \?= (.*)/\1 \2/p' config.mk)
    [ "$(awk '{ if (length > n) n = length } END { print n }' <<<"$output")" -le 80 ]
}

@test "every target that a user may call has a text" {
    while read -r target; do
        [ "$target" = FORCE ] || grep -qE "^$target:.*## " Makefile mk/*.mk labs/*/lab.mk || { echo "$target"; false; }
    done < <(sed -n 's/^\.PHONY: //p' Makefile mk/*.mk labs/*/lab.mk | tr ' ' '\n')
}

# ---- the backend ---------------------------------------------------------------------------------

@test "the backend and why is said once" {
    run -0 make BACKEND=simt "$object" build/simt/common/matrix/nearest.c.o
    [ "$(grep -c '^backend: ' <<<"$output")" -eq 1 ]
    [ "${lines[0]}" = "backend: simt: asked for" ]
}

@test "targets that build nothing ask for no backend" {
    run -0 make BACKEND=nonsense help
    run -0 make BACKEND=nonsense clean
    run -0 make BACKEND=nonsense diff LAB=2
}

@test "a backend, architecture or toolkit that cannot be had is one clear line" {
    refuses "BACKEND=cdua: choose cuda, simt or auto" make BACKEND=cdua lab1
    refuses "CUDA_HOME=/nowhere holds no bin/nvcc" make BACKEND=cuda CUDA_HOME=/nowhere lab1
    have_nvcc
    refuses "ARCH=hopper: hopper is none of those this nvcc compiles for: 50 75 80 90 100" \
        make BACKEND=cuda CUDA_HOME="$fake" ARCH=hopper lab1
    refuses "ARCH=80 12: 12 is none of those" \
        make BACKEND=cuda CUDA_HOME="$fake" ARCH="80 12" lab1
    refuses "ARCH=, names no architecture" make BACKEND=cuda CUDA_HOME="$fake" ARCH=, lab1
}

@test "auto: cuda where there are nvcc and a GPU, else simt" {
    wish=()
    have_nvcc
    have_gpu
    detects BACKEND=cuda "CUDA_HOME=$fake" ARCH=90
    [[ $output == *"nvcc~and~9.0~found;~architecture~sm_90~of~this~machine"* ]]
    have_gpu $'8.0\n9.0\n8.0'
    detects BACKEND=cuda ARCH=80+90
    have_no_gpu
    detects BACKEND=simt ARCH=
    [[ $output == *"nvcc~found,~but~no~GPU"* ]]
    CUDA_HOME=/nowhere run -0 scripts/detect-backend
    [[ $output == *"BACKEND=simt "*"CUDA_HOME=/nowhere~holds~no~bin/nvcc"* ]]
}

@test "a toolkit has one name, whatever link leads to it" {
    wish=(BACKEND=cuda CUDA_HOME="$BATS_TEST_TMPDIR/link")
    have_nvcc
    ln -s "$fake" "$BATS_TEST_TMPDIR/link"
    detects "CUDA_HOME=$fake"
}

@test "asked for cuda without a GPU: every architecture from sm_75 up" {
    wish=(BACKEND=cuda)
    have_nvcc
    have_no_gpu
    detects BACKEND=cuda ARCH=75+80+90+100
}

@test "architectures in any spelling, the newest last" {
    have_nvcc
    wish=(BACKEND=cuda ARCH="sm_90, 80")
    detects ARCH=80+90
    wish=(BACKEND=cuda ARCH="90a 50 90a")
    detects ARCH=50+90a
}

# ---- labs ----------------------------------------------------------------------------------------

@test "what a lab defines is its own: the linker would give equal names of two labs one body" {
    [ "$TESTED" = simt ] || skip "nvcc keeps its kernels local"
    # Weak symbols are what the linker merges; other equal names it refuses.
    for lab in labs/*/lab.cu; do
        nm --defined-only --extern-only "$BUILT/$lab.o" | awk '$2 ~ /[WVu]/ && !/DW.ref|_ZNSt/ { print $3 }' | sort -u
    done | sort | uniq -d >"$BATS_TEST_TMPDIR/twice"
    diff /dev/null "$BATS_TEST_TMPDIR/twice"
}

# ---- settings ------------------------------------------------------------------------------------

@test "changed settings rebuild, unchanged ones do not" {
    compiles
    run ! compiles
    compiles CFLAGS=-DONE
    run ! compiles CFLAGS=-DONE
    compiles
    compiles WERROR=1
    run ! compiles WERROR=1
    compiles LDFLAGS=-s
}

@test "a changed header rebuilds what includes it, and nothing else" {
    make BACKEND=simt "$object" build/simt/common/matrix/nearest.c.o >/dev/null
    touch_after_object common/matrix/status.h
    run -0 make BACKEND=simt "$object" build/simt/common/matrix/nearest.c.o
    [[ $output == *"CC    common/matrix/status.c"* ]]
    [[ $output != *"CC    common/matrix/nearest.c"* ]]
}

@test "DEBUG=1 builds beside, without optimisation" {
    compiles
    object=build/simt-debug/common/matrix/status.c.o
    make BACKEND=simt DEBUG=1 V=1 "$object" >log
    grep -q 'gcc.* -O0 .*status.c' log
    object=build/simt/common/matrix/status.c.o
    run ! compiles
}

@test "V=1 shows the commands, else one line each" {
    compiles
    [ "$(grep -c . log)" -eq 2 ]
    touch_after_object common/matrix/status.c
    make BACKEND=simt V=1 "$object" >log
    grep -q '^gcc .*-c common/matrix/status.c' log
}

@test "local.mk is honoured, and the command line goes before it" {
    echo 'BACKEND := simt' >local.mk
    echo 'BUILD := elsewhere' >>local.mk
    echo 'CFLAGS := -DMINE' >>local.mk
    run -0 make V=1 elsewhere/simt/common/matrix/status.c.o
    [ "${lines[0]}" = "backend: simt: asked for" ]
    [[ $output == *" -DMINE "* ]]
    [ ! -e build ]
    run -0 make V=1 BUILD=third CFLAGS=-DYOURS third/simt/common/matrix/status.c.o
    [[ $output == *" -DYOURS "* && $output != *MINE* ]]
}

@test "clean leaves the tree as it was" {
    find . | sort >"$BATS_TEST_TMPDIR/before"
    compiles
    touch lab1 lab5
    rm log
    run -0 make clean
    [ -z "$output" ]
    find . | sort | diff "$BATS_TEST_TMPDIR/before" -
}

# ---- labs ----------------------------------------------------------------------------------------

# link_line N: what would link labN.
link_line() {
    make -n BACKEND=simt V=1 "lab$1" 2>/dev/null | grep -E -- "-o build/simt/lab$1 "
}

@test "a lab links itself and the labs before it" {
    line=$(link_line 3)
    [[ $line == *labs/01_row_per_thread/lab.cu.o* ]]
    [[ $line == *labs/03_shared_tiles/lab.cu.o* ]]
    [[ $line != *labs/04_* ]]
    [[ $(link_line 5) == *labs/05_split_rows/segments.cu.o* ]]
}

@test "a new folder is enough for a new lab" {
    [ "$TESTED" = simt ] || skip "it is built for the CPU backend only"
    [ -d "$BUILT/labs" ] || skip "$BUILT is not built"
    mkdir -p build/simt/traced
    cp -rp "$BUILT/common" "$BUILT/labs" "$BUILT/settings" build/simt
    cp -rp "$BUILT/traced/common" "$BUILT/traced/labs" build/simt/traced
    cp -rp labs/02_warp_per_row labs/42_copy
    sed -i 's/\.lab = 2,/.lab = 42,/; s/\.name = "[a-z_]*"/.name = "copy"/
            s/lab2/lab42/; s/spmm_[a-z_]*_kernel/spmm_copy_kernel/' labs/42_copy/lab.cu
    # As the objects were built, lest all of them are built again.
    werror=$(grep -c -- ' -Werror' build/simt/settings || true)
    run -0 make BACKEND=simt WERROR="$((werror > 0))" lab42
    run -0 ./lab42 rand:rows=9,deg=3 5
    [[ $output == *"lab5 split_rows "*"lab42 copy "*"PASS: "*" contenders right"* ]]
    [[ $(link_line 5) != *42_copy* ]]
    [[ $(make -n BACKEND=simt all) == *"build/simt/lab42"* ]]
    run -0 make clean
    [ ! -e lab42 ]
}

@test "a program of apps that states a number is a lab" {
    mkdir -p apps/net apps/other
    printf '/*\n * Lab 61 - net: its idea.\n */\n' >apps/net/net.c
    printf '/*\n * other.c - a program.\n */\n' | tee apps/other/other.c >apps/net/part.c
    [[ $(make -n BACKEND=simt V=1 lab61) == *"-o build/simt/apps/net/net "*"cp -f build/simt/apps/net/net lab61"* ]]
    [[ $(make -n BACKEND=simt all) == *"cp -f build/simt/apps/net/net lab61"* ]]
    [[ $(make -n BACKEND=simt all) != *"apps/other"* ]]
    touch lab61
    run -0 make clean
    [ ! -e lab61 ]
}

@test "a lab of another operation links none of SpMM's" {
    mkdir labs/43_other
    echo 'const operation other_operation = {' >common/ops/other.c
    echo 'OTHER_REGISTER(lab_other);' >labs/43_other/lab.cu
    line=$(link_line 43)
    [[ $line == *labs/43_other/lab.cu.o* && $line != *labs/01_* ]]
    [[ $(link_line 5) != *43_other* ]]
}

@test "a lab that names no operation is refused" {
    mkdir labs/43_other
    echo '#include "device/warp.cuh"' >labs/43_other/lab.cu
    refuses "labs/43_other/lab.cu registers no contender, so its operation is unknown" \
        make BACKEND=nonsense help
}

@test "a lab that is not there" {
    run --separate-stderr -2 make BACKEND=simt lab98
    [[ $stderr == *"No rule to make target 'lab98'"* ]]
}

# ---- files and their commit ----------------------------------------------------------------------

# repository FOLDER: makes the folder one, of what it holds, whatever this user's git is set to.
repository() {
    command -v git >/dev/null || skip "git is missing"
    unset "${!GIT_@}"
    export HOME=$BATS_TEST_TMPDIR GIT_CONFIG_NOSYSTEM=1
    git init -q "$1"
    git -C "$1" add .
    git -C "$1" -c user.name=x -c user.email=x commit -q --allow-empty -m x
}

# commit_is TEXT: what programs built here would say.
commit_is() {
    make BACKEND=simt build/simt/generated/commit.h >/dev/null
    grep -qxF "#define COMMIT \"$1\"" build/simt/generated/commit.h
}

@test "the commit is that of this tree, with a mark where it is edited, else unknown" {
    commit_is unknown
    printf '*\n' >"$BATS_TEST_TMPDIR/.gitignore"
    repository "$BATS_TEST_TMPDIR" # of something else, around this tree
    commit_is unknown
    repository .
    commit_is "$(git rev-parse --short=12 HEAD)"
    echo >>config.mk
    commit_is "$(git rev-parse --short=12 HEAD)-dirty"
    printf '#!/bin/sh\nexit 127\n' >"$fake/bin/git" # as if there were none
    chmod +x "$fake/bin/git"
    PATH=$fake/bin:$PATH commit_is unknown
}

@test "the project's files are those that git tracks, elsewhere all that it does not ignore" {
    mkdir -p small/scripts small/build small/labs/__pycache__ small/datasets/data
    cp Makefile "$ROOT/.gitignore" small
    cp scripts/source-files small/scripts
    cd small || return
    touch lab3 labs/lab3 build/x labs/__pycache__/x datasets/data/x
    local project=$'.gitignore\nMakefile\nlabs/lab3\nscripts/source-files'
    [ "$(scripts/source-files)" = "$project" ]
    printf '*\n' >"$BATS_TEST_TMPDIR/.gitignore"
    repository "$BATS_TEST_TMPDIR"
    [ "$(scripts/source-files)" = "$project" ]
    repository .
    touch new
    [ "$(scripts/source-files)" = "$project" ]
    [ "$(scripts/source-files --new)" = "${project/scripts/new$'\n'scripts}" ]
    run -2 scripts/source-files --old
}

# ---- format --------------------------------------------------------------------------------------

@test "what nvcc gets wrong is refused: members assigned by name, without a type" {
    local tool
    for tool in clang-format shellcheck; do
        command -v $tool >/dev/null || skip "$tool is missing"
    done
    mkdir -p small/scripts
    cp scripts/check-format scripts/source-files small/scripts
    cp "$ROOT"/.clang-format "$ROOT"/.gitignore small
    cd small || return
    cat >right.cu <<'END'
template <class T> struct pair {
    T first, second;
};

template <class T> void f(pair<T> *p)
{
    const pair<T> declared = {.second = 2};
    static const pair<T> beside[2] = {
        {.second = 1},
        {.second = 2},
    };
    *p = pair<T>{.second = 2};
    p[1] = {};
}
END
    run -0 scripts/check-format
    local form
    for form in '*p = {.second = 2};' 'p[1 + 1] = {.second = 2};' 'if (p) *p = {.second = 2};' \
        '(*p) = {.second = 2}; // {' $'*p = {\n.second = 2};' $'*p =\n{.second = 2};'; do
        printf '// clang-format off\ntemplate <class T> void g(pair<T> *p) {\n%s\n}\n' "$form" >wrong.cu
        run -1 scripts/check-format
        [[ $output == "wrong.cu:"*"name the type, too"* ]] || { echo "$form: $output"; return 1; }
        [ "${#lines[@]}" -eq 2 ]
    done
}

# ---- diff ----------------------------------------------------------------------------------------

@test "diff shows what a lab changes, code only" {
    echo "a handout" >labs/02_warp_per_row/handout.md
    echo "another" >labs/03_shared_tiles/handout.md
    run -0 make diff LAB=3
    [ "${lines[0]}" = "--- labs/02_warp_per_row/lab.cu" ]
    [ "${lines[1]}" = "+++ labs/03_shared_tiles/lab.cu" ]
    [[ $output == *"+"*"__shared__"* ]]
    [[ $output != *handout* ]]
    [ "$output" = "$(make diff LAB=03)" ]
}

@test "diff shows files that are new" {
    run -0 make diff LAB=5
    [[ $output == *"+++ labs/05_split_rows/segments.cu"* ]]
    [[ $output == *"+++ labs/05_split_rows/segments.h"* ]]
}

@test "diff is with the lab that a lab grows out of, whatever lies between" {
    run -0 make diff LAB=6
    [ "${lines[0]}" = "--- labs/04_tuning/lab.cu" ]
    [[ $output == *"+++ labs/06_roma/lab.cu"* && $output != *05_split_rows* ]]
    [ "$(scripts/parent-of 6)" = 4 ]
    [ -z "$(scripts/parent-of 1)$(scripts/parent-of 98)" ]
    [ "$(scripts/parent-of | head -n 2)" = "spmm 2 1"$'\n'"spmm 3 2" ]
    [ "$(scripts/parent-of 99)" = 15 ]
    [ "$(scripts/parent-of 99 sddmm)" = 33 ]
}

@test "diff of a lab that is not there, or grows out of none" {
    refuses "diff-lab: which lab? (make diff LAB=3)" scripts/diff-lab
    refuses "diff-lab: which lab?" scripts/diff-lab three
    refuses "diff-lab: there is no lab 98 (see labs/)" scripts/diff-lab 98
    refuses "diff-lab: lab 1 grows out of no other lab" scripts/diff-lab 1
    run ! make diff LAB=98
    [ "${lines[0]}" = "diff-lab: there is no lab 98 (see labs/)" ]
}

# ---- the runner of the tests ---------------------------------------------------------------------

# program NAME: a test program that prints its standard input and exits with $2.
program() {
    { echo '#!/bin/sh'; echo "cat <<'END'"; cat; echo END; echo "exit ${2:-0}"; } >"$1"
    chmod +x "$1"
}

# run_tests PROGRAM...: of programs, and one file of command-line tests.
run_tests() {
    touch tests/cli/x.bats
    stand_in bats <<<$'1..1\nok 1 x'
    run env PATH="$fake/bin:$PATH" OUT=. BACKEND=cuda scripts/run-tests all "$@"
    echo "$output"
}

@test "tests are counted, and the exit status follows" {
    program good <<<$'ok 1 - a\nok 2 - b\nok 3 - c # SKIP no GPU\nnot ok 4 # SKIP as cmocka says it\n1..4'
    run_tests ./good
    [ "$status" -eq 0 ]
    [ "${lines[-1]}" = "3 passed, 0 failed, 2 skipped" ]
    [[ $output == *"ok 3 - c # SKIP no GPU"* ]]
    program bad 1 <<<$'ok 1 - a\nnot ok 2 - b\n# why\n1..2'
    run_tests ./good ./bad
    [ "$status" -eq 1 ]
    [ "${lines[-1]}" = "4 passed, 1 failed, 2 skipped" ]
    [[ $output == *$'not ok 2 - b\n# why'* ]]
}

@test "suites run wherever the runner is called from" {
    program good <<<$'ok 1 - a\n1..1'
    stand_in bats <<<$'1..1\nok 1 x'
    touch tests/cli/x.bats
    cd tests
    PATH=$fake/bin:$PATH OUT=. BACKEND=cuda run -0 ../scripts/run-tests all ./good
    [ "${lines[-1]}" = "2 passed, 0 failed, 0 skipped" ]
}

@test "a suite that dies, tests nothing, or fewer than it said, is a failure" {
    program dies 139 <<<'ok 1 - a'
    run_tests ./dies
    [ "$status" -eq 1 ]
    [ "${lines[-1]}" = "2 passed, 1 failed, 0 skipped" ]
    [[ $output == *"Non-zero exit status: 139"* ]]
    program silent <<<''
    run_tests ./silent
    [ "$status" -eq 1 ]
    [ "${lines[-1]}" = "1 passed, 1 failed, 0 skipped" ]
    program short <<<$'1..2\nok 1 - a'
    run_tests ./short
    [ "$status" -eq 1 ]
    [ "${lines[-1]}" = "2 passed, 1 failed, 0 skipped" ]
    [[ $output == *"Bad plan.  You planned 2 tests but ran 1."* ]]
}
