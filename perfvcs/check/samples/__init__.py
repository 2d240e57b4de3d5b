"""What the methods on samples share: scales, estimates, and one number per execution."""
