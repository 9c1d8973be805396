"""What a runtime does with a model: the functions it calls, what it refuses, how it lays out memory."""
