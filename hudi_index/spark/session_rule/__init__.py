"""Every Hudi read of a session through the indexes: an optimizer rule, who plans for it, and its switch."""
