"""The paper's experiments, run and compared with what it says.

published    the paper's numbers: Table I, deadlines, what is sent
calibration  the cell in which they come true together, fitted
plan         which runs each table and figure is made of
runner       runs the plan, a run on each core; finished ones are not run again
measures     from run directories to the numbers of tables and figures
claims       what the paper claims, each with a verdict computed from the runs
figures      pictures
markdown     tables, and a page of HTML out of it
beyond       what the paper does not have
page         the report
command      straggler reproduce
"""
