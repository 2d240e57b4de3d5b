"""Profiles that come from files, and profiles that become files."""
