"""What everything stands on: parameter rules, seeds, parallel map, progress, labels, files."""
