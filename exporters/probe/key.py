"""What a probe is known by: the names of its target and its scenario."""

Key = tuple[str, str]
