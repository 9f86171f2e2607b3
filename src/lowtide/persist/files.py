"""Save objects to files, load them again, and summarize files without loading them."""

from __future__ import annotations

import json
import math
from collections import ChainMap
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from lowtide import __version__, learners
from lowtide._checks import check_option, fail
from lowtide.codes import Codes
from lowtide.encoders import ENCODERS, Partition
from lowtide.errors import FileFormatError
from lowtide.learners import LEARNERS, Decision
from lowtide.persist.container import FORMAT, Bytes, PathLike, numbers_in, pack, read, scan, unpack, write_whole
from lowtide.spec import Part, State, take_parts

# What a file may hold. A subclass may hold what no file does, so it is of no kind.
_VALUES: dict[str, Any] = {"Codes": Codes, "Partition": Partition}
KINDS: ChainMap[str, Any] = ChainMap(_VALUES, cast(Any, LEARNERS), cast(Any, ENCODERS))
# Parts of a learner's file that it decides by.
_DECISION = ("decision", "encoder", "template", "table")
# Forms that keep each column of the weights relative to its largest entry, and the number that stands for it.
_TOP = {"float16": 1.0, "int8": 127.0}
# Arrays of the part "decision" that have a form; asymmetric kernels have weights of two maps.
_WEIGHTS = ("weights", "right_weights")
# Thresholds may be infinite: of a level that no row has.
_BORDERS = frozenset({"encoder/upper", "encoder/lower", "encoder/map"})

T = TypeVar("T")
Kind = type | tuple[type, ...]
WeightForm = Literal["float64", "float32", "float16", "int8"]


def save(
    object: Any, path: PathLike, *, weights: WeightForm | None = None, metadata: dict[str, Any] | None = None
) -> None:
    """Write a fitted model, encoder, pipeline or codes to a file that is safe to load.

    Parameters
    ----------
    object : an encoder, a learner, CodePCA, what `lowtide.compress` gives, Codes, or a scikit-learn Pipeline
        Fitted. What holds a callable, such as `PeriodicMap(f)` of a function, is refused. A pipeline whose last step
        is a learner and whose other steps `lowtide.tables` knows is kept as that learner with a recipe of its columns.
    path : str or path-like
        Replaced when it is there. The customary ending is ".lowtide".
    weights : {"float32", "float64", "float16", "int8"}, optional
        How a learner's weights are kept; by default as they were fitted, so that the scores of the loaded model are
        those of the saved one, bit by bit. That is float64, and float32 where it holds each of them, as after
        `compress`. "float32" takes half and changes scores by its rounding; float16 and int8, with a scale a column,
        take a quarter and an eighth.
    metadata : dict, optional
        What else to keep beside the object, as JSON has it: texts, finite numbers, booleans, None, lists and dicts with
        texts for keys. `lowtide.persist.read_metadata` gives it back; `load` does not look at it.

    Notes
    -----
    The file is written beside its place, synced and renamed: it is never there in part. It is a safetensors file with
    a JSON header and a sha256 over all of it; equal objects give equal bytes. A Hadamard encoder takes about 4.6 bytes
    a component (cos_sin), a dense one 2 n_features more.

    A `RandomState` object given as `random_state` is kept as None; sums of `partial_fit`, callbacks and scikit-learn's
    routing and output settings are not kept.

    See Also
    --------
    load : the way back

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> import lowtide as lt
    >>> X = np.random.default_rng(0).standard_normal((100, 20))
    >>> encoder = lt.RandomFeatures(n_components=4096, random_state=0).fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "encoder.lowtide")
    ...     lt.save(encoder, path)
    ...     os.path.getsize(path) < 20_000, lt.load(path).encode(X) == encoder.encode(X)
    (True, True)
    """
    write_whole(path, _pieces(object, weights, metadata))


def to_bytes(object: Any, *, weights: WeightForm | None = None) -> bytes:
    """Return the bytes of the file that `save` would write.

    Parameters
    ----------
    object : as for `save`
    weights : as for `save`

    See Also
    --------
    from_bytes : the way back

    Examples
    --------
    >>> import numpy as np
    >>> import lowtide as lt
    >>> X = np.random.default_rng(0).standard_normal((100, 20))
    >>> encoder = lt.RandomFeatures(n_components=4096, random_state=0).fit(X)
    >>> data = lt.persist.to_bytes(encoder)
    >>> len(data) < 20_000, lt.persist.from_bytes(data).encode(X) == encoder.encode(X)
    (True, True)
    """
    return b"".join(_pieces(object, weights, None))


def _pieces(object: Any, weights: WeightForm | None, metadata: dict[str, Any] | None) -> list[Bytes]:
    from sklearn.pipeline import Pipeline  # brings all of scikit-learn's preprocessing, which loading does not need

    kept = learners.as_model(object) if isinstance(object, Pipeline) else object
    kind = type(kept).__name__
    if KINDS.get(kind) is not type(kept):
        remedy = "Save other estimators with pickle or joblib."
        raise fail("save", f"object must be one of {', '.join(KINDS)}, or a Pipeline that ends in one", kind, remedy)
    state = _pack_weights(kept.to_state(), kind, weights)
    parts = {name: {"version": part.version, "spec": part.spec} for name, part in state.items()}
    header = {"kind": kind, "parts": parts, "writer": f"lowtide {__version__}"}
    if metadata is not None:
        header["metadata"] = check_metadata(metadata)
    return pack(header, {f"{name}/{key}": array for name, part in state.items() for key, array in part.arrays.items()})


def load(path: PathLike, *, kind: Kind | None = None) -> Any:
    """Load the model, encoder or codes of a file that `save` wrote; no code in the file is run.

    Parameters
    ----------
    path : str or path-like
    kind : type or tuple of types, optional
        What the file must hold, `lowtide.Codes` for example; anything else is refused before it is built.

    Returns
    -------
    object
        Of the kind that was saved, with its fingerprint; all of it in memory, so that the file is not needed any more.

    Raises
    ------
    FileAccessError
        Also an OSError: the file is not there or cannot be read.
    FileFormatError
        Also a ValueError: the file is foreign, cut short, damaged, of another format, of another kind, or has a part
        that this version does not know.

    Notes
    -----
    Safe for files from strangers: no code of the file is run, only registered classes are built, and the checksum and
    all sizes are compared with the file's before anything is made of them. The checksum finds accidents; whoever can
    change a file on purpose can also change its checksum, so it says nothing of who wrote it.

    See Also
    --------
    save : the way there
    lowtide.persist.open_codes : codes that stay in their file, read block by block

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
    >>> bool(np.array_equal(loaded.predict(X), model.predict(X)))
    True
    """
    found = read(path)
    return built(repr(str(path)), found.header, found.arrays, kind)


def load_decision(path: PathLike) -> Decision:
    """Load what the learner of a file decides by, without the estimator around it.

    Parameters
    ----------
    path : str or path-like

    Returns
    -------
    Decision
        `decision_` of the learner that was saved: encoder, weights, classes, and what makes answers of scores.

    Notes
    -----
    Loading a decision and predicting by it import no scikit-learn, which takes most of the time until a first answer.
    Files are checked as in `load`, but for parameters of the estimator, which are not looked at.

    See Also
    --------
    load : the whole learner

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
    ...     decision = lt.persist.load_decision(path)
    >>> bool(np.array_equal(decision.predict(X), model.predict(X)))
    True
    """
    found, owner = read(path), repr(str(path))
    kind = _kind_of(owner, found.header)
    if kind not in LEARNERS:
        raise FileFormatError(f"{owner} must hold a model, got {kind}. 'lowtide fit' writes models.")

    def build(state: State) -> Decision:
        return Decision.from_state({name: part for name, part in state.items() if name in _DECISION})

    return _built(owner, kind, found.header, found.arrays, build)


def from_bytes(data: bytes, *, kind: Kind | None = None) -> Any:
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
    found = unpack("data", np.frombuffer(data, dtype=np.uint8))
    return built("data", found.header, found.arrays, kind)


def built(owner: str, header: dict[str, Any], arrays: dict[str, NDArray[Any]], kind: Kind | None) -> Any:
    """Return the object of a header and arrays, once it is known to be of a kind that is wanted."""
    name = _kind_of(owner, header)
    if kind is not None and not issubclass(KINDS[name], kind):
        wanted = " or ".join(cls.__name__ for cls in (kind if isinstance(kind, tuple) else (kind,)))
        raise FileFormatError(f"{owner} must hold a {wanted}, got a {name}. Name another file.")
    return _built(owner, name, header, arrays, KINDS[name].from_state)


def _kind_of(owner: str, header: dict[str, Any]) -> str:
    """Return what a file holds by its name, or refuse what this version does not know."""
    name = header.get("kind")
    if not isinstance(name, str) or name not in KINDS:
        listed, writer = ", ".join(KINDS), header.get("writer")
        raise FileFormatError(f"{owner} must hold one of {listed}, got {name!r} of {writer!r}. Update lowtide.")
    return name


def _built(
    owner: str, name: str, header: dict[str, Any], arrays: dict[str, NDArray[Any]], build: Callable[[State], T]
) -> T:
    """Return what is built of the parts of a file, or refuse the file."""
    try:
        return build(_unpack_weights(_state(header, arrays)))
    except FileFormatError as error:
        raise FileFormatError(f"{owner}: {error}") from error
    except Exception as error:  # the content is a stranger's: whatever does not fit is the file's fault
        reason = f"{type(error).__name__}: {str(error)[:500]}"
        raise FileFormatError(f"{owner} must hold a valid {name}, got one that cannot be built. {reason}") from error


def _not_finite(array: NDArray[Any]) -> NDArray[np.bool_]:
    """Return where numbers are none, or infinite."""
    return ~np.isfinite(array)


def _state(header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> State:
    """Return the parts of a file, each with its arrays; every number of them is finite."""
    state: State = {}
    for name, part in header["parts"].items():
        if part.keys() != {"version", "spec"} or type(part["version"]) is not int or not isinstance(part["spec"], dict):
            raise TypeError(f"part {name!r} must have a version and a specification, and nothing else")
        state[name] = Part(part["version"], part["spec"])
        for place, number in numbers_in(part["spec"]):
            if not math.isfinite(number):
                raise FileFormatError(f"part {name!r} must have finite numbers, got {number} for {place[1:]}.")
    for place, array in arrays.items():
        name, _, key = place.partition("/")
        refused = np.isnan if place in _BORDERS else _not_finite
        if array.dtype.kind == "f" and refused(array).any():
            raise FileFormatError(f"part {name!r} must have finite numbers, got NaN or infinity in its array {key!r}.")
        state[name].arrays[key] = array
    return state


def describe(path: PathLike) -> dict[str, Any]:
    """Summarize a model file without building its object, after its checksum has been found right.

    Parameters
    ----------
    path : str or path-like

    Returns
    -------
    dict, ready for JSON
        `format`, `kind`, `writer`, `sha256`; `parts`, with `version` and `spec` (parameters and fitted values) of each;
        `arrays`, with `dtype`, `shape` and `bytes` of each; `metadata`, what was saved beside the object;
        `header_bytes` and `bytes`, of the whole file.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> import lowtide as lt
    >>> encoder = lt.RandomFeatures(n_components=128, random_state=0).fit(np.eye(5))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     lt.save(encoder, os.path.join(folder, "encoder.lowtide"))
    ...     found = lt.persist.describe(os.path.join(folder, "encoder.lowtide"))
    >>> found["format"], found["kind"], found["parts"]["encoder"]["spec"]["quantizer"]
    (2, 'RandomFeatures', {'bits': 1, 'type': 'LloydMax'})
    >>> found["arrays"]["encoder/projection.signs"]
    {'dtype': 'uint8', 'shape': [16], 'bytes': 16}
    """
    outline = scan(path)
    header, n_bytes = outline.header, outline.text_bytes
    return {
        "format": int(FORMAT),
        "kind": header.get("kind"),
        "writer": header.get("writer"),
        "sha256": outline.sha256,
        "parts": header.get("parts"),
        "arrays": {
            name: {"dtype": place.dtype.name, "shape": list(place.shape), "bytes": place.n_bytes}
            for name, place in sorted(outline.places.items())
        },
        "metadata": header.get("metadata", {}),
        "header_bytes": n_bytes,
        "bytes": n_bytes + sum(place.n_bytes for place in outline.places.values()),
    }


def read_metadata(path: PathLike) -> dict[str, Any]:
    """Return the metadata that a file was saved with, empty when there are none; the object is not built.

    Parameters
    ----------
    path : str or path-like

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> import lowtide as lt
    >>> encoder = lt.RandomFeatures(n_components=128, random_state=0).fit(np.eye(5))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "encoder.lowtide")
    ...     lt.save(encoder, path, metadata={"made of": "unit vectors"})
    ...     lt.persist.read_metadata(path)
    {'made of': 'unit vectors'}
    """
    metadata = scan(path).header.get("metadata", {})
    if not isinstance(metadata, dict):
        raise FileFormatError(f"{str(path)!r} must have a dict of metadata, got {type(metadata).__name__}.")
    return metadata


def check_metadata(metadata: Any) -> dict[str, Any]:
    """Return metadata that a file gives back as they are, or refuse them."""
    try:
        kept = json.loads(json.dumps(metadata, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise fail("save", "metadata must be what JSON holds", metadata, f"{error}.") from error
    if not isinstance(metadata, dict) or kept != metadata:
        remedy = "Use a dict with texts for keys, and lists, not tuples."
        raise fail("save", "metadata must come back from JSON as they are", metadata, remedy)
    return kept


def _pack_weights(state: State, kind: str, form: WeightForm | None) -> State:
    """Return a state with its weights in a form, and a part "weights" that says how they were: type and scales."""
    if "decision" not in state:
        if form is not None:
            raise fail("save", f"weights must be left out for {kind}, which has none", form)
        return state
    decision = state["decision"]
    small = {name: small_weights(decision.arrays[name], form) for name in _WEIGHTS if name in decision.arrays}
    arrays = {**decision.arrays, **{name: stored for name, (stored, _) in small.items()}}
    scales = {name: scale for name, (_, scale) in small.items() if scale is not None}
    weights = Part(1, {"dtype": decision.arrays["weights"].dtype.name}, scales)
    return {**state, "decision": replace(decision, arrays=arrays), "weights": weights}


def _unpack_weights(state: State) -> State:
    """Return a state with its weights as they were fitted, float32 or float64; it may be anything that a file holds."""
    rest = {name: part for name, part in state.items() if name != "weights"}
    if len(rest) == len(state) and "decision" not in state:
        return state
    take_parts("weights", {name: state[name] for name in state if name == "weights"}, {"weights": 1})
    form, decision = state["weights"], state["decision"]
    dtype = check_option("weights", "dtype", form.spec["dtype"], ("float32", "float64"))
    arrays = dict(decision.arrays)
    for name in [name for name in _WEIGHTS if name in arrays]:
        stored, scale = arrays[name], form.arrays.get(name)
        if stored.ndim != 2 or (scale is not None and scale.shape != stored.shape[1:]):
            raise fail("weights", "must be a matrix with a scale a column", stored.shape)
        with np.errstate(all="ignore"):  # what is not finite is refused by the learner
            arrays[name] = (stored if scale is None else stored * scale).astype(dtype)
    return {**rest, "decision": replace(decision, arrays=arrays)}


def small_weights(weights: NDArray[Any], form: WeightForm | None) -> tuple[NDArray[Any], NDArray[np.float64] | None]:
    """Return weights (m, k) in a form and, where it keeps them relative to their largest, a scale a column.

    None is float32 where it holds each of them, else float64. float32 rounds a weight to 2^-24 of itself. float16 keeps
    w/s and int8 the integer nearest to 127 w/s, s the largest |w| of a column: errors are at most 2^-11 |w| (2^-25 s
    for tiny ones) and s/254.
    """
    if form is None:
        with np.errstate(over="ignore"):
            form = "float32" if np.array_equal(weights.astype(np.float32), weights) else "float64"
    check_option("save", "weights", form, ("float64", "float32", "float16", "int8"))
    if not np.isfinite(weights).all():
        raise fail("save", "weights must be finite", "NaN or infinity", "Fit with stronger regularization.")
    if form not in _TOP:
        with np.errstate(over="ignore"):
            stored = weights.astype(form)
        if not np.isfinite(stored).all():
            raise fail("save", f"weights must fit {form}", f"{np.abs(weights).max():.3g}", "Use weights='float64'.")
        return stored, None
    largest = np.abs(weights).max(axis=0, initial=0.0).astype(np.float64)
    scale = np.where(largest > 0.0, largest, 1.0) / _TOP[form]
    scaled = weights / scale
    return (np.rint(scaled) if form == "int8" else scaled).astype(form), scale
