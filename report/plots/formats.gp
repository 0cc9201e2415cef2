#!/usr/bin/gnuplot
# formats.gp - bytes of graphs and of pruned weights in each format over those of CSR, counted by encoders.

WIDTH = 880
HEIGHT = 470
load PLOTS.'/suite.gp'
OTHERS = '#666666' # of formats that are not of a lab
colour(f) = f eq 'TCA-BME' ? COLOUR_9 : f eq 'lane' ? COLOUR_20 : f[1:3] eq 'BRP' ? COLOUR_22 : f eq 'Tiled-CSL' ? COLOUR_23 : f eq '2:4+CSR' ? COLOUR_24 : OTHERS
mark(f) = f eq 'COO' ? 6 : f eq 'TC-GNN' ? 4 : f eq 'ME-TCF' ? 8 : f eq 'TCA-BME' ? 13 : f eq 'lane' ? 7 : f eq 'Tiled-CSL' ? 5 : f eq '2:4+CSR' ? 9 : f eq 'BRP' ? 10 : 11
set tmargin at screen 0.94
set bmargin at screen above(95)
set logscale y 2
set format y '%g'
set xtics rotate by 40 right font ',9'
set key font ',9'
set multiplot
do for [panel in 'graphs weights'] {
    is_left = panel eq 'graphs'
    set lmargin at screen (is_left ? 0.08 : 0.58)
    set rmargin at screen (is_left ? 0.5 : 0.985)
    if (!is_left) { unset label 1000 }
    set title (is_left ? 'graphs, 32-bit values' : 'pruned weights, 16-bit values; zeros')
    set ylabel (is_left ? 'bytes over those of CSR' : '')
    if (is_left) { set key bottom right } else { set key top left }
    count = words(places_of(panel))
    set xrange [-0.5:count - 0.5]
    set xtics ()
    do for [i = 0:count - 1] { set xtics add (tic_of(panel, sprintf('%d', i)) i) }
    plot 1 with lines linecolor 'black' dashtype 3 title 'CSR', \
         for [f in series_of(panel)] DATA using (is_point(panel, f) ? $4 : NaN):5 with points linecolor rgb colour(f) \
             pointtype mark(f) pointsize 0.9 linewidth 1 title f
}
