"""Commands of the package `retrograde`, with their options and the display of their results."""
