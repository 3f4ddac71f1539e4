"""The asynchronous client. The synchronous one, in `_sync`, is generated from it by `generate_sync.py`."""
