"""The command line: what is not a stage of the pipeline."""
