"""roofctl: profile GPU applications, measure real ceilings, draw rooflines that are true."""

__version__ = "0.1.0"
