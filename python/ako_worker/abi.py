"""guest_abi.h of libako_worker through ctypes."""
import ctypes
import json
import os

VERSION = 1
RAISED = -7310

ASK = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p)
CALL = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)


class Table(ctypes.Structure):
    _fields_ = [("size", ctypes.c_uint32), ("reserved", ctypes.c_uint32), ("user", ctypes.c_void_p), ("ask", ASK),
                ("call", CALL), ("prepare", CALL), ("plan", CALL)]


class Refusal(Exception):
    """An answer that is an error: its kind as the protocol names it, a sentence, data."""

    def __init__(self, kind, message, **data):
        super().__init__(message)
        self.kind, self.message, self.data = kind, message, data


def answered(guest, verb, request):
    """The answer's text; whatever goes wrong inside is an answer too."""
    try:
        return {"ok": getattr(guest, verb.decode())(json.loads(request)) or {}}
    except Refusal as refusal:
        return {"refuse": {"kind": refusal.kind, "message": refusal.message, "data": refusal.data}}
    except SystemExit as left:
        leave(left)
    except BaseException as error:  # noqa: B902 - nothing may leave into C
        kind, message, data = guest.words_of(error)
        return {"refuse": {"kind": kind, "message": message, "data": data}}


def leave(left):
    """sys.exit() ends the process, as exit() does in a library."""
    code = left.code
    if code is not None and not isinstance(code, int):
        os.write(2, f"{code}\n".encode(errors="replace"))
        code = 1
    os._exit((code or 0) & 0xff)


def run(library, channel, crash, namespaces, guest):
    kept = [None]  # the answer stays where it is until the next question

    def ask(_, verb, request):
        text = json.dumps(answered(guest, verb, request), default=str).encode(errors="replace")
        kept[0] = ctypes.create_string_buffer(text)
        return ctypes.addressof(kept[0])

    table = Table(ctypes.sizeof(Table), 0, None, ASK(ask), CALL(guest.called), CALL(guest.prepared),
                  CALL(guest.planned))
    library.ako_guest_run.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_char_p, ctypes.POINTER(Table)]
    return library.ako_guest_run(channel, crash, namespaces.encode(), ctypes.byref(table))
