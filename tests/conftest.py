"""What all tests share."""

from hypothesis import settings

# A test asks whether something is right, not whether the machine is quick today.
settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")
