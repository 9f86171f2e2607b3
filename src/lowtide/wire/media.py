"""Media types of the messages, as `Content-Type` names them."""

from __future__ import annotations

from lowtide.wire.message import VERSION

__all__ = ["CODES_TYPE", "ROWS_TYPE", "media_type"]

CODES_TYPE = f"application/vnd.lowtide.codes; v={VERSION}"
ROWS_TYPE = f"application/vnd.lowtide.rows; v={VERSION}"


def media_type(header: str) -> tuple[str, dict[str, str]]:
    """Return the type and the parameters of a `Content-Type`, in lower case, quotes taken off.

    Examples
    --------
    >>> media_type('Application/vnd.lowtide.codes; V="1"')
    ('application/vnd.lowtide.codes', {'v': '1'})
    """
    name, *rest = header.split(";")
    pairs = (part.partition("=") for part in rest)
    return name.strip().lower(), {key.strip().lower(): value.strip().strip('"') for key, _, value in pairs}
