"""The demo: a real small language model on this machine's CPU, simulated users, and the stack that watches them."""
