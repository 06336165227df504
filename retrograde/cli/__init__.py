"""Commands of the package `retrograde`: their options, and the display of their results."""
