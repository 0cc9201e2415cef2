#!/usr/bin/gnuplot
# batch_d.gp - Lab 5's D, the tile of A in units of 32 nonzeros, beside the published ones (E1.5).

load PLOTS."/knob.gp"
