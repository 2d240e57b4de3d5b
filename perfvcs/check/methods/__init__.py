"""Methods of comparison, a file each; their contract is `perfvcs.check.method`."""
