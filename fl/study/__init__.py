"""One question over many runs: seeds x schemes x deadlines x anything.

study       what a study file may say: every key, its meaning, its default
samples     values drawn from ranges
labels      what arms are called, in tables and in paths
arms        the settings of a study, each a scenario to be run with several seeds
jobs        runs to be made, and how far they are
readiness   what every process of a study would have to make for itself, made once
local       runs in processes on this machine, one process each
on_ray      runs as tasks on a Ray cluster
runner      makes the runs that are missing; finished ones are never repeated
metrics     a run as a few named numbers
tables      the files that a study leaves beside its runs
command     straggler study
progress    how far the runs are, on a terminal
"""
