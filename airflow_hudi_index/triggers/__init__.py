"""Triggers: what waits without a worker."""
