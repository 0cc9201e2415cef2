# scripts/check-words: each rule is broken once, and once not quite.

# The backquotes in single quotes are Markdown.
# shellcheck disable=SC2016

bats_require_minimum_version 1.5.0

setup() {
    check=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)/scripts/check-words
    cd "$BATS_TEST_TMPDIR" || return
    mkdir -p labs/01_x docs
    handout=labs/01_x/README.md
}

# words N: a sentence of N words, without its point.
words() {
    printf 'Word'
    for _ in $(seq 2 "$1"); do printf ' word'; done
}

# listed FILE LINE TEXT: the check names this line, with this text, and nothing else.
listed() {
    run -1 "$check" "$1"
    echo "$output"
    [ "${#lines[@]}" -eq 1 ] && [[ ${lines[0]} == "$1:$2: "*"$3"* ]]
}

@test "a sentence has 25 words at most, over several lines, in items and under links too" {
    { words 25; echo .; } >docs/a.md
    run -0 "$check" docs/a.md
    { echo "Short. It"; words 20; echo; words 5; echo .; } >docs/a.md
    listed docs/a.md 1 "26 words: It Word"
    { echo "- Short."; printf -- '- '; words 26; echo .; } >docs/a.md
    listed docs/a.md 2 "26 words"
    { printf '[a](b.md) '; words 25; echo '?'; } >docs/a.md
    listed docs/a.md 1 "26 words"
    { words 24; echo ' {{value speedup of=lab5 spmm.csv}}.'; } >docs/a.md
    run -0 "$check" docs/a.md
    { printf '> '; words 20; printf '\n> '; words 6; echo; } >docs/a.md
    listed docs/a.md 1 "26 words"
}

@test "headings, code, tables, generated blocks and the ends of items hold no long sentence" {
    {
        printf '# '; words 40; echo; words 20; echo; echo; words 20; echo
        echo; echo '```text'; words 40; echo; echo '```'
        printf '| '; words 40; echo ' |'
        echo '<!-- ladder -->'; words 40; echo; echo '<!-- /ladder -->'
        printf -- '- '; words 20; printf '\n- '; words 20; echo
        printf '\n> - '; words 20; printf '\n> - '; words 20; echo
        printf '\n<details><summary>'; words 20; printf '</summary>'; words 20; echo '</details>'
        printf '\n`'; words 40; echo '` and `code` count as one.'
    } >docs/a.md
    run -0 "$check" docs/a.md
    printf '<!-- ladder -->\nText.\n' >docs/a.md
    listed docs/a.md 1 "never ends"
}

@test "a handout has 160 lines, README.md 120, any other text as many as it likes" {
    yes '' | head -n 160 >"$handout"
    yes '' | head -n 120 >README.md
    yes '' | head -n 1000 | tee docs/a.md >labs/01_x/LOG.md
    run -0 "$check" "$handout" README.md docs/a.md labs/01_x/LOG.md
    echo >>"$handout"
    listed "$handout" 161 "161 lines, of 160"
    echo >>README.md
    listed README.md 121 "121 lines, of 120"
}

@test "a handout has a box below its title: Time in minutes, Know before, PASS" {
    box() { printf '# Lab 1\n\n> - **Time**: 90 minutes.\n> - **Know before**: C.\n> - **PASS**: all.\n\nText.\n'; }
    mkdir -p apps/x
    for page in "$handout" apps/x/README.md; do
        box >"$page"
        run -0 "$check" "$page"
        for left_out in Time Know PASS; do
            box | sed "/$left_out/d" >"$page"
            listed "$page" 6 "no box"
        done
        box | sed 's/90 minutes/2 hours/' >"$page"
        listed "$page" 7 "no box"
        box | sed '/^>/d' >docs/a.md
        run -0 "$check" docs/a.md
    done
}

@test "a handout has no commit and no measured figure, unless markers or a word declare it" {
    for figure in "12.3 us" "12.3us" "at 9 TB/s." "(0.5 ms)" "1.2x" "**2.67** times as fast" '`7.5 TFLOP/s`' "30 seconds"; do
        echo "It is $figure" >"$handout"
        listed "$handout" 1 "neither between markers nor declared"
        echo "A figure derived from counts: $figure" >"$handout"
        run -0 "$check" "$handout"
    done
    printf 'The rate is 9\nTB/s here.\n' >"$handout"
    listed "$handout" 1 "9 TB/s"
    printf 'We assume a round rate.\n\nIt takes 3 us.\n' >"$handout"
    listed "$handout" 3 "3 us"
    printf '| graph | floor |\n|---|---|\n| ddi | 3 us |\n' >"$handout"
    listed "$handout" 3 "3 us"
    printf '```text\nIt took 3 us\n```\n' >"$handout"
    listed "$handout" 2 "3 us"
    printf '| graph | floor, derived |\n|---|---|\n| ddi | 3 us |\n' >"$handout"
    run -0 "$check" "$handout"
    printf 'See `4acbe29c3e8d`, which is derived.\n' >"$handout"
    listed "$handout" 1 "4acbe29c3e8d"
    printf '<!-- lab-table 1 -->\n`4acbe29c3e8d` 3 us\n<!-- /lab-table -->\nFrom 1166243 to 2,358,104 in 32 bytes.\n' >"$handout"
    run -0 "$check" "$handout"
    echo "Commit 4acbe29c3e8d took 3 us" | tee docs/a.md >labs/01_x/LOG.md
    run -0 "$check" docs/a.md labs/01_x/LOG.md
}

@test "comments of C, CUDA, awk and shell open with a verb or a noun" {
    for word in Of What Whose So To; do
        echo "int x; /* $word a thing. */" >a.c
        listed a.c 1 "comment opens"
        printf '/*\n * %s a thing.\n */\n' $word >a.cu
        listed a.cu 2 "comment opens"
        printf 'int x;\n// %s a thing.\n' $word >a.h
        listed a.h 2 "comment opens"
        printf '# %s a thing.\n' $word >a.awk
        listed a.awk 1 "comment opens"
        printf '#!/bin/sh\n\n    # %s a thing.\n' $word >script
        listed script 3 "comment opens"
        printf '# %s a thing.\n' $word | tee a.py >a.tsv
        listed a.py 1 "comment opens"
        listed a.tsv 1 "comment opens"
        printf '/* Adds.\n * %s a thing. */\n// Adds\n// %s a thing. Tomorrow\n/* Today. */\n' $word $word >a.c
        run -0 "$check" a.c
        printf '# Adds\n# %s a thing.\n' $word >a.awk
        run -0 "$check" a.awk
    done
}

@test "a comment of C has sentences of 25 words at most; clauses, columns and code do not count" {
    { printf '/* '; words 25; printf '.\n * '; words 20; printf ':\n * '; words 20; printf '. */\nint x;\n'; } >a.c
    run -0 "$check" a.c
    { printf '/*\n * '; words 20; printf '\n * '; words 6; printf '.\n */\n'; } >a.cu
    listed a.cu 2 "26 words in a comment"
    { printf 'int x; '; words 40; printf '\n    /* '; words 26; printf ' */\n'; words 40; } >a.h
    listed a.h 2 "26 words in a comment"
    { printf '/*\n *   '; words 40; printf '\n * a   '; words 40; printf '\n */\n'; } >a.c
    run -0 "$check" a.c
}

@test "every file is read, and what is not a file or an option is said" {
    { words 26; echo .; } | tee docs/a.md >docs/b.md
    run -1 "$check" docs/a.md docs/b.md
    [ "${#lines[@]}" -eq 2 ]
    run -3 "$check" docs/c.md
    [ "$output" = "check-words: docs/c.md: no such file" ]
    run -2 "$check" --fix
}

@test "the texts and comments of this tree keep the rules" {
    "$check"
}
