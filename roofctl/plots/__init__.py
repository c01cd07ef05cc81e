"""One module per kind of output. ``roofctl.plots.figure`` is the way into the matplotlib one."""
