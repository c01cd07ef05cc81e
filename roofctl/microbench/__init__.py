"""Measure the ceilings of this machine's GPU with the microbenchmarks of ``kernels/``.

Importing needs no GPU: pycuda and NVML are loaded when a device is opened.
"""
