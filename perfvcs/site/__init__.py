"""A published site: static pages of the whole history.

Only pages whose data changed are rewritten.
"""
