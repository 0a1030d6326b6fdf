"""libmuster through ctypes: found, loaded, declared. The only file that knows C.
The contract of each call is in src/lib/muster.h.

ctypes releases Python's lock during each call. The sampling thread belongs to the library and never acquires that lock.
"""
import ctypes
import ctypes.util
import os

SONAME = "libmuster.so.0"
API = 1  # of muster.h that this file was written for


class Options(ctypes.Structure):
    _fields_ = [("size", ctypes.c_uint32), ("interval_us", ctypes.c_uint32), ("collector", ctypes.c_char_p), ("devices", ctypes.c_char_p),
                ("metrics", ctypes.c_char_p), ("mem_limit", ctypes.c_uint64), ("spill_dir", ctypes.c_char_p)]


class Stats(ctypes.Structure):
    _fields_ = [("size", ctypes.c_uint32), ("interval_us", ctypes.c_uint32)] + [(name, ctypes.c_int64) for name in (
        "samples", "skipped", "failed", "spilled", "spilled_bytes", "dropped", "memory_bytes", "slowest_us")]


PEAKS_FN = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p, ctypes.POINTER(ctypes.c_double), ctypes.c_int)

_P, _S, _I, _L, _D, _Z = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int, ctypes.c_int64, ctypes.c_double, ctypes.c_size_t
_DP, _LP = ctypes.POINTER(ctypes.c_double), ctypes.POINTER(ctypes.c_int64)
_CALLS = {  # name: (result, arguments)
    "version": (_S, []), "api": (_I, []),
    "open": (_I, [ctypes.POINTER(_P), ctypes.POINTER(Options), _S, _Z]), "close": (None, [_P]),
    "devices": (_I, [_P]), "device_index": (_I, [_P, _I]), "device_uuid": (_S, [_P, _I]), "device_name": (_S, [_P, _I]),
    "metrics": (_I, [_P]), "metric_name": (_S, [_P, _I]), "metric_unit": (_S, [_P, _I]), "metric_find": (_I, [_P, _S]),
    "start": (_I, [_P, _S, _Z]), "stop": (_I, [_P]), "tick": (_I, [_P]),
    "label": (_I, [_P, _S, _S]), "value": (_I, [_P, _S, _I, _D]), "text": (_I, [_P, _S, _I, _S]), "note": (_I, [_P, _S, _S]),
    "latest": (_I, [_P, _I, _I, _DP]), "stats": (_I, [_P, ctypes.POINTER(Stats)]), "error": (_I, [_P, _S, _Z]),
    "count": (_L, [_P]), "clear": (_I, [_P]),
    "read": (_L, [_P, _I, _I, _L, _L, _DP, _DP, _LP]),
    "peaks": (_I, [_P, _S, _I, PEAKS_FN, _P]),
    "write_csv": (_I, [_P, _S, _S, _Z]),
    "csv_text": (_L, [_P, _L, _L, _I, ctypes.POINTER(_P), ctypes.POINTER(_Z), _LP]),
    "about": (_I, [_P, ctypes.POINTER(_P)]), "free": (None, [_P]),
}


def candidates():
    """Possible places of the library, best first: MUSTER_LIB, next to this file (pip), the system, the source tree."""
    here = os.path.dirname(os.path.abspath(__file__))
    named = os.environ.get("MUSTER_LIB")
    if named:
        return [named]
    return [path for path in (os.path.join(here, SONAME),) if os.path.exists(path)] + [SONAME] + [
        path for path in (os.path.join(here, "..", "..", "build", SONAME),) if os.path.exists(path)]


class Calls:
    """The library's functions without their prefix."""

    def __init__(self, lib, path):
        self.path = path
        for name, (result, arguments) in _CALLS.items():
            call = getattr(lib, "muster_" + name)
            call.restype, call.argtypes = result, arguments
            setattr(self, name, call)


_loaded = None


def load():
    """Returns the library, loaded once. Raises OSError with a message if it is not found."""
    global _loaded
    if _loaded is None:
        why = []
        for path in candidates():
            try:
                calls = Calls(ctypes.CDLL(path), path)
            except (OSError, AttributeError) as e:
                why.append(f"{path}: {e}")
                continue
            if calls.api() < API:
                why.append(f"{path}: is older than this package (API {calls.api()}, wanted {API})")
                continue
            _loaded = calls
            break
        else:
            raise OSError("cannot load libmuster (" + "; ".join(why) + "); `pip install` of muster's python folder builds it in where there is a C compiler, `make install` "
                          "installs it, or MUSTER_LIB names the file")
    return _loaded
