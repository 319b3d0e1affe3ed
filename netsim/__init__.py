"""Time and bits of a wireless network, on a SimPy clock. Knows nothing of learning.

units        decibels, prefixes, bits: the one place where units are converted
streams      named random generators out of one seed
topology     devices, base station, edge server, and the links between them
propagation  what attenuates a radio signal: distance, obstacles, many paths
traces       what the channels did: files, generators
channel      the spectral efficiency of one link over time
spell        stretches of time in which something is otherwise than usual
cpu          cycles to seconds
uplink       bits over a share of the band to seconds
redistribution  the share of a device that has finished, given on to the others
wire         bits over a wired link to seconds
last_call    a moment that comes after everything else of its time
timeline     who did what from when to when
errors       the error that means: the input is at fault

Time is a float of seconds. Events of equal time happen in the order in which they were
scheduled, which is SimPy's rule; only a deadline waits for all others of its time.
"""
