"""Lanes: which indices of a class always hold the same value, which nobody reads, and what takes their place."""

from __future__ import annotations

from onnxlint_cmsis.dims.lanes.lane_analysis import analyse_lanes
from onnxlint_cmsis.dims.lanes.lane_result import ClassLanes, Lanes

__all__ = ["ClassLanes", "Lanes", "analyse_lanes"]
