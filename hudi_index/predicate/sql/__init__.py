"""Texts that people write, as Spark's parser reads them: tokens, nesting, one spelling, expressions."""
