"""The models that a run keeps: the final fit of a study, and the annotator, which goes from pictures to words."""
