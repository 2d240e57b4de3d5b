"""Many counters at once: redundancy, clusters, and predictions of one from the others."""
