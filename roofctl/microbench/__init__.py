"""Measure the ceilings of the GPU in front of us with microbenchmarks in ``kernels/``.

Importing this room needs no GPU: pycuda and NVML are loaded when a device is opened.
"""
