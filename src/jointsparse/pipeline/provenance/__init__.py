"""One trail: files as they were written, records of where they come from, and the manifest that gathers these."""
