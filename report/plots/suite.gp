# suite.gp - what figures drawn by gnuplot share: the terminal, how labs are drawn, the lines of DATA, the small print.
#
# A figure is an executable file of this folder, NAME.gp. scripts/plots gives it NAME, FORMAT (svg or png), PLOTS (this
# folder) and DATA (the output of `rows series NAME`; common/rows/series.c says what its lines hold). The figure sets WIDTH
# and HEIGHT, of the SVG in pixels, and loads this file. It computes nothing but where things stand on the page.

if (FORMAT eq 'png') {
    set terminal pngcairo size 2 * WIDTH, 2 * HEIGHT font 'sans-serif,11' fontscale 1.5 linewidth 2 pointscale 2.5 background '#ffffff'
} else {
    set terminal svg size WIDTH, HEIGHT font 'sans-serif,11' background '#ffffff' name NAME
}
set datafile separator tab
set encoding utf8
set border 3
set tics nomirror out scale 0.5 noenhanced
set grid linecolor '#dddddd' linewidth 0.5 linetype 1
set key noenhanced font ',9' samplen 2 Left reverse
set title noenhanced font ',11' offset 0, -0.4
set xlabel noenhanced
set ylabel noenhanced

# Labs are line types by their number, of looks.tsv; COLOUR_5 is lab 5's colour. Line type 1000 + lab is the outline of its points.
load sprintf("< sed -n 's/^\\([0-9]*\\)\t\\([^\t]*\\)\t[^\t]*\t\\([0-9]*\\)$/COLOUR_\\1 = \"\\2\"; set linetype \\1 linecolor rgb \"\\2\" pointtype \\3 linewidth 1 pointsize 0.7; set linetype 1000+\\1 linecolor rgb \"black\" pointtype \\3-1 linewidth 0.4 pointsize 0.7/p' '%s/looks.tsv'", PLOTS)
set linetype 99 pointsize 0.9
set linetype 1099 pointsize 0.9
MARK = '0 1000' # what is added to a lab for a point and for its outline
VENDOR = 2000
PUBLISHED = 2001
set linetype 2000 linecolor rgb 'black' pointtype 1 pointsize 0.9 linewidth 1.5
set linetype 2001 linecolor rgb 'black' pointtype 12 pointsize 0.9 linewidth 1
VENDOR_WINS = '#ececec' # the ground where a vendor's library is ahead

# Lines of DATA: whether this is a point of a line; the words that a legend says; names of lines and of places.
is_point(panel, series) = strcol(1) eq 'point' && strcol(2) eq panel && strcol(3) eq series
is_mean(panel, series) = strcol(1) eq 'mean' && strcol(2) eq panel && strcol(3) eq series
text_of(name) = lines(system(sprintf("sed -n 's/^word\t%s\t//p' '%s'", name, DATA)))
series_of(panel) = system(sprintf("sed -n 's/^point\t%s\t\\([^\t]*\\)\t.*/\\1/p' '%s' | uniq", panel, DATA))
names_of(panel, series) = system(sprintf("sed -n 's/^point\t%s\t%s\t\\([^\t]*\\)\t.*/\\1/p' '%s'", panel, series, DATA))
places_of(panel) = system(sprintf("sed -n 's/^graph\t%s\t\\([^\t]*\\)\t.*/\\1/p' '%s'", panel, DATA))
values_of(panel) = system(sprintf("sed -n 's/^point\t%s\t[^\t]*\t[^\t]*\t//p' '%s'", panel, DATA))
label_of(panel, name) = lines(system(sprintf("sed -n 's/^graph\t%s\t%s\t//p' '%s'", panel, name, DATA)))
tic_of(panel, name) = lines(system(sprintf("sed -n 's/%%/%%%%/g; s/^graph\t%s\t%s\t//p' '%s'", panel, name, DATA)))
value_of(panel, series) = system(sprintf("sed -n 's/^point\t%s\t%s\t[^\t]*\t//p' '%s'", panel, series, DATA)) + 0
mean_of(panel, series) = system(sprintf("sed -n 's/^mean\t%s\t%s\t\\([^\t]*\\)\t.*/\\1/p' '%s'", panel, series, DATA)) + 0
ahead_of(panel, series) = system(sprintf("sed -n 's/^mean\t%s\t%s\t[^\t]*\t\\(.*\\)\t\\(.*\\)/\\1 of \\2/p' '%s'", panel, series, DATA))
labs_of(panel) = system(sprintf("sed -n 's/^point\t%s\t\\([0-9][0-9]*\\)\t.*/\\1/p' '%s' | sort -nu", panel, DATA))
# A text in which \n begins a new line; and one that has none.
lines(text) = strstrt(text, '\n') ? text[1:strstrt(text, '\n') - 1]."\n".lines(text[strstrt(text, '\n') + 2:*]) : text
in_one_line(text) = strstrt(text, "\n") ? text[1:strstrt(text, "\n") - 1].' '.in_one_line(text[strstrt(text, "\n") + 1:*]) : text
# A list from its end: points of earlier labs shall lie on top.
down(list) = system(sprintf("printf '%%s\n' %s | tac", in_one_line(list)))
# The place of a name in a list of words, from 0.
place(name, list) = (sum [i = 1:words(list)] (word(list, i) eq name ? i : 0)) - 1

# The small print, in the environment's ORIGIN; and the share of the height that it and some pixels above it take.
ORIGIN_LINES = int(system('printenv ORIGIN | wc -l'))
above(pixels) = (11.0 * ORIGIN_LINES + 8 + pixels) / HEIGHT
set label 1000 system('printenv ORIGIN') at screen 0.01, screen above(-8) noenhanced font ',7' textcolor rgb '#444444'
