"""Values over sizes: the sides of a comparison, their models, and what these leave."""
