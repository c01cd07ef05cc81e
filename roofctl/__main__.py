"""``python -m roofctl``."""

from roofctl.cli.main import entry

if __name__ == "__main__":
    entry()
