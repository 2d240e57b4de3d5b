"""Views: each member is one, named like it; ``perfvcs.view`` is their contract, ``perfvcs.drawing`` what they share."""
