"""One file per subcommand: it parses, calls the library and prints.

The file's name is the command's name.
"""
