"""Counters against work known from the source: build ``kernels/known``, profile it, compare."""
