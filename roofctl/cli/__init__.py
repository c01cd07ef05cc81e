"""The command line: one thin file per verb; the only place that prints or catches errors."""
