"""Attacks on what perfvcs keeps."""
