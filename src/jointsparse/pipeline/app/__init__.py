"""The command line, and settings that every job of the pipeline makes before it starts."""
