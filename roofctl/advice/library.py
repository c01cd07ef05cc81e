"""What the name of a library's kernel says of how it was called."""

from __future__ import annotations

import re
from typing import Final

from roofctl.advice.finding import Finding, KernelFacts
from roofctl.advice.thresholds import Thresholds

_ALIGNED: Final = re.compile(r"(?:tensorop|16816|1688|16832).*_align([124])(?:\b|_|>)", re.IGNORECASE)
"""Products on tensor cores only: those of plain FP32 load one element at a time whatever the shape."""
_SPLIT: Final = re.compile(r"splitk\w*reduce|reduce\w*splitk", re.IGNORECASE)
_LAYOUT: Final = re.compile(r"nchw\w*nhwc|nhwc\w*nchw|convertTensor|transform_kernel|permute", re.IGNORECASE)


def names(facts: KernelFacts, _limits: Thresholds) -> Finding | None:
    """A matrix product of unaligned rows, the reduction of a split product, or a change of layout."""
    name = facts.text("kernel")
    if aligned := _ALIGNED.search(name):
        elements = int(aligned.group(1))
        text = (
            f"align{elements} in its name: a leading dimension is no multiple of 8 elements, so the library loads "
            f"{elements} at a time; pad that dimension (a vocabulary of 50257 to 50304)"
        )
        return Finding("unaligned_product", text, {"elements": elements})
    if _SPLIT.search(name):
        text = "adds the parts of a product that was split along K: a larger M or N, or a batch, needs no split"
        return Finding("split_product", text)
    if _LAYOUT.search(name):
        text = "changes the layout of a tensor: keep one layout through the network (channels_last)"
        return Finding("layout_change", text)
    return None
