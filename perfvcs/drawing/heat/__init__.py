"""Heat maps: cells, the panels that they fill, and what their colours stand for."""
