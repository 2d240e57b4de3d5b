"""Four plugins of perfvcs; docs/plugins.md of perfvcs explains them."""
