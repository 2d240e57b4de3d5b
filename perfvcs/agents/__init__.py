"""What a coding agent reaches over the Model Context Protocol: tools, and what they may run."""
