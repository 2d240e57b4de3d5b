"""What counts allocations inside measured programs: a library to be preloaded, and in ``python`` a recorder for interpreters."""
