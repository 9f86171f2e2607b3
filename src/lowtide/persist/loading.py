"""Files into objects."""

from __future__ import annotations

from typing import Any

import numpy as np

from lowtide.codes import Codes
from lowtide.errors import FileFormatError
from lowtide.persist.container import Container, unpack
from lowtide.persist.kinds import KINDS
from lowtide.persist.weights import unpack_weights
from lowtide.persist.whole_file import PathLike, read

__all__ = ["from_bytes", "load"]


def load(path: PathLike, *, kind: type | tuple[type, ...] | None = None, mmap: bool = False) -> Any:
    """Return the object of a file that `save` wrote.

    Parameters
    ----------
    path : str or path-like
    kind : type or tuple of types, optional
        What the file must hold, `lowtide.Codes` for example; anything else is refused before it is built.
    mmap : bool, default=False
        Leave the packed rows of `Codes` in the file and let the system read them as they are used. The file must then
        not be changed in place; replacing it by `save` is fine.

    Returns
    -------
    object
        Of the kind that was saved, with its fingerprint.

    Raises
    ------
    FileAccessError
        Also an OSError: the file is not there or cannot be read.
    FileFormatError
        Also a ValueError: the file is foreign, cut short, damaged, of a newer format, or of another kind.

    Notes
    -----
    Safe for files from strangers: no code of the file is run, only registered classes are built, and the checksum and
    all sizes are compared with the file's before anything is made of them. The checksum finds accidents; whoever can
    change a file on purpose can also change its checksum, so it says nothing of who wrote it.

    See Also
    --------
    save : the way there

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> import lowtide as lt
    >>> X = np.linspace(-3, 3, 200)[:, None]
    >>> model = lt.KernelRegressor(gamma=1.0, n_components=256, random_state=0).fit(X, np.sin(2 * X[:, 0]))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "model.lowtide")
    ...     lt.save(model, path)
    ...     loaded = lt.load(path)
    >>> bool(np.allclose(loaded.predict(X), model.predict(X), atol=1e-6))
    True
    """
    return _checked(repr(str(path)), read(path, mapped=mmap), kind)


def from_bytes(data: bytes, *, kind: type | tuple[type, ...] | None = None) -> Any:
    """Return the object of the bytes of a file; as safe as `load`.

    Parameters
    ----------
    data : bytes, as of `to_bytes`
    kind : type or tuple of types, optional
        What they must hold.

    See Also
    --------
    to_bytes : the way there
    """
    return _checked("data", unpack("data", np.frombuffer(data, dtype=np.uint8)), kind)


def _checked(owner: str, container: Container, kind: type | tuple[type, ...] | None) -> Any:
    """Return the object of a container, once it is known to be of a kind that is wanted."""
    name = container.header.get("kind")
    if not isinstance(name, str) or name not in KINDS:
        listed, writer = ", ".join(KINDS), container.header.get("writer")
        raise FileFormatError(f"{owner} must hold one of {listed}, got {name!r} of {writer!r}. Update lowtide.")
    if kind is not None and not issubclass(KINDS[name], kind):
        wanted = " or ".join(cls.__name__ for cls in (kind if isinstance(kind, tuple) else (kind,)))
        raise FileFormatError(f"{owner} must hold a {wanted}, got a {name}. Name another file.")
    return _built(owner, name, container)


def _built(owner: str, name: str, container: Container) -> Any:
    """Return the object of a registered kind."""
    header, arrays = container.header, container.arrays
    try:
        if "weights" in header:
            arrays = unpack_weights(arrays, header["weights"])
        kind = KINDS[name]
        return (kind.from_state if kind is Codes else kind._from_state)(header["spec"], arrays)
    except Exception as error:  # the content is a stranger's: whatever does not fit is the file's fault
        reason = f"{type(error).__name__}: {str(error)[:500]}"
        raise FileFormatError(f"{owner} must hold a valid {name}, got one that cannot be built. {reason}") from error
