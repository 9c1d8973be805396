"""Many models: URLs, processes or a Dask cluster, and the rows that come of them."""

from __future__ import annotations
