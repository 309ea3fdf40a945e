"""Helpers for testing jask and what is built on it."""
