#!/usr/bin/gnuplot
# lab9_split.gp - lab 9's first kernel: time against the number of blocks that share a row of groups, and the dense product.

WIDTH = 720
HEIGHT = 330
load PLOTS.'/suite.gp'
matrices = series_of('times')
set lmargin at screen 0.09
set rmargin at screen 0.59
set tmargin at screen 0.96
set bmargin at screen above(50)
set yrange [0:]
set offsets 0.25, 0.25, 0, 0
set xtics ()
do for [split in names_of('times', '.*')] { set xtics add (split split + 0) }
set xlabel 'SPLIT: blocks that share a row of groups'
set ylabel 'median time, us (L2 flushed)'
set key at screen 0.61, screen 0.75 left top
full(m) = m % 2 == 0 ? 9 : 1009 # the points of every second matrix are hollow
plot for [m in matrices] DATA using (is_point('times', m) ? $4 : NaN):5 with lines \
         linecolor rgb COLOUR_9 dashtype 1 + m notitle, \
     for [m in matrices] DATA using (is_point('times', m) ? $4 : NaN):5 with points linetype full(m) \
         pointsize 1 title in_one_line(text_of('times '.m)), \
     for [m in matrices] value_of('dense', m) with lines linecolor 'black' dashtype 1 + m \
         title in_one_line(text_of('dense '.m))
