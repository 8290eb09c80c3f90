# The page of lockstep-timestep --plot, for gnuplot 5.2 and later. The program writes what stands in
# tools/lockstep_timestep.c before these lines: values of the run and one block of data a panel, in
# which each strategy that is shown is one index.

# Strategies whose curves often cover one another are drawn wide below and narrow above.
set style line 1 lw 7.0 lc rgb '#b0b0b0' dt solid
set style line 2 lw 5.0 lc rgb '#d62728' dt solid
set style line 3 lw 3.0 lc rgb '#ffb000' dt solid
set style line 4 lw 1.8 lc rgb '#7b3fa0' dt (8,6)
set style line 5 lw 4.5 lc rgb '#6baed6' dt solid
set style line 6 lw 1.8 lc rgb '#006d2c' dt solid
count = words(shown)
row(i) = int(word(shown, i))
curve(i) = 'T'.row(i).' '.word(names, i)
bold(text) = '{/:Bold '.text.'}'
top(most, least) = most > least ? most * 1.1 : least
costs(percent) = ', a step costs '.percent.' % of dt)'

set encoding utf8
if (is_svg) {
    set terminal svg size 1200,1350 dynamic font 'DejaVu Sans,13' background '#ffffff'
} else {
    set terminal pngcairo size 1200,1350 font 'DejaVu Sans,10' background '#ffffff'
}
set multiplot layout 3,2 title '{/:Bold=16 Stepping strategies, '.rate_hz.' steps a second}' \
    margins 0.07,0.985,0.045,0.895 spacing 0.09,0.075
set grid back lt 1 lw 1 dt 1 lc rgb '#e4e4e4'
set border lc rgb '#555555'
set tics nomirror
set key at screen 0.52,0.972 center top horizontal maxrows 2 samplen 2 width 1

if (subject eq 'world') {
    set title bold('Where a moving body is drawn (trace '.position_trace.'; dotted: exactly)')
    set xlabel 'real time, ms'
    set ylabel 'drawn place, ms of motion'
    set xrange [0:position_ms]
    set yrange [0:position_ms]
    set arrow 1 from 0,0 to position_ms,position_ms nohead lw 1 dt (3,4) lc rgb '#000000' front
    if (has_notes) {
        set label 1 'T1: runs away' at graph 0.43,0.95 tc rgb '#707070'
        set label 2 'T2, T3, T4: on time' at graph 0.43,0.75 tc rgb '#d62728'
        set label 3 'T5: jumps' at graph 0.74,0.47 tc rgb '#2b7bba'
        set label 4 'T6: even, one step late' at graph 0.56,0.26 tc rgb '#006d2c'
    }
    plot for [i=1:count] $position index i-1 using 1:2 with steps ls row(i) title curve(i)
    unset label
    unset arrow
    unset key
}
if (subject eq 'shape') {
    # Along x, wherever the first shape that moves is going.
    set title bold('Where a shape is drawn (trace '.position_trace.')')
    set xlabel 'real time, ms'
    set ylabel 'x, m'
    set xrange [position_from_ms:position_from_ms + position_ms]
    set yrange [*:*]
    if (least_position < most_position) { set yrange [least_position:most_position] }
    plot for [i=1:count] $position index i-1 using 1:2 with steps ls row(i) title curve(i)
    unset key
}
if (subject ne 'frames') {
    set title bold('Stutter: uneven motion from frame to frame (no bar: none)')
    set xlabel 'trace'
    set ylabel subject eq 'world' ? 'ms (pixels at 1,000 pixels/s)' : 'mm'
    set style data histograms
    set style histogram clustered gap 1.5
    set style fill solid 0.9 noborder
    set xrange [*:*]
    set yrange [0:top(most_stutter, 1)]
    plot for [i=1:count] $stutter using i+1:xtic(1) ls row(i) lw 1 title curve(i)
    set xtics autofreq
}
if (subject eq 'world') {
    set title bold('Energy of a '.spring_hz.' Hz spring (trace '.energy_trace.')')
    set xlabel 'real time, s'
    set ylabel 'energy, of what it had at first'
    set xrange [0:*]
    set yrange [0.1:top(most_energy, 10)]
    set logscale y
    set format y '10^{%T}'
    plot for [i=1:count] $energy index i-1 using 1:2 with lines ls row(i) title curve(i)
    set format y
    unset logscale y
}

set title bold('Steps in a frame (trace '.steps_trace.costs(steps_cost))
set xlabel 'ms after the longest frame'
set ylabel 'steps in a frame'
set xrange [-steps_before_ms:steps_after_ms]
set yrange [0:top(most_steps, 2)]
plot for [i=1:count] $steps index i-1 using 1:2 with fsteps ls row(i) title curve(i)

set title bold('Lengths of frames (trace '.frames_trace.costs(frames_cost))
set xlabel 'real time, s'
set ylabel 'a frame, ms'
set xrange [0:*]
set yrange [most_frames < 20 ? 1 : 10:top(most_frames, 100)]
set logscale y
plot for [i=1:count] $frames index i-1 using 1:2 with lines ls row(i) title curve(i)
unset logscale y

set title bold('Time dropped: never simulated (trace '.frames_trace.')')
set ylabel 's'
set yrange [0:top(most_dropped, 0.1)]
plot for [i=1:count] $dropped index i-1 using 1:2 with lines ls row(i) title curve(i)
unset multiplot
