"""Many models: processes that may die, Dask, URLs, and the rows that come of them."""

from __future__ import annotations
