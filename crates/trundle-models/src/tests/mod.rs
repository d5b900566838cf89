//! Tests that planning cost stays bounded for any model.

mod planning;
