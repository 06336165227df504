"""The compiled proof; t are the rules, x is the index of the tiers, d all that a thread works with, w its memory."""
