"""Lanes: indices of a class that always hold one value or are never read, and what replaces them."""

from __future__ import annotations

from onnxlint_cmsis.dims.lanes.lane_analysis import analyse_lanes
from onnxlint_cmsis.dims.lanes.lane_result import ClassLanes, Lanes

__all__ = ["ClassLanes", "Lanes", "analyse_lanes"]
