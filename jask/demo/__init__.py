"""The main job: train and evaluate a classifier on a file larger than the budget."""
