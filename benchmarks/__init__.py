"""How well perfvcs does: each module has benchmarks, `python -m benchmarks` lists them."""
