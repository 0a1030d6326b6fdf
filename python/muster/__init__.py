"""muster: GPU samples from inside a Python program, over libmuster. muster.dask is the monitor for Dask clusters."""
from .sampler import MusterError, Sampler

__version__ = "0.1.0"
__all__ = ["MusterError", "Sampler", "__version__"]
