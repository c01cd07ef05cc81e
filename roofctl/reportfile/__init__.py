"""Nsight Compute reports (.ncu-rep): their container, and the child process that reads results with NVIDIA's reader."""
