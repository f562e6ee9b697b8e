"""What a store raises -> one line by which a user knows what to do.

"API request to … failed with error code 401 != 200. Response body: …" -> "it refuses the user or the password; …"
"""

import re

from bakeoff.tracking.target import without_secrets

LONGEST = 300
# The first pattern that is found decides. MLflow wraps what its libraries say, so it stands somewhere in the text.
MEANINGS = (
    (
        r"error code 401\b",
        "it refuses the user or the password; $MLFLOW_TRACKING_USERNAME and $MLFLOW_TRACKING_PASSWORD must hold them "
        "where you train or sync",
    ),
    (r"error code 403\b", "the user has no right to write there; whoever runs the server grants it"),
    (r"error code 404\b|not in a valid JSON format", "what answers there is no MLflow server; see track.uri"),
    (r"too many (\d+) error responses|error code (5\d\d)\b", "the server fails (error {}); its own log says why"),
    (r"timed out", "the server does not answer in time"),
    (r"(Failed to resolve '[^']+')", "{}; see track.uri"),
    (r"(Connection refused|Connection aborted|Connection reset|Remote end closed)", "no server answers ({})"),
    (r"(No space left on device|database or disk is full|Disk quota exceeded)", "the disk is full ({})"),
    (
        r"(AccessDenied|InvalidAccessKeyId|SignatureDoesNotMatch|Unable to locate credentials)",
        "the place for files refuses the key ({}); $AWS_ACCESS_KEY_ID and $AWS_SECRET_ACCESS_KEY, or what else S3's "
        "tools read, must hold it where you train or sync",
    ),
    (r"No module named '(boto3|psycopg\w*)'", "it needs a package that is not here: pip install {}"),
    (r"attempt to write a readonly database|database is locked", "another program keeps its database locked"),
)


def in_one_line(error: Exception) -> str:
    """Without the passwords of addresses."""
    text = str(error)
    for pattern, meaning in MEANINGS:
        if found := re.search(pattern, text):
            return meaning.format(next(filter(None, found.groups()), ""))
    first = next((line for line in text.splitlines() if line.strip()), type(error).__name__)
    return without_secrets(first)[:LONGEST]
