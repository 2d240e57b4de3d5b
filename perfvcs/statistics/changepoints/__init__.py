"""Where a series changes for good: detectors, their agreement, and drifts."""
