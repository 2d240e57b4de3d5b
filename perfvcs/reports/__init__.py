"""What commands tell: the log, the status, the trial of a check, the subject_of of a page."""
