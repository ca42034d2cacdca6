"""The command `hudi-index`."""

from hudi_index.cli.command import main

__all__ = ["main"]
