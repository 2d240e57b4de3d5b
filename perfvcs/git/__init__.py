"""git: the only room that runs it, for the project and for the store."""
