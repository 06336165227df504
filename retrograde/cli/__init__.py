"""Commands of the package `retrograde`, including their options and the display of results."""
