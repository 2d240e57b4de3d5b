"""A published site: static pages of the whole history, of which only those are written whose data moved."""
