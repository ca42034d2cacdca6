"""A session of Spark and its Java: how it starts, what it trusts, how it fails."""
