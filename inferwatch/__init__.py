"""The ground floor: configuration, engine files, errors, logs and the exposition server.

Every other folder may import this one; it imports nothing of ours.
"""

__version__ = "0.1.0"
