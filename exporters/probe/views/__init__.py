"""One probe or one target, for who asks by HTTP: /probe and the pages."""
