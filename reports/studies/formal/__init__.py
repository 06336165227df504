"""A formal proof of the corrected bound, checked by the proof assistant Rocq (Coq)."""
