"""A fixture for pytest: ``roofline.check("capture", "gemm", at_least=0.6, limit="tensor")``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from roofctl.api import Input, Report


class RooflineFixture:
    """Assertions on captures."""

    @staticmethod
    def check(
        capture: Input, kernel: str = "", *, at_least: float | None = None, limit: str | None = None, **options: Any
    ) -> Report:
        """Assert that the matching kernels use ``at_least`` of their limit, and are limited by ``limit``.

        As ``roofctl.check``: ``at_least`` is a fraction, ``kernel`` a regular expression, ``options`` are those of
        ``roofctl.analyse``. Raises AssertionError, or InputError where it cannot be known.
        """
        from roofctl.api import check

        return check(capture, kernel=kernel, at_least=at_least, limit=limit, **options)


@pytest.fixture
def roofline() -> RooflineFixture:
    """Checks of captures against the limits of their kernels."""
    return RooflineFixture()
