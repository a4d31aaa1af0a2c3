"""The command line, and the set-up that every job of the pipeline does before it starts."""
