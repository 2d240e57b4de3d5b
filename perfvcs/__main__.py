"""``python -m perfvcs`` is the command line."""

from perfvcs.entry import main

main()
