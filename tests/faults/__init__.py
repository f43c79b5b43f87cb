"""Faults: kills, full disks, live writers, damage, hostile input. Real processes of the command line, real files."""
