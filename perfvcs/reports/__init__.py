"""What commands tell: the log, the status, the trial of a check, the exhibit of a page."""
