//! The suite of all backends, on the kernels as functions of the host.

use std::collections::BTreeSet;

use trundle_core::Move;
use trundle_testing::{MOST_BOXES, everything, sub_byte, suite};

use crate::host::Host;
use crate::kernel::NAMES;
use crate::launch::Misaligned;
use crate::prepared::Prepared;

#[test]
fn moves_are_what_the_oracle_says() {
    let Some(host) = Host::new() else { return };
    suite::share_of_conformance(&host, 0, if everything() { 1 } else { 48 });
}

#[test]
fn packed_elements_are_what_the_oracle_says() {
    let Some(host) = Host::new() else { return };
    sub_byte::conformance(&host);
}

/// Buffers begin anywhere, so that grains are less than a move's own.
#[test]
fn the_suite_reaches_every_kernel() {
    let mut reached = BTreeSet::from(["gather_sub_byte"]);
    for case in suite::sweeps().step_by(if everything() { 1 } else { 7 }).chain(suite::large()) {
        let passes = case.passes().unwrap();
        let [map] = &passes[..] else { continue };
        let work = Move::new(map, case.width, &case.src, &case.dst, MOST_BOXES).unwrap();
        let (prepared, _) = Prepared::of(&work);
        for src in [0, 1, 2, 4, 8] {
            let launches = prepared.launches(Misaligned { src, dst: 0 }).unwrap();
            reached.extend(launches.iter().map(|launch| launch.kernel.name()));
        }
    }
    assert_eq!(reached, BTreeSet::from(NAMES));
}
