"""Records what a program hands to a kernel: each distinct call signature with its count, as JSON lines.

    import ako_record
    ops.rms_norm = ako_record.wrap(ops.rms_norm, "rms_norm", ["out", "x", "weight", "eps"])

    @ako_record.record                     # names from the function's own parameters
    def rms_norm(out, x, weight, eps): ...

    @ako_record.record(tensors=["rows"])   # keeps what index tensors held, one .npy a signature
    def gather(out, x, rows): ...

The file is AKO_RECORD, else ako_calls.jsonl in the current folder. It is written when the process ends and by flush();
several processes may share it. Standard library alone: whatever has shape and dtype counts as a tensor. The calls
themselves go on as before: a failure to record is swallowed and counted in `failures`.
"""
import atexit
import fcntl
import functools
import hashlib
import inspect
import json
import math
import os
import struct
import sys
import threading

__all__ = ["record", "wrap", "flush", "failures"]

failures = 0
_counts = {}
_lock = threading.Lock()


def _path():
    return os.environ.get("AKO_RECORD") or "ako_calls.jsonl"


def _dtype(tensor):
    return str(tensor.dtype).split(".")[-1]


def _describe(name, value):
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        out = {"name": name, "dtype": _dtype(value), "shape": [int(size) for size in value.shape]}
        strides = value.stride() if callable(getattr(value, "stride", None)) else None
        if strides is not None:
            out["strides"] = [int(each) for each in strides]
        return out
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return {"name": name, "text": repr(value)}
    if isinstance(value, (int, float)) and math.isfinite(value):  # JSON has no word for the others
        return {"name": name, "value": value}
    if isinstance(value, (list, tuple)):
        return {"name": name, "text": f"{type(value).__name__} of {len(value)}"}
    return {"name": name, "text": repr(value) if isinstance(value, float) else type(value).__name__}


_KINDS = {"int64": "<q", "int32": "<i", "int16": "<h", "int8": "<b", "uint8": "<B", "bool": "<?"}


def _flat(values):
    for each in values:
        if isinstance(each, (list, tuple)):
            yield from _flat(each)
        else:
            yield each


def _npy(tensor, kind):
    """The bytes of a .npy file, format 1.0."""
    values = tensor.tolist()
    flat = list(_flat(values)) if isinstance(values, (list, tuple)) else [values]
    shape = tuple(int(size) for size in tensor.shape)
    letter = {"q": "i8", "i": "i4", "h": "i2", "b": "i1", "B": "u1", "?": "b1"}[kind[1]]
    order = "|" if letter.endswith("1") else "<"
    head = f"{{'descr': '{order}{letter}', 'fortran_order': False, 'shape': {shape}, }}"
    head += " " * (-(len(head) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + b"".join(
        struct.pack(kind, value) for value in flat)


def _save(tensor, name, signature):
    """What an index tensor held at the first call of a signature."""
    kind = _KINDS.get(_dtype(tensor))
    if kind is None:
        return None
    stem = hashlib.sha256(signature.encode()).hexdigest()[:12]
    file = f"{name}-{stem}.npy"
    folder = os.path.dirname(os.path.abspath(_path()))
    with open(os.path.join(folder, file), "wb") as out:
        out.write(_npy(tensor, kind))
    return file


def _note(kernel, names, tensors, args, kwargs):
    described = []
    for i, value in enumerate(args):
        described.append((_describe(names[i] if i < len(names) else f"arg{i}", value), value))
    described += [(_describe(name, value), value) for name, value in kwargs.items()]
    signature = json.dumps([kernel, [each for each, _ in described]], sort_keys=True)
    with _lock:
        entry = _counts.get(signature)
        if entry is not None:
            entry["count"] += 1
            return
        for each, value in described:
            if each["name"] in tensors and "shape" in each:
                file = _save(value, each["name"], signature)
                if file:
                    each["file"] = file
        _counts[signature] = {"kernel": kernel, "count": 1, "args": [each for each, _ in described]}


def wrap(function, kernel=None, names=None, tensors=()):
    """`function`, recorded under `kernel`; `names` of its positional arguments where it does not say them itself."""
    label = kernel or getattr(function, "__name__", "kernel")
    if names is None:
        try:
            names = list(inspect.signature(function).parameters)
        except (TypeError, ValueError):
            names = []

    @functools.wraps(function, updated=())
    def call(*args, **kwargs):
        global failures
        try:
            _note(label, names, tensors, args, kwargs)
        except Exception:  # production goes on whatever becomes of the record
            failures += 1
        return function(*args, **kwargs)

    return call


def record(function=None, *, kernel=None, names=None, tensors=()):
    """As a decorator, with or without arguments."""
    if function is None:
        return lambda inner: wrap(inner, kernel, names, tensors)
    return wrap(function, kernel, names, tensors)


def flush():
    """Appends what was counted since the last flush and begins anew. Returns the number of signatures."""
    with _lock:
        lines = [json.dumps(entry) + "\n" for entry in _counts.values()]
        _counts.clear()
    if lines:
        with open(_path(), "a", encoding="utf-8") as out:
            fcntl.flock(out, fcntl.LOCK_EX)
            out.write("".join(lines))
    return len(lines)


def _at_exit():
    try:
        flush()
    except OSError as problem:
        print(f"ako_record: the calls were not written: {problem}", file=sys.stderr)


atexit.register(_at_exit)
def _in_child():
    """A child counts its own calls; its parent's are the parent's to write. Another thread may have held the lock."""
    global _lock
    _lock = threading.Lock()
    _counts.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
