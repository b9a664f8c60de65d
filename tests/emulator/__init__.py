"""The emulator: emitted files compiled for the CPU."""
