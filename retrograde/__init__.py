"""Who wins: retrograde analysis by tiers of (attackers, defenders)."""
