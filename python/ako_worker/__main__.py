"""python3 -B -u ako_worker/__main__.py LIBAKO_WORKER: becomes the worker on descriptors 3 and 4. Started by ako-child."""
import ctypes
import os
import sys

CHANNEL, CRASH, EXIT_SETUP_FAILED = 3, 4, 98


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[0] = os.path.dirname(here)
    from ako_worker import abi, guest
    sys.path.pop(0)  # what is loaded finds its own modules and the interpreter's
    library = ctypes.CDLL(sys.argv[1])
    if library.ako_guest_abi() != abi.VERSION:
        print(f"{sys.argv[1]} is of another version than {here}", file=sys.stderr)
        return EXIT_SETUP_FAILED
    namespaces = os.environ.pop("AKO_NAMESPACES", "")
    imports = [name for name in os.environ.pop("AKO_IMPORTS", "").split(",") if name]
    sys.argv[:] = ["ako_worker"]
    return abi.run(library, CHANNEL, CRASH, namespaces, guest.Guest(imports))


if __name__ == "__main__":
    # The interpreter is not taken down in order: what was loaded has no last word.
    os._exit(main())
