"""Writing to Hudi tables through their record index: batches, and streams of them."""
