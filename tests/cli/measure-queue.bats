# scripts/measure-queue: which commands run, where, when they are stopped, and what a later call does. Commands are of the shell.

# bats sets $stderr, and runs each test in a process of its own:
# Commands of a queue are words to it: SC2016.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154

bats_require_minimum_version 1.5.0

setup() {
    ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
    cd "$BATS_TEST_TMPDIR" || return
    mkdir -p scripts report/results/fake bin out
    cp "$ROOT/scripts/measure-queue" scripts/
    export GPUS=0 PATH=$PWD/bin:$PATH
    unset STATE KEPT EVERY SAVE
}

# queue LINE...: the queue of the test.
queue() {
    printf '%s\n' "$@" >lines
}

# statuses: status, GPU and command of what has ended.
statuses() {
    awk -F '\t' '{ print $5, $2, $6 }' build/queue/done.tsv
}

@test "commands run in order from the root; what one ended with is kept, and the next call passes over it" {
    queue '# why' '5 echo one >>said' '' '7 pwd >>said; exit 3' '1 echo three >>said'
    run -1 scripts/measure-queue lines 60
    [ "$(cat said)" = $'one\n'"$PWD"$'\nthree' ]
    diff <(statuses) - <<'END'
0 0 echo one >>said
3 0 pwd >>said; exit 3
0 0 echo three >>said
END
    [[ $output == *'s of 7, status 3: pwd >>said; exit 3'* ]]
    [[ ${lines[-1]} == '2 ended well, 1 did not, 0 are left' ]]
    queue '5 echo one >>said' '5 echo four >>said'
    run -0 scripts/measure-queue lines 60
    [ "$(tail -n 1 said)" = four ]
    [ "$(grep -c one said)" -eq 1 ]
}

@test "time is up: what runs is stopped with all it began, what is left runs in the next call" {
    queue '1 echo one' '9 (trap "echo told >>said; exit 1" TERM; sleep 31.5 & wait); echo not here >>said' '1 touch later'
    run -124 scripts/measure-queue lines 1
    [[ ${lines[-1]} == '1 ended well, 0 did not, 2 are left' ]]
    [ "$(cat said)" = told ]
    run -1 pgrep -f 'sleep 31.5'
    [ ! -e later ]
    sed -i 's/sleep 31.5 & wait/:/' lines
    run -0 scripts/measure-queue lines 60
    [ -e later ]
    [ "$(grep -c 'echo one' build/queue/done.tsv)" -eq 1 ]
    queue '1 exit 77' '1 exit 5'
    for _ in 1 2; do
        run -124 scripts/measure-queue lines 60
    done
    [ "$(grep -c 'exit 77' build/queue/done.tsv)" -eq 2 ] # no GPU: nothing was measured
    [ "$(grep -c 'exit 5' build/queue/done.tsv)" -eq 1 ]
    queue '1 exit 124'
    run -1 scripts/measure-queue lines 60 # said by the command itself
}

@test "what a command writes after it was told to stop is waited for, and saved" {
    printf '%s\n' '#!/bin/sh' 'trap "sleep 1; echo late >report/results/fake/late.csv; exit 1" TERM' 'sleep 32.5 & wait' >slow
    chmod +x slow
    queue '9 ONLY=x ./slow; touch later'
    SAVE=out run -124 scripts/measure-queue lines 1
    [ ! -e later ]
    tar -tzf out/rows.tgz | grep -qx report/results/fake/late.csv
    run -1 pgrep -f 'sleep 32.5'
}

@test "two GPUs share the lines; two at once are one that takes them; nvidia-smi says which there are" {
    queue '1 touch a; until [ -e b ]; do sleep 0.1; done; echo $CUDA_VISIBLE_DEVICES >>gpus' \
        '1 touch b; until [ -e a ]; do sleep 0.1; done; echo $CUDA_VISIBLE_DEVICES >>gpus'
    printf '%s\n' '#!/bin/sh' 'echo "GPU 0: Fake (UUID: 1)"; echo "GPU 1: Fake (UUID: 2)"' >bin/nvidia-smi
    chmod +x bin/nvidia-smi
    unset GPUS
    run -0 scripts/measure-queue lines 60
    [ "$(sort gpus)" = $'0\n1' ]
    queue '1 echo $CUDA_VISIBLE_DEVICES >>both' '1 echo again $CUDA_VISIBLE_DEVICES >>both'
    GPUS=0,1 run -0 scripts/measure-queue lines 60
    [ "$(cat both)" = $'0,1\nagain 0,1' ]
    echo exit 9 >bin/nvidia-smi
    run -77 scripts/measure-queue lines 60
}

@test "archives are written while commands run, hold what changed, and another checkout goes on with them" {
    touch report/results/fake/old.csv
    sleep 0.1
    mkdir -p build/kept
    queue '1 echo row >report/results/fake/new.csv; echo row >build/kept/run.csv; echo said; until [ -e seen ]; do sleep 0.1; done' \
        '1 head -c 300000 /dev/zero; echo end' '9 sleep 30'
    export SAVE=$PWD/out EVERY=0.2
    scripts/measure-queue lines 3 >log 2>&1 3>&- &
    until tar -tzf out/rows.tgz 2>/dev/null | grep new.csv; do
        kill -0 $!
        sleep 0.1
    done
    touch seen
    local ended=0
    wait $! || ended=$?
    [ "$ended" -eq 124 ]
    [ "$(echo out/*)" = 'out/logs.tgz out/rows.tgz' ]
    diff <(tar -tzf out/rows.tgz | sort) - <<'END'
build/kept/run.csv
build/queue/done.tsv
report/results/fake/new.csv
END
    mkdir logs other
    tar -xzf out/logs.tgz -C logs
    [ "$(cat logs/1.log)" = said ]
    [ "$(wc -c <logs/2.log)" -eq 50000 ]
    cp -R scripts report lines other
    tar -xzf out/rows.tgz -C other
    cd other
    run -0 scripts/measure-queue lines 60 --dry-run
    [ "$output" = $'     9 s  sleep 30\n1 commands to run, about 9 s on one GPU' ]
}

@test "stopped by a signal: no command goes on, none counts as done" {
    queue '9 touch asleep; sleep 31.7' '9 touch later'
    scripts/measure-queue lines 60 >log 2>&1 3>&- &
    until [ -e asleep ]; do sleep 0.1; done
    kill -TERM $!
    wait $! || [ $? -eq 124 ]
    run -1 pgrep -f 'sleep 31.7'
    [ ! -s build/queue/done.tsv ]
    [ ! -e later ]
}

@test "2: a queue that is none, lines that are none, seconds that are none" {
    run -2 scripts/measure-queue nowhere 5
    queue '5 true' 'true' '5'
    run -2 scripts/measure-queue lines 5
    [ "$output" = $'lines:2: expected SECONDS COMMAND\nlines:3: expected SECONDS COMMAND' ]
    run -2 scripts/measure-queue lines soon
    run -2 scripts/measure-queue lines 5 --dry
    [ ! -e build/queue/done.tsv ] || [ ! -s build/queue/done.tsv ]
}

@test "the queues of the project are understood: jobs of plans, words of scripts, options of rivals" {
    tmp=$PWD
    cd "$ROOT"
    programs=${OUT:-build/simt}
    [ -x "$programs/lab99" ] || skip "$programs/lab99 is not built"
    mkdir -p "$tmp/fake/apps"
    printf '%s\n' '#!/bin/sh' 'echo "lab36, commit unknown"; echo folder: fake' >"$tmp/fake/lab36"
    for app in apps/*/; do
        mkdir "$tmp/fake/$app"
        cp "$tmp/fake/lab36" "$tmp/fake/$app$(basename "$app")"
    done
    chmod -R +x "$tmp/fake"
    for queue in report/queues/*; do
        STATE=$tmp/state run -0 scripts/measure-queue "$queue" 1 --dry-run
        sed -n 's/^ *[0-9]* s  //p' <<<"$output" >"$tmp/commands"
        [ -s "$tmp/commands" ]
        while read -r command; do
            case $command in
            *scripts/bench*) run -0 sh -c "${command/build\/cuda/$programs} --dry-run" ;;
            python3*) run -0 sh -c "${command/build\/cuda/$programs} --dry-run --results $tmp/rivals" ;;
            apps/*) PROGRAMS=$tmp/fake RESULTS=$tmp/results run -0 sh -c "$command" ;;
            *) false ;;
            esac
        done <"$tmp/commands"
    done
}
