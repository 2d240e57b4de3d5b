"""Flame graphs: one tree of all call stacks, and its boxes."""
