# bars.gp - horizontal bars of the lines "bar PLACE VALUE LABEL TEXT IS_VENDOR" in the file DATA: labs filled, libraries
# hatched, a text beside each. The environment's ORIGIN is the small print. A figure sets its axis and loads this.

set datafile separator tab
stats DATA using (strcol(1) eq 'bar' ? $2 : NaN) nooutput name 'BARS'
set terminal svg size 760, (110 + 19 * BARS_max) font 'sans-serif,11' background '#ffffff' name 'bars'
set bmargin 6
set lmargin 27
set rmargin 48
set tmargin 1
set yrange [BARS_max + 0.6:-0.6]
set ytics scale 0
set border 3
set tics nomirror
set grid x
set key off
set arrow from graph 1, graph 0 to graph 1, graph 1 nohead
set label system('printenv ORIGIN') at screen 0.01, screen 0.04 noenhanced font ',7'
plot DATA using (strcol(1) eq 'bar' && $6 == 0 ? $3 / 2 : NaN):2:($3 / 2):(0.35):yticlabels(strcol(1) eq 'bar' ? strcol(4) : '') \
         with boxxyerror fill solid noborder linecolor '#6c8ebf', \
     DATA using (strcol(1) eq 'bar' && $6 == 1 ? $3 / 2 : NaN):2:($3 / 2):(0.35):yticlabels(strcol(1) eq 'bar' ? strcol(4) : '') \
         with boxxyerror fill pattern 4 linecolor 'black', \
     DATA using (strcol(1) eq 'bar' ? 1 : NaN):2:(strcol(5)) with labels left offset 0.5 noenhanced font ',10'
