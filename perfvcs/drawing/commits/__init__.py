"""Figures over commits: their order and axis, levels, steps and drifts."""
