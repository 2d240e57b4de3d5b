"""On PYTHONPATH of executions whose heap is shuffled: what an interpreter runs as it starts."""
