#!/usr/bin/gnuplot
# storage.gp - what formats for pruned 16-bit weights take, and what that allows a product: formulas of common/ops/storage.c.

WIDTH = 760
HEIGHT = 420
load PLOTS.'/suite.gp'
OTHERS = '#666666' # of formats that are not of a lab
colour(f) = f eq 'TCA-BME' ? COLOUR_9 : f eq 'lane' ? COLOUR_20 : OTHERS
dash(f) = f eq 'CSR' ? 4 : f eq 'SparTA' ? 5 : f eq 'TCA-BME' ? 1 : 2
mark(f) = f eq 'CSR' ? 7 : f eq 'Tiled-CSL' ? 5 : f eq 'SparTA' ? 9 : f eq 'TCA-BME' ? 13 : 11
set tmargin at screen 0.97
set bmargin at screen above(50)
set logscale y 2
set format y '%g'
set xrange [0:100]
set offsets 2, 0, 0, 0
set xlabel text_of('zeros')
set key top left title 'smaller than dense from (o)' left font ',9'
set multiplot
do for [column in 'compression_ratio flop_per_byte'] {
    is_left = column eq 'compression_ratio'
    set lmargin at screen (is_left ? 0.09 : 0.6)
    set rmargin at screen (is_left ? 0.49 : 0.985)
    set ylabel (is_left ? "bytes of the dense matrix over the format's" : 'FLOP a byte, B of '.text_of('N').' columns')
    if (!is_left) { unset key; unset label 1000 }
    plot DATA using (is_point(column, 'dense') ? $4 : NaN):5 with lines linecolor 'black' dashtype 3 linewidth 1.3 \
             title text_of('dense'), \
         for [f in 'CSR Tiled-CSL SparTA TCA-BME lane'] DATA using (is_point(column, f) ? $4 : NaN):5 with linespoints linecolor rgb colour(f) \
             dashtype dash(f) pointtype mark(f) pointsize 0.7 pointinterval 8 linewidth 1.3 title text_of(f), \
         DATA using (is_point(column, 'optimum') ? $4 : NaN):5 with lines linecolor 'black' linewidth 1.3 title text_of('optimum'), \
         DATA using (is_left && strcol(2) eq 'even' ? $4 : NaN):5 with points pointtype 6 pointsize 1.3 linecolor 'black' notitle
}
