"""GPU metrics of a Dask cluster per worker, job and dag. `Monitor` is what a client holds; `custom_metric` makes a function of yours a column."""
from .monitor import Monitor, custom_metric

__all__ = ["Monitor", "custom_metric"]
