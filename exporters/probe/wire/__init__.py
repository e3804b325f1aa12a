"""Bytes and when they came: connections, their deadlines, and the stamps of what arrives."""
