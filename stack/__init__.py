"""The top floor: the inferwatch command, the stack without Docker, check, probe and the demo."""
