"""config.yaml: read safely, checked with one clear line for each mistake, turned into studies, tables and files."""
