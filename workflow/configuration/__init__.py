"""config.yaml: read safely, checked with one clear line per mistake, and turned into studies, tables and files."""
