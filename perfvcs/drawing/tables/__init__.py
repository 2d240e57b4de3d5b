"""Tables: what their cells hold, and how they are written as text, Markdown, comma separated values and LaTeX."""
