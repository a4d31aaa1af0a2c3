"""Read and write tables, record how each file was made, and gather these records in a manifest."""
