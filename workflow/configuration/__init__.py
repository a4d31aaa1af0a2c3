"""Read config.yaml safely, report each mistake in one clear line, and derive the studies, tables and files of a run."""
