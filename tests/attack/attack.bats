# The standing attack itself: a short run of fixed seed and length finds nothing, and it finds what is
# planted. OUT has the programs, SANITIZED the attack (make attack-check).

# bats sets $output and $lines:
# shellcheck disable=SC2154,SC2016

bats_require_minimum_version 1.5.0

setup() {
    cd "$BATS_TEST_DIRNAME/../.." || return
    : "${OUT:=build/simt}" "${SANITIZED:=build/sanitized/simt}"
    export OMP_NUM_THREADS=2 OMP_WAIT_POLICY=passive
    kept=$BATS_TEST_TMPDIR/kept
}

attack() { "$SANITIZED/tests/attack/run" --programs "$OUT" --keep "$kept" "$@"; }
planted() { PLANT=$1 "$SANITIZED/tests/attack/planted" --programs "$OUT" --keep "$kept" "${@:2}"; }

# A folder of programs that is one lab: the script on standard input.
stand_in() {
    programs=$BATS_TEST_TMPDIR/tree/build/simt
    mkdir -p "$programs/tests/attack"
    cp "$OUT/tests/attack/starve.so" "$programs/tests/attack"
    { echo '#!/bin/sh'; cat; } >"$programs/lab1"
    chmod +x "$programs/lab1"
    cp "$programs/lab1" "$programs/convert"
    cp "$programs/lab1" "$programs/labstat"
}
attack_it() { "$SANITIZED/tests/attack/run" --programs "$programs" --keep "$kept" "$@"; }

@test "a short run of all classes finds nothing" {
    run -0 attack --seed 7 --tries 1
    for class in readers recipes options tables soak starved killed; do
        grep -qE "^$class +[1-9][0-9]* +0  " <<<"$output"
    done
    [ "${lines[-1]}" = "attack: seed 7, 0 findings" ]
    [ ! -e "$kept" ]
}

@test "a reader that misreads, and the same try again" {
    run -1 planted wrong --seed 1 --tries 0.2 --class readers
    [[ $output == *"FINDING readers, try "*": read ("*") = "*" stands"* ]]
    [[ $output =~ "again: make attack SEED=1 CLASS=readers TRY="([0-9]+) ]]
    try=${BASH_REMATCH[1]}
    run -1 planted wrong --seed 1 --class readers --try "$try"
    [[ $output == *"FINDING readers, try $try: read ("* ]]
    grep -qE "^readers +1 +1  " <<<"$output"
    [ -d "$kept/readers-1-$try" ]
}

@test "a reader that overruns, asks for too much, or refuses a whole file" {
    run -1 planted overrun --seed 1 --tries 0.2 --class readers
    [[ $output == *"AddressSanitizer: heap-buffer-overflow"* ]]
    [[ $output == *": the try ended with status 1: see above"* ]]
    run -1 planted greedy --seed 1 --tries 0.1 --class readers
    [[ $output == *"17179869184 bytes of memory asked for at once"* ]]
    run -1 planted refuses --seed 1 --tries 0.2 --class readers
    [[ $output == *": refused: "*": planted"* ]]
}

@test "a recipe, a command line and a table that are wrong" {
    run -1 planted recipe --seed 1 --tries 1 --class recipes
    [[ $output == *", which gives another matrix"* ]]
    run -1 planted option --seed 1 --tries 1 --class options
    [[ $output == *": a width of 0"* ]]
    run -1 planted table --seed 1 --tries 0.3 --class tables
    [[ $output == *"grade.tsv: "*" tests, nan points"* ]]
}

@test "a lab that is wrong, or crashes" {
    stand_in <<<'exit 1'
    run -1 attack_it --seed 1 --tries 0.2 --class soak
    [[ $output == *"FINDING soak, try 0: $programs/lab1 "*": status 1 "* ]]
    stand_in <<<'kill -SEGV $$'
    run -1 attack_it --seed 1 --tries 0.2 --class soak
    [[ $output == *": signal 11"* ]]
}

@test "a program that crashes without memory, or says nothing" {
    stand_in <<<'[ -z "$STARVE" ] || kill -SEGV $$'
    run -1 attack_it --seed 1 --tries 0.1 --class starved
    [[ $output == *": signal 11"* ]]
    stand_in <<<'exit 5'
    run -1 attack_it --seed 1 --tries 0.1 --class starved
    [[ $output == *": status 5  without a word"* ]]
}

@test "a lab that writes rows in pieces" {
    stand_in <<<'printf "schema,lab\n" >rows.csv; sleep 0.2; printf "2,1" >>rows.csv; sleep 0.2; echo >>rows.csv'
    run -1 attack_it --seed 1 --tries 2 --class killed
    [[ $output == *"rows.csv is torn or lost"* ]]
}

@test "bad usage" {
    run -2 attack --class reader
    [[ $output == *"no class 'reader'; there are readers recipes "* ]]
    run -2 attack --try 3
    run -2 attack more
}
