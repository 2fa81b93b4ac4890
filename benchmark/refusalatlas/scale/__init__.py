"""Judging on many machines: files in, Parquet out, on Ray Data (`refusalatlas judge --engine ray`)."""
