"""Hardware knowledge as data: which counters make a quantity, per profiler and chip."""

from roofctl.quantities.catalogue import Catalogue, Chip, Composition, Quantity, Recipe, catalogue

__all__ = ["Catalogue", "Chip", "Composition", "Quantity", "Recipe", "catalogue"]
