"""Laws are about values, not about how fast this machine is just now."""

from hypothesis import settings

settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
