"""Reading a table through its indexes: the FileIndex, and DataFrames over it."""
