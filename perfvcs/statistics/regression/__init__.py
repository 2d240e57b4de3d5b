"""Models of values against sizes: fitting, choosing, and what differs between two curves."""
