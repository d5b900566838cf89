//! The suite of all backends.

use trundle_testing::{everything, sub_byte, suite};

use super::device;

fn shares(else_shares: usize) -> usize {
    if everything() { 1 } else { else_shares }
}

#[test]
fn moves_of_whole_buffers_are_what_the_oracle_says() {
    let Some(device) = device() else { return };
    suite::share_of_conformance(&device, 0, shares(16));
}

#[test]
fn moves_between_windows_are_what_the_oracle_says() {
    let Some(device) = device() else { return };
    let device = device.with_windows(64 << 10);
    suite::share_of_conformance(&device, 1, shares(16));
}

#[test]
fn packed_elements_are_what_the_oracle_says() {
    let Some(device) = device() else { return };
    sub_byte::conformance(&device);
}
