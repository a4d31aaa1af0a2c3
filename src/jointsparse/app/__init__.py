"""The command line: tasks that are no stage of the pipeline."""
