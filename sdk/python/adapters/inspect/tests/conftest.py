"""The fixtures of both adapters' tests."""

pytest_plugins = ["support"]
