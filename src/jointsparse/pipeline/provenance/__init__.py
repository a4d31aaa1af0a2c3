"""One trail: tables on disk, records of where files come from, and the manifest that gathers these."""
