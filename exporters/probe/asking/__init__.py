"""One probe, from the question that is sent to the verdict on the answer."""
