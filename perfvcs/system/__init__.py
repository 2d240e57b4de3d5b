"""The operating system under perfvcs: files, processes, signals, locks and foreign bytes."""
