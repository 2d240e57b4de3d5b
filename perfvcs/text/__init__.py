"""What all rooms write with: quantities, counted words, names of bounded length, columns,
sparklines.
"""
