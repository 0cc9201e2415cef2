#!/usr/bin/gnuplot
# columns_c.gp - Lab 5's C, the columns of C that a lane computes, beside the published ones (E1.6).

load PLOTS."/knob.gp"
