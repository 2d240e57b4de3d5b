"""What counts inside measured Python interpreters, with nothing but the standard library."""
