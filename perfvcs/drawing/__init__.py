"""What pictures are made of: profiles cut into what is drawn, colours, axes, and drawing with characters; the views put these together."""
