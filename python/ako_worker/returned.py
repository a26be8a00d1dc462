"""What an entry may return, and words for what it may not."""
from ako_worker.abi import Refusal


def _type(value):
    kind = type(value)
    module = kind.__module__.split(".")[0]
    return kind.__qualname__ if module == "builtins" else f"{module}.{kind.__qualname__}"


def _address(value):
    try:
        if hasattr(value, "data_ptr"):
            return value.data_ptr()
        return value.__array_interface__["data"][0]
    except Exception:
        return None


def _dtype(value):
    return str(getattr(value, "dtype", "")).split(".")[-1]


def _shape(value):
    return list(getattr(value, "shape", ()))


def _strides(value):
    """In elements."""
    if callable(getattr(value, "stride", None)):
        return list(value.stride())
    steps = getattr(value, "strides", ())
    return [step // max(1, getattr(value, "itemsize", 1)) for step in steps]


def _device(value):
    return str(getattr(value, "device", "cpu"))


def described(value):
    if not hasattr(value, "shape"):
        return f"{_type(value)} {str(value)[:60]}"
    text = f"{_type(value)} {_dtype(value)} {_shape(value)}"
    return text + (f" on {_device(value)}" if hasattr(value, "device") else "")


def differences(value, output):
    """In what a tensor is not what the output is."""
    found = []
    for name, of in (("dtype", _dtype), ("device", _device), ("shape", _shape), ("strides", _strides)):
        try:
            theirs, ours = of(value), of(output)
        except Exception:
            continue
        if theirs != ours:
            found.append(f"{name} {theirs} instead of {ours}")
    return found


def check_written(value, outputs):
    """A measured entry writes into the tensors that it is given: it returns nothing, or those very tensors."""
    listed = list(value) if isinstance(value, (tuple, list)) else [value]
    if all(any(each is output for output in outputs.values()) for each in listed):
        return
    strange = next(each for each in listed if not any(each is output for output in outputs.values()))
    names = ", ".join(f'"{name}"' for name in outputs)
    what = described(strange)
    name, output = next(iter(outputs.items()))
    address = _address(strange)
    begin = _address(output)
    length = getattr(output, "nbytes", 0)
    if not hasattr(strange, "shape"):
        what = f"no tensor ({what})"
    elif type(strange) is not type(output):
        what = f"an object that is no {_type(output)} ({what})"
    elif address is not None and begin is not None and begin <= address < begin + max(1, length):
        what = f'a view of "{name}" ({what}; {"; ".join(differences(strange, output)) or "the same in all"})'
    else:
        more = differences(strange, output)
        what = f"a new tensor ({what}{'; ' + '; '.join(more) if more else ''})"
    raise Refusal("returned_error",
                  f"the entry returned {what}: it must write into {names}, which it was given, and return nothing",
                  returned=described(strange), outputs=list(outputs))


def take_results(value, outputs, names):
    """A reference may return its answers instead: one for each output, in the contract's order."""
    listed = list(value) if isinstance(value, (tuple, list)) else [value]
    if len(listed) != len(names):
        raise Refusal("returned_error", f"the reference returned {len(listed)} results for the outputs "
                      f"{', '.join(names)}", returned=len(listed), outputs=names)
    for each, name in zip(listed, names):
        output = outputs[name]
        if each is output:
            continue
        if not hasattr(each, "shape") or _shape(each) != _shape(output):
            raise Refusal("returned_error", f'the reference returned {described(each)} for "{name}", which is '
                          f"{described(output)}", returned=described(each), output=name)
        if hasattr(output, "copy_"):
            output.copy_(each)
        else:
            output[...] = each
