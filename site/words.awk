# words.awk - the index of the site's search, as JavaScript: what site/site.js reads.
#
#     awk -v site=FOLDER/ -f site/words.awk FOLDER/PAGE.html...
#
# PAGES has a page's address and title; SECTIONS has, for each section of a page, the page's number, the heading's
# anchor and text, and every word of the section once, in the order of their first use.
BEGIN {
    RS = "<"
    n = 0
    print "const PAGES = ["
}

function quote(text) {
    gsub(/[\\"]/, "\\\\&", text)
    return "\"" text "\""
}

function end_of_section() {
    if (heading != "" || words != "") sections[++n] = "[" page ", " quote(anchor) ", " quote(heading) ", " quote(words) "]"
    anchor = heading = words = ""
    split("", seen)
}

# A word begins with a letter and has three characters at least; a name like lab.cu or __syncthreads is one.
function read_words(text,    word, count, i) {
    gsub(/&[a-z#0-9]+;/, " ", text)
    count = split(tolower(text), word, /[^a-z0-9_.:]+/)
    for (i = 1; i <= count; i++) {
        sub(/^[.:]+/, "", word[i])
        sub(/[.:]+$/, "", word[i])
        if (length(word[i]) > 2 && word[i] ~ /^[a-z_]/ && !seen[word[i]]++) words = words " " word[i]
    }
}

FNR == 1 {
    if (NR > 1) end_of_section()
    page = pages++
    inside = 0
    next
}

{
    end = index($0, ">")
    tag = substr($0, 1, end - 1)
    text = substr($0, end + 1)
    gsub(/\n/, " ", text)
}
tag ~ /^title/ {
    title = text
    sub(/ \| .*/, "", title)
    print "[" quote(substr(FILENAME, length(site) + 1)) ", " quote(title) "],"
}
tag ~ /^main/ { inside = 1 }
tag ~ /^(details class="contents|nav)/ { hidden = 1 }
inside && tag ~ /^h[1-3]/ {
    end_of_section()
    if (match(tag, /id="[^"]*"/)) anchor = substr(tag, RSTART + 4, RLENGTH - 5)
    naming = 1
}
tag ~ /^\/h[1-3]/ { naming = 0 }
inside && !hidden && naming { heading = heading text }
inside && !hidden && !naming { read_words(text) }
tag ~ /^\/(details|nav)/ { hidden = 0 }
tag ~ /^\/main/ { inside = 0 }

END {
    end_of_section()
    print "];\nconst SECTIONS = ["
    for (i = 1; i <= n; i++) print sections[i] ","
    print "];"
}
