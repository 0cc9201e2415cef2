# `make lib`: the library in programs outside the suite, which a plain gcc line links.

# bats sets $output and $lines:
# shellcheck disable=SC2154

bats_require_minimum_version 1.5.0

setup() {
    ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
    cd "$ROOT" || return
    unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES # of the make that runs the tests
    programs=${OUT:-build/simt}
    [ -e "$programs/lib/libsparse_plan.a" ] || skip "the library is not built"
    program=$BATS_TEST_TMPDIR/program
}

# build FILE: links it as `make lib` says that a program is linked.
build() {
    local line
    line=$(make -n BACKEND="${BACKEND:-simt}" lib | grep -o 'gcc -std=c11 program.c [^'"']*")
    eval "${line/program.c/-Wall -Wextra -Werror -o \"$program\" \"$1\"}"
}

@test "the page's program is short, builds without a warning, and prints what the page says" {
    awk '/^```/ { c = $0 == "```c"; next } c' docs/use-it.md >"$BATS_TEST_TMPDIR/ring.c"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/ring.c")" -le 65 ]
    build "$BATS_TEST_TMPDIR/ring.c"
    "$program" >"$BATS_TEST_TMPDIR/printed"
    # Which kernel the rule takes is the device's affair; the CPU backend answers as an H200.
    [ "${BACKEND:-simt}" = simt ] || sed -i 's/^[a-z_]*:/overlapped_blocks:/' "$BATS_TEST_TMPDIR/printed"
    diff <(awk '/^```/ { show = $0 == "```text"; next } show' docs/use-it.md) "$BATS_TEST_TMPDIR/printed"
}

@test "the page links a program as make lib says" {
    [ "${BACKEND:-simt}" = simt ] || skip "the paths of CUDA are the machine's"
    libraries=$(make -n BACKEND=simt BUILD=build lib | grep -o -e '-lsparse_plan [^'"']*")
    grep -q "^gcc build/ring.c .*$libraries\$" docs/use-it.md
}

@test "every operation, all kernels of SpMM, what is refused, threads" {
    build tests/library/plans.c
    run -0 "$program"
    echo "$output"
    [ "$(grep -c '^ok ' <<<"$output")" -ge 25 ]
    run ! grep -q '^not ok' <<<"$output"
}

@test "a plan that computes another product is found by that program" {
    sed 's,sum += values->host.k. \* B,sum += 2 * values->host[k] * B,' tests/library/plans.c >"$BATS_TEST_TMPDIR/wrong.c"
    build "$BATS_TEST_TMPDIR/wrong.c"
    run -1 "$program"
    [[ ${lines[0]} = *"# kernel"* ]]
}

@test "no other names than its own are visible" {
    names=$(nm "$programs/lib/libsparse_plan.a" | awk '$2 ~ /^[A-Z]$/ && $2 != "U" { print $3 }')
    [ "$(grep -c '^sparse_' <<<"$names")" -ge 15 ]
    if [ "${BACKEND:-simt}" = simt ]; then names=$(grep -vE '^(cuda|cublas)[A-Z]' <<<"$names"); fi
    run -1 grep -v '^sparse_' <<<"$names"
    echo "$output"
}

@test "the header is C++, too, and needs nothing of the suite beside it" {
    [ "${BACKEND:-simt}" = simt ] || skip "one backend is enough"
    echo '#include <sparse_plan.h>' >"$BATS_TEST_TMPDIR/one.cc"
    g++ -std=c++11 -Wall -Wextra -Werror -fsyntax-only -I"$programs/lib/include" "$BATS_TEST_TMPDIR/one.cc"
}
