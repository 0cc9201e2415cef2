# scripts/setup without root and network. A copy of it sees only the commands in $BIN: a few plain
# tools, and stand-ins that write each call to $CALLS.
#
# bats sets $stderr_lines, runs each test in a process of its own, and stand-ins expand what they are
# made of; no name here holds a blank:
# shellcheck disable=SC2012,SC2016,SC2030,SC2031,SC2154

bats_require_minimum_version 1.5.0

setup() {
    export BIN=$BATS_TEST_TMPDIR/bin CALLS=$BATS_TEST_TMPDIR/calls
    export HEADERS=$BATS_TEST_TMPDIR/headers SUITE=$BATS_TEST_TMPDIR/suite
    export CUDA_HOME=$SUITE/.cuda # hides a toolkit that this machine may have
    export DEBIAN_PYTHON=$BIN/python3 # and its matplotlib
    mkdir -p "$BIN" "$HEADERS" "$SUITE/scripts"
    : >"$CALLS"
    cp "$BATS_TEST_DIRNAME/../../scripts/setup" "$BATS_TEST_DIRNAME/../../scripts/detect-backend" \
        "$SUITE/scripts"
    for tool in cat cut dirname ln mkdir mv paste readlink rm rmdir sed sh sort tail touch tr; do
        ln -s "$(command -v "$tool")" "$BIN/$tool"
    done
    stand_in id <<<'echo "${USER_ID:-1000}"'
}

# stand_in NAME: a command that writes down its call, then does what standard input says.
stand_in() {
    rm -f "$BIN/$1"
    { echo '#!/bin/sh'; echo "echo \"$1 \$*\" >>\"\$CALLS\""; cat; } >"$BIN/$1"
    chmod +x "$BIN/$1"
}

# packages PURPOSE, signs PURPOSE: from the table in scripts/setup, on one line.
packages() { of_needs "$1" 2; }
signs() { of_needs "$1" 3; }
of_needs() {
    sed -n '/^needs() {/,/^END/p' "$SUITE/scripts/setup" |
        awk -v purpose="$1" -v column="$2" '$1 == purpose { print $column }' | paste -s -d ' ' -
}

# meet PURPOSE: this machine has what the signs stand for.
meet() {
    local sign
    for sign in $(signs "$1"); do
        case $sign in
            *.h) touch "$HEADERS/$sign" ;;
            gcc | python3 | pip) ;;
            *) stand_in "$sign" </dev/null ;;
        esac
    done
    printf '#!/bin/sh\ncat "$HEADERS/$3"\n' >"$BIN/gcc" # gcc -E -include HEADER
    chmod +x "$BIN/gcc"
}

# A Python whose pip makes empty wheels and a toolkit of three files, and fails at $FAILING.
have_python() {
    export FAILING=${1:-nothing}
    stand_in python3 <<'END'
[ "$1 $2" != "-c import pip" ] || exit "${NO_PIP:-0}"
case "$*" in *"$FAILING"*)
    printf 'WARNING: pip says much\nERROR: no such wheel\n' >&2
    exit 1
    ;;
esac
while [ $# -gt 0 ]; do
    case $1 in
        venv)
            mkdir -p "$2/bin"
            ln -s "$BIN/python3" "$2/bin/python3"
            ;;
        -d) folder=$2 ;;
        --target)
            mkdir -p "$2/nvidia/cu13/bin" "$2/nvidia/cu13/lib"
            touch "$2/nvidia/cu13/lib/libcusparse.so.12"
            ln -s "$BIN/cat" "$2/nvidia/cu13/bin/nvcc"
            ;;
        *==*) [ -z "$folder" ] || touch "$folder/$1" ;;
    esac
    shift
done
END
}

run_setup() {
    run --separate-stderr env PATH="$BIN" "$SUITE/scripts/setup" "$@"
}

# fails_with STATUS TEXT: the last line of standard error is the whole error.
fails_with() {
    echo "status $status, stdout: $output, stderr: $stderr"
    [ "$status" -eq "$1" ]
    [ -z "$output" ]
    [[ ${stderr_lines[-1]} == "setup: "*"$2"* ]]
}

called() { grep -c "^$1" "$CALLS" || true; }

@test "--help explains every option" {
    run_setup --help
    [ "$status" -eq 0 ]
    [[ $output == "Usage: scripts/setup "* ]]
    for option in --test --browser --grade --report --site --cuda --help; do
        [[ $output == *"$option "* ]]
    done
    [ -z "$stderr" ]
}

@test "an unknown argument is one line and status 2" {
    run_setup --tests
    fails_with 2 "unknown argument --tests"
    [ "${#stderr_lines[@]}" -eq 1 ]
}

@test "where nothing is missing it says so and asks nobody" {
    meet build
    stand_in apt-get </dev/null
    stand_in sudo </dev/null
    run_setup
    [ "$status" -eq 0 ]
    [ "$output" = "setup: nothing to install" ]
    [ -z "$stderr" ]
    [ ! -s "$CALLS" ]
}

@test "as root: updates the list, then installs what the main job lacks, with reasons first" {
    export USER_ID=0
    stand_in apt-get </dev/null
    stand_in sudo </dev/null
    run_setup
    fails_with 4 "installed, but still not found: $(signs build)"
    grep '^apt-get' "$CALLS" | diff - <(
        echo "apt-get update"
        echo "apt-get install -y --no-install-recommends $(packages build)"
    )
    [ "$(called sudo)" -eq 0 ]
    [ "${stderr_lines[0]}" = "Missing on this machine:" ]
    local package
    for package in $(packages build); do
        grep -q "^  $package  *(.*)  *[^ ]" <<<"$stderr"
    done
}

@test "it installs only what is missing, and is ready then" {
    export USER_ID=0
    meet build
    rm "$BIN/make" "$HEADERS/archive.h"
    stand_in apt-get <<<'[ "$1" = update ] || { touch "$HEADERS/archive.h"; ln -s cat "$BIN/make"; }'
    run_setup
    [ "$status" -eq 0 ]
    [ "$output" = "setup: ready" ]
    grep -qx "apt-get install -y --no-install-recommends make libarchive-dev" "$CALLS"
}

@test "--test, --browser, --report and --site ask for the packages of the tests, of their browser, of the report and of the site" {
    export USER_ID=0
    meet build
    stand_in apt-get </dev/null
    for purpose in test browser report site; do
        run_setup --$purpose
        grep -qx "apt-get install -y --no-install-recommends $(packages $purpose)" "$CALLS"
    done
}

@test "apt is not to ask questions" {
    export USER_ID=0
    stand_in apt-get <<<'echo "$DEBIAN_FRONTEND" >>"$CALLS"'
    run_setup
    [ "$(tail -n 1 "$CALLS")" = noninteractive ]
}

@test "an ordinary user goes through sudo" {
    meet build
    rm "$BIN/make"
    stand_in sudo <<<'exec "$@"'
    stand_in apt-get <<<'[ "$1" = update ] || ln -s cat "$BIN/make"'
    run_setup
    [ "$status" -eq 0 ]
    [ "$(called sudo)" -eq 1 ]
    [ "$(called 'apt-get install')" -eq 1 ]
}

@test "neither root nor sudo: the command for an administrator, status 4" {
    stand_in apt-get </dev/null
    run_setup
    fails_with 4 "ask an administrator to run: apt-get update; DEBIAN_FRONTEND=noninteractive \
apt-get install -y --no-install-recommends $(packages build)"
    [ "$(called apt-get)" -eq 0 ]
}

@test "a package list that cannot be renewed is no failure, a package is" {
    export USER_ID=0
    meet build
    rm "$BIN/make"
    stand_in apt-get <<<'[ "$1" != update ] || exit 100; ln -s cat "$BIN/make"'
    run_setup
    [ "$status" -eq 0 ]
    rm "$BIN/make"
    stand_in apt-get <<<'[ "$1" = update ]'
    run_setup
    fails_with 4 "could not install"
}

@test "no apt-get: the list and what to do with it" {
    run_setup
    fails_with 4 "no apt-get on this machine"
    grep -q "libarchive-dev  *(archive.h)" <<<"$stderr"
    [ ! -s "$CALLS" ]
}

@test "--cuda makes .cuda with names for the linker, and is idle the second time" {
    meet build
    have_python
    run_setup --cuda
    [ "$status" -eq 0 ]
    [ "$output" = "setup: ready" ]
    [ "$(readlink "$SUITE/.cuda/lib64/libcusparse.so")" = libcusparse.so.12 ]
    [ "$(ls -A "$SUITE" | paste -s -d ' ' -)" = ".cuda scripts" ]

    have_python " download "
    run_setup --cuda
    [ "$status" -eq 0 ]
    [ "$output" = "setup: nothing to install; .cuda is complete" ]
}

@test "--cuda: other versions in the script renew .cuda" {
    meet build
    have_python
    run_setup --cuda
    echo "nvidia-cuda-nvcc 12.0" >"$SUITE/.cuda/wheels.txt"
    run_setup --cuda
    [ "$output" = "setup: ready" ]
    run ! grep -q 12.0 "$SUITE/.cuda/wheels.txt"
}

@test "--cuda: a failure at the first wheel leaves nothing behind" {
    meet build
    have_python " download "
    run_setup --cuda
    fails_with 4 "pip download failed (no such wheel)"
    [ "$(ls -A "$SUITE")" = scripts ]
}

@test "--cuda: a failure later keeps the finished downloads only, and the next run goes on" {
    meet build
    have_python nvidia-cusparse==
    run_setup --cuda
    fails_with 4 "pip download failed (no such wheel)"
    [ ! -e "$SUITE/.cuda" ]
    [ "$(ls -A "$SUITE/.cuda.part")" = wheels ]
    compgen -G "$SUITE/.cuda.part/wheels/nvidia-cuda-nvcc==*"

    have_python " --target "
    run_setup --cuda
    fails_with 4 "pip install failed"
    [ ! -e "$SUITE/.cuda" ]

    have_python
    run_setup --cuda
    [ "$output" = "setup: ready" ]
    [ ! -e "$SUITE/.cuda.part" ]
}

@test "--cuda without pip takes venv's" {
    meet build
    export NO_PIP=1
    have_python
    run_setup --cuda
    [ "$status" -eq 0 ]
    grep -q '^python3 -m venv' "$CALLS"
    [ -x "$SUITE/.cuda/bin/nvcc" ]
}

@test "--cuda: a venv that fails leaves nothing behind" {
    export NO_PIP=1
    meet build
    have_python " venv "
    run_setup --cuda
    fails_with 4 "python3 -m venv failed"
    [ "$(ls -A "$SUITE")" = scripts ]
}

@test "--cuda without python3 and pip asks apt for them" {
    export USER_ID=0
    meet build
    stand_in apt-get </dev/null
    run_setup --cuda
    grep -qx "apt-get install -y --no-install-recommends $(packages cuda)" "$CALLS"
    [ ! -e "$SUITE/.cuda.part" ]
}

@test "--cuda beside a toolkit that make finds does nothing and names it" {
    unset CUDA_HOME
    meet build
    mkdir -p "$BATS_TEST_TMPDIR/toolkit/bin"
    touch "$BATS_TEST_TMPDIR/toolkit/bin/nvcc"
    chmod +x "$BATS_TEST_TMPDIR/toolkit/bin/nvcc"
    ln -s "$BATS_TEST_TMPDIR/toolkit/bin/nvcc" "$BIN/nvcc"
    have_python " download "
    run_setup --cuda
    [ "$status" -eq 0 ]
    [ "$output" = "setup: nothing to install; the CUDA toolkit in \
$BATS_TEST_TMPDIR/toolkit serves, .cuda is not needed" ]
}
