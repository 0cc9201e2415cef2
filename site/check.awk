# check.awk - dead links, pictures without a text, anchors given twice: what scripts/check-site lists.
#
#     find . -type f | sed 's,^./,,' | awk -f path.awk -f check.awk - RS='<' PAGE.html...
#
# Standard input names all files of the site. A record of a page is a tag, with the text behind it.
function say(file, what) {
    print file ": " what
    found = 1
}

# attribute NAME: its value in this tag; sets `has`.
function attribute(name) {
    has = match(tag, "[ \n]" name "=\"[^\"]*\"")
    return has ? substr(tag, RSTART + length(name) + 3, RLENGTH - length(name) - 4) : ""
}

# Remembers where this page leads: the addresses of others are not looked up.
function refers(target,    at, fragment) {
    if (!has || target ~ /^[a-z]+:/) return
    at = index(target, "#")
    fragment = at ? substr(target, at + 1) : ""
    if (at) target = substr(target, 1, at - 1)
    references[FILENAME SUBSEP (target == "" ? FILENAME : path(FILENAME, target)) SUBSEP fragment]
}

function end_of_page() {
    if (page != "" && titles != 1) say(page, titles + 0 " titles")
    page = FILENAME
    titles = 0
}

FILENAME == "-" { there[$0]; next }
FNR == 1 { end_of_page() }
{
    tag = substr($0, 1, index($0 ">", ">") - 1)
    id = attribute("id")
    if (has && anchors[FILENAME, id]++) say(FILENAME, "an anchor given twice: " id)
    if (tag ~ /^img/ && attribute("alt") !~ /[A-Za-z]/) say(FILENAME, "a picture without a text: " attribute("src"))
    if (tag ~ /^h1/) titles++
    refers(attribute("href"))
    refers(attribute("src"))
}
END {
    end_of_page()
    for (reference in references) {
        split(reference, part, SUBSEP)
        if (!(part[2] in there)) say(part[1], "a dead link: " part[2])
        else if (part[3] != "" && !((part[2], part[3]) in anchors)) say(part[1], "no such anchor: " part[2] "#" part[3])
    }
    exit found
}
