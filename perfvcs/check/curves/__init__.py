"""What the methods on curves share: fitted sides, replication by executions, and the change in
words.
"""
