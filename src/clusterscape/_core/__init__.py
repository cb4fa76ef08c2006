"""Shared foundations: parameter rules, seeds, parallel map, progress, labels, files."""
