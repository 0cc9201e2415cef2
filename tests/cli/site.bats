# The course as pages (make site): of the texts in the tree, of a small made-up tree with mistakes planted, and in a
# browser.

# bats sets $stderr, each test is a process of its own, and backquotes are Markdown's:
# shellcheck disable=SC2016,SC2030,SC2031,SC2154

bats_require_minimum_version 1.5.0

setup_file() {
    ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
    export ROOT SITE=$ROOT/build/site
    unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES # of the make that runs the tests
    command -v pandoc >/dev/null || return 0
    make -C "$ROOT" site >"$BATS_FILE_TMPDIR/log" 2>&1 || { cat "$BATS_FILE_TMPDIR/log"; return 1; }
}

setup() {
    command -v pandoc >/dev/null || skip "no pandoc (scripts/setup --site)"
    cd "$ROOT" || return
    tree=$BATS_TEST_TMPDIR/tree console=$BATS_TEST_TMPDIR/console
}

# ---- the pages of this tree ----------------------------------------------------------------------

@test "every lab, page of docs and the report have a page; every handout leads to the labs before and after it" {
    [ -f "$SITE/report/report.html" ]
    for text in docs/*.md; do [ -f "$SITE/${text%.md}.html" ]; done
    before=
    for lab in labs/[0-9]*/; do
        for page in "$SITE/$lab"{index.html,LOG.html,lab.cu.html}; do [ -f "$page" ] || { echo "no $page"; false; }; done
        grep -qF "href=\"${lab}index.html\"" "$SITE/pages.html"
        if [ -n "$before" ]; then
            grep -qF "<a rel=\"prev\" href=\"../../${before}index.html\">" "$SITE/${lab}index.html"
            grep -qF "<a rel=\"next\" href=\"../../${lab}index.html\">" "$SITE/${before}index.html"
        fi
        before=$lab
    done
}

@test "the front page has the ladder: a line for each line of README, with its figure, under a theme" {
    rungs=0
    while IFS='|' read -r _ lab _ ratio ahead vendor _; do
        rungs=$((rungs + 1))
        lab=${lab#*'('} lab=${lab%README.md*}
        rung=$(grep -F "<a href=\"${lab}index.html\" class=\"rung\">" "$SITE/index.html")
        case $ratio in
            ' - ') grep -qF "<span class=\"vendor\">$(sed 's/^ //; s/ yet//; s/ $//; s/^\[\(.*\)\](.*)$/\1/' <<<"$vendor")</span>" <<<"$rung" ;;
            *) grep -qF "<strong>$(tr -d ' ' <<<"$ratio")</strong> <span class=\"vendor\">ahead on${ahead% };${vendor% }</span>" <<<"$rung" ;;
        esac || { echo "$lab $ratio $ahead $vendor: $rung"; false; }
    done < <(sed -n '/^<!-- ladder-lines/,/^<!-- \/ladder-lines/ { /^| \[/p }' README.md)
    [ "$rungs" -gt 20 ]
    [ "$(grep -c 'class="rung"' "$SITE/index.html")" -eq "$rungs" ]
    grep -q '<h3 id="labs-from-10">' "$SITE/index.html"
}

@test "links, pictures and anchors of all pages are right" {
    scripts/check-site "$SITE" "$ROOT/build/site.pages"
}

@test "a page says all that its text says: hints, tables, commands, and code in colours" {
    for lab in labs/05_split_rows labs/34_sparse_softmax; do
        [ "$(grep -c '<summary>' "$SITE/$lab/index.html")" -eq "$(($(grep -o '<summary>' "$lab/README.md" | wc -l) + 1))" ]
    done
    grep -q '<span class="co">' "$SITE/labs/05_split_rows/index.html"
    grep -q '<p>needs a GPU</p>' "$SITE/labs/05_split_rows/index.html"
    grep -q '<td style="text-align: right;">0.0563</td>' "$SITE/labs/05_split_rows/index.html"
    grep -q '<span class="dt">float</span>' "$SITE/labs/05_split_rows/lab.cu.html"
    [ "$(grep -c '^<div class="figure">' "$SITE/report/report.html")" -eq "$(grep -c '^<div class="figure">' report/report.md)" ]
    grep -q 'alt="Figure 1\. [A-Z][^"]* ' "$SITE/report/report.html" # a sentence, not the name of a file
}

@test "pages need neither a network nor JavaScript" {
    find "$SITE" -name '*.html' ! -name 'trace*.html' >"$BATS_TEST_TMPDIR/pages"
    # All that a page loads lies beside it, and nothing but site.js is a script.
    run ! xargs grep -lE '<(img|script|link|iframe)[^>]*(src|href)="(https?:)?//' <"$BATS_TEST_TMPDIR/pages"
    xargs grep -hoE '<script[^>]*>[^<]*' <"$BATS_TEST_TMPDIR/pages" | sed 's,"[./]*site/,"site/,' | sort -u >"$BATS_TEST_TMPDIR/scripts"
    [ "$(cat "$BATS_TEST_TMPDIR/scripts")" = '<script src="site/site.js" defer>' ]
    run ! grep -rE 'url\(|@import|https?:' site/text.css site/site.css site/site.js
    # The field of the search is made by the script: there is none without a use.
    run ! grep -q '<input' "$SITE/index.html"
    [ "$(wc -c <"$SITE/site/words.js")" -lt 400000 ]
    for lab in labs/[0-9]*/; do grep -q "^\[\"${lab}index.html\", " "$SITE/site/words.js"; done
}

@test "the same tree gives the same bytes" {
    for source in README.md report/report.md labs/05_split_rows/lab.cu -; do
        page=$(awk -F '\t' -v source="$source" '$2 == source { print $3 }' build/site.pages)
        scripts/site-page build/site.pages "$source" "$BATS_TEST_TMPDIR/page"
        cmp "$BATS_TEST_TMPDIR/page" "$SITE/$page"
    done
}

# ---- a small tree, with mistakes -------------------------------------------------------------------

# A tree of two labs and a page of docs.
small_tree() {
    mkdir -p "$tree"/{labs/01_one,labs/02_two,docs}
    cp -r Makefile config.mk mk scripts site "$tree"
    printf '# All\n\nHello.\n' >"$tree/README.md"
    printf '# Lab 1: one\n\n[Code](code.cu), [docs](../../docs/a.md#part).\n\n![A box](one.svg)\n' >"$tree/labs/01_one/README.md"
    printf '# Lab 2: two\n\nText.\n' >"$tree/labs/02_two/README.md"
    printf '# A\n\n## Part\n\nSee [the labs](../labs).\n\n```sh gpu\nls\n```\n' >"$tree/docs/a.md"
    for lab in 01_one 02_two; do echo 'int x; // a <number>' >"$tree/labs/$lab/code.cu"; done
    echo '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>' >"$tree/labs/01_one/one.svg"
    printf '# nothing\n' >"$tree/site/traces.tsv"
}

# Makes the site of the small tree.
site() { run --separate-stderr make -C "$tree" -s site; echo "status $status: $output $stderr"; }

# refuses TEXT: the site is not made, and the reason is said.
refuses() {
    site
    [ "$status" -ne 0 ]
    [[ $stderr$output == *"$1"* ]]
}

@test "a tree without measurements has a ladder that says so; folders and sources have pages" {
    small_tree
    site
    [ "$status" -eq 0 ]
    [ "$(grep -c '<span class="vendor">not measured</span>' "$tree/build/site/index.html")" -eq 2 ]
    grep -qF '<a href="../labs/index.html">the labs</a>' "$tree/build/site/docs/a.html"
    grep -qF '<a href="../labs/01_one/index.html"><code>01_one</code></a>' "$tree/build/site/labs/index.html"
    grep -qF 'a &lt;number&gt;' "$tree/build/site/labs/01_one/code.cu.html"
}

@test "only what changed is made again, and pages that are gone leave" {
    small_tree
    site
    run -0 make -C "$tree" site
    [[ $output != *PAGE* ]]
    echo 'More.' >>"$tree/docs/a.md"
    run -0 make -C "$tree" site
    [ "$(grep -c '  PAGE ' <<<"$output")" -eq 1 ]
    grep -q 'More\.' "$tree/build/site/docs/a.html"
    rm -r "$tree/labs/02_two"
    site
    [ "$status" -eq 0 ]
    [ ! -e "$tree/build/site/labs/02_two" ]
    run ! grep -q 02_two "$tree/build/site/pages.html" "$tree/build/site/labs/01_one/index.html"
}

@test "dead links, dead anchors and pictures without a text end the build" {
    small_tree
    echo '[gone](b.md)' >>"$tree/docs/a.md"
    refuses 'docs/a.md: dead link: b.md'
    sed -i 's/b\.md/a.md#no-such-part/' "$tree/docs/a.md"
    refuses 'docs/a.html: no such anchor: docs/a.html#no-such-part'
    sed -i 's/#no-such-part//' "$tree/docs/a.md"
    sed -i 's/A box//' "$tree/labs/01_one/README.md"
    refuses 'labs/01_one/README.md: no alt text: one.svg'
    sed -i 's/!\[\]/![A box]/' "$tree/labs/01_one/README.md"
    sed -i 's/sh gpu/sh soon/' "$tree/docs/a.md"
    refuses 'docs/a.md: unknown kind of commands: soon'
    sed -i 's/sh soon/sh/; s/^# A$/A/' "$tree/docs/a.md"
    refuses 'docs/a.md: no title'
}

@test "check-site finds what a page of other making breaks" {
    small_tree
    site
    [ "$status" -eq 0 ]
    page=$tree/build/site/docs/a.html
    cp "$page" "$BATS_TEST_TMPDIR/kept"
    for mistake in '<a href="../nowhere.html">x</a>@a dead link: nowhere.html' '<a href="#nowhere">x</a>@no such anchor' \
        '<img src="../labs/01_one/one.svg">@a picture without a text' '<img alt="" src="../labs/01_one/one.svg">@a picture without' \
        '<p id="part">x</p>@an anchor given twice: part' '<h1>B</h1>@2 titles'; do
        { cat "$BATS_TEST_TMPDIR/kept"; echo "${mistake%@*}"; } >"$page"
        run -1 scripts/check-site "$tree/build/site" "$tree/build/site.pages"
        [ "${#lines[@]}" -eq 1 ]
        [[ $output == "docs/a.html: ${mistake#*@}"* ]]
    done
    rm "$page"
    run -3 scripts/check-site "$tree/build/site" "$tree/build/site.pages"
}

@test "traces are made by programs that know --trace, and nothing leads to those that are not made" {
    small_tree
    printf 'labs/01_one/trace.html\tone step at a time\tlab1 rand:rows=9 32 --vs none\n' >"$tree/site/traces.tsv"
    site
    [ "$status" -eq 0 ]
    run ! grep -rq trace.html "$tree/build/site"

    program() { printf '#!/bin/sh\n%s\n' "$1" >"$tree/build/simt/lab1"; chmod +x "$tree/build/simt/lab1"; }
    mkdir -p "$tree/build/simt"
    program 'echo "  --counters"'
    site
    [ "$status" -eq 0 ] && [ ! -e "$tree/build/site/labs/01_one/trace.html" ]

    program '[ "$1" != --help ] || { echo "  --trace FILE"; exit; }
        while [ $# -gt 1 ]; do said="$said $1"; [ "$1" != --trace ] || echo "<h1>of$said</h1>" >"$2"; shift; done'
    site
    [ "$status" -eq 0 ]
    [ "$(cat "$tree/build/site/labs/01_one/trace.html")" = '<h1>of rand:rows=9 32 --vs none --trace</h1>' ]
    grep -qF '<a href="../../labs/01_one/trace.html">See it: one step at a time</a>' "$tree/build/site/labs/01_one/index.html"
    grep -qF '<a href="labs/01_one/trace.html">see it: one step at a time</a>' "$tree/build/site/pages.html"

    program '[ "$1" != --help ] || { echo "  --trace FILE"; exit; }; echo "lab1: no such matrix" >&2; exit 3'
    touch -d '1 minute' "$tree/build/simt/lab1"
    refuses 'lab1 rand:rows=9 32 --vs none failed: lab1: no such matrix'
}

# ---- in a browser ----------------------------------------------------------------------------------

# A browser in a snap cannot read what tests write.
need_browser() {
    chromium=$(command -v chromium || command -v google-chrome) || skip "no Chromium (apt-get install chromium)"
    [[ $chromium != /snap/* ]] || skip "Chromium in a snap sees no files of tests"
}

# browser OPTION... PAGE: one without a window; what its console says goes to $console.
browser() {
    timeout 100 "$chromium" --headless=new --no-sandbox --disable-gpu --hide-scrollbars --enable-logging=stderr \
        --user-data-dir="$BATS_TEST_TMPDIR/browser" "$@" 2>"$console"
    sed -n '/CONSOLE/p' "$console" >"$console.lines"
}

# A copy of the site with a page in it that opens all others, types, and presses keys (tests/cli/site-driver.html).
driven_copy() {
    cp -r "$SITE" "$BATS_TEST_TMPDIR/site"
    cp tests/cli/site-driver.html "$BATS_TEST_TMPDIR/site"
    awk -F '\t' 'BEGIN { print "const LIST = [" }
        $1 == "text" || $1 == "map" || $1 == "folder" || $2 ~ /lab\.cu$/ { print "\"" $3 "\"," }
        END { print "];" }' build/site.pages >"$BATS_TEST_TMPDIR/site/list.js"
}

drive() {
    browser --disable-web-security --allow-file-access-from-files --virtual-time-budget=60000 --dump-dom \
        "file://$BATS_TEST_TMPDIR/site/site-driver.html" |
        sed -n '/<pre id="said">/,/<\/pre>/ { s/.*<pre id="said">//; s/<\/pre>.*//; p }' >"$BATS_TEST_TMPDIR/said"
    cat "$BATS_TEST_TMPDIR/said" "$console.lines"
}

@test "browser: no page is wider than a phone, a tablet or a desktop; search and arrow keys work; no errors" {
    need_browser
    driven_copy
    drive
    [ "$(cat "$BATS_TEST_TMPDIR/said")" = "done" ]
    [ ! -s "$console.lines" ]
}

@test "browser: the driver notices a page that is too wide, a search that finds nothing, and an error" {
    need_browser
    driven_copy
    sed -i 's,</body>,<p style="width: 2000px">x</p></body>,' "$BATS_TEST_TMPDIR/site/docs/data.html"
    sed -i 's/^\["labs\/11_length_bins/["labs\/nowhere/' "$BATS_TEST_TMPDIR/site/site/words.js"
    sed -i 's,</body>,<script>undefined_function()</script></body>,' "$BATS_TEST_TMPDIR/site/docs/rows.html"
    drive
    grep -q '^docs/data.html: .* px wide of 390' "$BATS_TEST_TMPDIR/said"
    grep -q '^search: ' "$BATS_TEST_TMPDIR/said"
    grep -q 'undefined_function' "$console.lines"
}

@test "browser: pages are drawn at three widths, dark and light" {
    need_browser
    shots=$ROOT/build/site-shots # for whoever wants to look
    mkdir -p "$shots"
    for width in 390 768 1440; do
        for scheme in 0-dark 1-light; do
            shot=$shots/lab1-$width-${scheme#*-}.png
            rm -f "$shot"
            browser --blink-settings=preferredColorScheme="${scheme%-*}" --window-size="$width,1000" \
                --screenshot="$shot" "file://$SITE/labs/01_row_per_thread/index.html"
            [ ! -s "$console.lines" ]
            [ "$(od -A n -t u1 -j 16 -N 4 "$shot" | awk '{ print $3 * 256 + $4 }')" -eq "$width" ]
            [ "$(wc -c <"$shot")" -gt 20000 ] # a blank page has 5 kB
        done
        run ! cmp -s "${shot%light.png}dark.png" "$shot"
    done
}
