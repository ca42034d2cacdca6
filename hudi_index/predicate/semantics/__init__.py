"""For which values a leaf is true, and how a function's values follow from its argument's, as Spark says."""
