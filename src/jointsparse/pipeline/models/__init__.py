"""The room of what was learnt: a model in a file, the final fit of a study, and the annotator of pictures."""
