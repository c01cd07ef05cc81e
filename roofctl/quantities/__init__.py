"""Hardware knowledge as data: which counters make a quantity, per profiler and chip."""

from roofctl.quantities.catalogue import Catalogue, Chip, Composition, Quantity, Recipe
from roofctl.quantities.current import catalogue, use

__all__ = ["Catalogue", "Chip", "Composition", "Quantity", "Recipe", "catalogue", "use"]
