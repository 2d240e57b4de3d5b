"""Views: each member is one, named like it; ``perfvcs.plugins.view`` is their contract,
``perfvcs.pictures`` what they share.
"""
