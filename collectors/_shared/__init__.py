"""What several collectors share: what a command runs in, frames of call stacks, files that a
measured program left behind.
"""
