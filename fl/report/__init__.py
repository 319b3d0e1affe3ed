"""What happened in a run, to look at.

recording        a run directory as a report reads it
stragglers       who held up rounds, and why
chart            a chart of a page, and the table behind it
run_charts       the charts of one run
timeline         who did what from when to when, to zoom into
page             the frame of every page
run_page         the page of one run
comparison       several runs side by side, by arm
comparison_page  the page that compares them
study_results    a study's directory as a report reads it
study_page       the page of a study
perfetto         a run as a Chrome trace
plots            figures for a paper, of a run
plot_tables      the numbers that these draw
plot_panels      how each part of these is drawn
plot_style       how all of these look
figures          these figures as files, with their numbers
"""
