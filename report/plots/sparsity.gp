#!/usr/bin/gnuplot
# sparsity.gp - time of one layer's product against its sparsity: labs, cuSPARSE's best, and the dense products, which do
# not care. Where a lab gets ahead of the dense ones for good is marked, and said in the legend.

WIDTH = 880
HEIGHT = 470
load PLOTS.'/suite.gp'
labs = labs_of('times')
dense = series_of('dense')
stats DATA using (strcol(1) eq 'point' && strcol(2) eq 'times' && strcol(3) ne '1' ? $5 : NaN) nooutput name 'SHOWN'
stats DATA using (strcol(1) eq 'point' && (strcol(2) eq 'times' || strcol(2) eq 'dense') ? $5 : NaN) nooutput name 'ALL'
if (word(labs, 1) eq '1') {
    stats DATA using (is_point('times', '1') ? $5 / 1000 : NaN) nooutput name 'SLOW'
    set title sprintf('lab 1, nearly all above this range: %.1f to %.1f ms', SLOW_min, SLOW_max) font ',9'
}
set lmargin at screen 0.08
set rmargin at screen 0.65
set tmargin at screen 0.95
set bmargin at screen above(50)
set logscale y
set yrange [0.85 * ALL_min:1.3 * SHOWN_max]
set xrange [:100]
set ytics (10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000)
set xlabel 'zeros, % of '.text_of('layer')
set ylabel 'median time, us'
set key at screen 0.66, screen 0.95 left top title 'ahead of dense '.word(dense, 1).(words(dense) > 1 ? ' / '.word(dense, 2) : '').' from (o):' left font ',9'
at = value_of('published', 'published')
if (at > 0) { set arrow from at, graph 0 to at, graph 1 nohead linecolor '#777777' dashtype 2 }
dash(kind) = kind eq 'TF32' ? 3 : 4
plot for [lab in labs] DATA using (is_point('times', lab) ? $4 : NaN):5 with linespoints linetype lab + 0 \
         title 'lab '.lab.': '.text_of(lab), \
     for [lab in down(labs)] for [k in MARK] DATA using (is_point('times', lab) ? $4 : NaN):5 with points linetype k + lab notitle, \
     DATA using (is_point('times', 'best') ? $4 : NaN):5 with lines linecolor 'black' linewidth 1.5 dashtype 2 \
         title "cuSPARSE's best: ".text_of('best'), \
     for [kind in dense] DATA using (is_point('dense', kind) ? $4 : NaN):5 with lines linecolor 'black' \
         linewidth 1.5 dashtype dash(kind) title in_one_line(text_of(kind)), \
     DATA using (strcol(1) eq 'point' && strcol(2) eq 'crossing' ? $4 : NaN):5 with points pointtype 6 pointsize 1.2 \
         linecolor 'black' notitle, \
     NaN with lines linecolor '#777777' dashtype 2 \
         title text_of('published').sprintf(': sparse ahead of fp32 from %g %%', at)
