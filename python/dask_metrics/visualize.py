"""dask_metrics.visualize as it was."""
from muster.visualize import boxes, lines

__all__ = ["boxes", "lines"]
