# How an operation is added (docs/tour.md, case 7): the header and the source of tests/operation are all that a
# tree is given, and everything else knows it.

# bats sets $output and $lines:
# shellcheck disable=SC2154

bats_require_minimum_version 1.5.0

setup_file() {
    ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
    cd "$ROOT" || return
    OUT=${OUT:-build/simt}
    export tree=$BATS_FILE_TMPDIR/tree
    unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES
    [ "${BACKEND:-simt}" = simt ] || return 0
    mkdir -p "$tree/build"
    cp -rp Makefile config.mk .clang-format mk scripts common labs "$tree"
    mkdir "$tree/tests"
    cp -rp tests/kernels tests/operation "$tree/tests"
    cp -rp "$OUT" "$tree/build/simt"
    cp tests/operation/row_norms.* "$tree/common/ops"
    cd "$tree" || return
    make -s new-lab NAME=42_norms OP=row_norms
    # Puts the student's text in place of the stub.
    awk '/END STUDENT/ { inside = 0 } !inside; /BEGIN STUDENT/ { inside = 1; while ((getline line < "tests/operation/kernel.inc") > 0) print line }' \
        labs/42_norms/lab.cu >lab.cu
    mv lab.cu labs/42_norms/lab.cu
    make -s -j2 BACKEND=simt LAB=42 build/simt/lab42 build/simt/traced/lab42 build/simt/traced/grader/lab42 grade-ready >log 2>&1 || cat log >&2
}

setup() {
    [ "${BACKEND:-simt}" = simt ] || skip "one backend is enough"
    cd "$tree" || return
    unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES
}

# graded SCRIPT: grades the lab's folder, its lab.cu edited by sed.
graded() {
    local script=$1
    rm -rf mine
    mkdir mine
    sed "$script" labs/42_norms/lab.cu >mine/lab.cu
    printf '%s\n' '10 build' 'operation row_norms' '10 correct rand:rows=60,deg=5,skew=1.2 1,33' \
        '10 repeated rand:rows=60,deg=5 33' '10 memcheck rand:rows=40,deg=9 5' \
        '10 counter load_sectors 1.1 rand:rows=60,deg=9 33' >plan
    run -0 build/simt/grade 42 mine --rubric plan --json results.json
}

@test "its lab runs, its rows name it, and both outputs are checked" {
    run -0 build/simt/lab42 rand:rows=50,deg=3,skew=1 7 --memcheck --racecheck --csv rows.csv
    [[ $output == *"  row_norms, N = 7, "*"PASS: 1 of 1 contenders right in all 200 elements"* ]]
    grep -q '^2,row_norms,42,norms,fp32,' rows.csv
    run -0 scripts/operations
    [[ $output == *"row_norms N"* ]]
}

@test "it is graded: all points for the solution" {
    graded ''
    [[ ${lines[-1]} == "lab 42: 50 of 50 points" ]]
    [[ $output == *"10/10   correct row_norms rand:"* ]]
}

@test "it is graded: what is wrong is said of the output that it is of" {
    graded 's,values\[z\] / length,values[z],'
    [[ $output == *"N = 33, fp32: unit: wrong values"* || $output == *"N = 1, fp32: unit: wrong values"* ]]
    [[ ${lines[-1]} == "lab 42: 10 of 50 points" ]]
    graded 's,norm\[row\] = ,norm[row + (row == rows - 1)] = ,'
    [[ $output == *"wrote outside of norm: before its start or past its end"* ]]
    graded 's,norm\[row\] = length,if (row % 7) &,'
    [[ $output == *"norm: never written"* ]]
    graded 's,ROW_NORMS_REGISTER(lab42),static spmm_contender other = {.base = {.lab = 42}}; SPMM_REGISTER(other),
        s,ops/row_norms.h",&\n#include "ops/spmm.h",'
    [[ $output == *"the lab registers a contender of spmm, where one of row_norms is asked for"* ]]
}
