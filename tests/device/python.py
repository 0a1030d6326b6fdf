"""The Python package on a machine with a GPU: installed by pip there, sampled through the driver, with pynvml's own handles where pynvml is.

    python3 -m pip install -q --no-build-isolation --no-deps --target DIR ./python && PYTHONPATH=DIR python3 tests/device/python.py
"""
import sys
import time
import types

import muster

sys.modules.setdefault("distributed", types.ModuleType("distributed"))  # handles_of needs nothing of it
try:
    import distributed.diagnostics.plugin  # noqa: F401
except ImportError:
    for name, members in (("distributed.diagnostics", {}), ("distributed.diagnostics.plugin", {"WorkerPlugin": object, "SchedulerPlugin": object}),
                          ("tornado", {}), ("tornado.ioloop", {"PeriodicCallback": object})):
        sys.modules[name] = module = types.ModuleType(name)
        for key, value in members.items():
            setattr(module, key, value)
from muster.dask.worker import handles_of  # noqa: E402

with muster.Sampler(0.01, metrics=["total-mem", "compute-util", "power", "temp"]) as s:
    print("library", s._c.path, "devices", s.devices)
    time.sleep(2)
    times, watts = s.read("power")
    print(f"{len(s)} samples in {times[-1]:.2f} s; power {watts[-1]:.1f} W, memory {s.latest('total-mem'):.0f} B, {s.latest('temp'):.0f} C; {s.stats()}")
    try:
        handles = handles_of(s.devices, False)
    except RuntimeError as e:
        print("no handles:", e)
    else:
        import pynvml
        power = pynvml.nvmlDeviceGetPowerUsage(handles[0]) / 1000
        used = pynvml.nvmlDeviceGetMemoryInfo(handles[0]).used
        uuid = pynvml.nvmlDeviceGetUUID(handles[0])
        print(f"pynvml's handle: {uuid} {power:.1f} W, {used} B")
        assert (uuid.decode() if isinstance(uuid, bytes) else uuid) == s.devices[0]["uuid"]
        assert abs(power - s.latest("power")) < 30
    s.stop()
    s.to_csv("/tmp/python-device.csv")
with open("/tmp/python-device.csv", encoding="utf-8") as f:
    print(f.readline().strip(), "|", f.readline().strip())
