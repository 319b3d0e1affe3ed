"""``python -m fl`` is the command ``straggler``."""

from fl.cli import main

main()
