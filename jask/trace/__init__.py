"""From the lazy graph to one flat, checked program."""
