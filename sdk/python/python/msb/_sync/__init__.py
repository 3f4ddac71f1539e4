# Generated from _async/__init__.py by generate_sync.py: edit that file.
"""The synchronous client, generated from `_async` by `generate_sync.py`."""
