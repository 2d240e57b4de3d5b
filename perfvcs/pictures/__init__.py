"""Parts of pictures: the selected rows of profiles, colours, axes, and drawing with characters;
views combine them.
"""
