#!/usr/bin/gnuplot
# split_size.gp - Lab 5's SPLIT, the most nonzeros that a warp takes of one row, beside the published sizes (E1.3).

load PLOTS."/knob.gp"
