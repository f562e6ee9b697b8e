"""What a test asks of a message: the key, the value and the file that it names, not how its sentences are worded."""


def missing_in(message: str, *parts: str) -> list[str]:
    """Return the parts that a message does not name, each behind the one before it."""
    missing, at = [], 0
    for part in parts:
        found = message.find(part, at)
        if found < 0:
            missing.append(part)
        else:
            at = found + len(part)
    return missing
