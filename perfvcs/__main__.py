"""``python -m perfvcs`` is the command line."""

from perfvcs.cli import main

main()
