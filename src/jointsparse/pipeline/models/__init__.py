"""The models that a run saves: the final fit of a study, and the annotator, which predicts words from pictures."""
