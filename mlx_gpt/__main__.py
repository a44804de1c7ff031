"""`python -m mlx_gpt`: the command line without the terminal app."""

import sys

from mlx_gpt.cli import main

if __name__ == "__main__":
    sys.exit(main())
