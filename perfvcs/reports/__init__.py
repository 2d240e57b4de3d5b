"""What commands print: the log, the status, the report of a check, the subject of a page."""
