#!/usr/bin/gnuplot
# sddmm_density.gp - SDDMM and density: which lab is the fastest at which density and K, and times of one layer against its
# zeros.

WIDTH = 800
HEIGHT = 640
load PLOTS.'/suite.gp'
winners = labs_of('winners')
layer = labs_of('layer')
set lmargin at screen 0.09
set rmargin at screen 0.76
set multiplot

set tmargin at screen 0.95
set bmargin at screen 0.61
set title 'the fastest lab of each problem'
set logscale x
set logscale y 2
set format x '%g'
set ytics ()
do for [K in places_of('K')] { set ytics add (K K + 0) }
set xlabel 'density, % (graphs on the left, weights on the right)'
set ylabel 'K'
set key at screen 0.77, screen 0.85 left top invert
plot for [lab in down(winners)] for [k in MARK] DATA using (is_point('winners', lab) ? $5 : NaN):4 with points \
         linetype k + lab title k > 0 ? '' : text_of('winners '.lab)

unset title
unset label 1000
set tmargin at screen 0.50
set bmargin at screen above(50)
unset logscale x
set ytics (10, 20, 50, 100, 200, 500, 1000, 2000, 5000)
set logscale y 10
set xrange [:100]
set xlabel 'zeros, % of '.text_of('layer')
set ylabel 'median time, us'
set key at screen 0.77, screen 0.45 left top noinvert
plot for [lab in layer] DATA using (is_point('layer', lab) ? $4 : NaN):5 with linespoints linetype lab + 0 title 'lab '.lab, \
     for [lab in down(layer)] for [k in MARK] DATA using (is_point('layer', lab) ? $4 : NaN):5 with points linetype k + lab notitle, \
     DATA using (is_point('layer', 'best') ? $4 : NaN):5 with lines linecolor 'black' linewidth 1.5 dashtype 2 \
         title "cuSPARSE's best", \
     DATA using (is_point('layer', 'dense') ? $4 : NaN):5 with lines linecolor 'black' linewidth 1.5 dashtype 4 \
         title 'dense and sampled, cuBLAS'
