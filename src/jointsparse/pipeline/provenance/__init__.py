"""Tables on disk, records of how each file was made, and the manifest that gathers the records."""
