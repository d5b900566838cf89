//! Moves (stub to compile).
