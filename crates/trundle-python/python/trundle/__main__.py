"""The program ``trundle``."""

import sys

from . import _trundle  # type: ignore[attr-defined]


def main() -> int:
    """Run the program with the arguments of this process."""
    return _trundle.run_program(sys.argv)


if __name__ == "__main__":
    sys.exit(main())
