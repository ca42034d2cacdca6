"""`python -m hudi_index.cli`."""

import sys

from hudi_index.cli.command import main

if __name__ == "__main__":
    sys.exit(main())
