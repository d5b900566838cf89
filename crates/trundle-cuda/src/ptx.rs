//! The kernels as a driver takes them.

/// PTX for one compute capability, which runs on all greater ones.
#[derive(Debug)]
pub(crate) struct Ptx {
    /// Ten times the compute capability.
    pub(crate) capability: u32,
    /// The text, with a zero at its end.
    pub(crate) text: &'static str,
}

/// What `kernels/build.py` makes, the greatest capability first.
pub(crate) const ALL: [Ptx; 2] = [
    Ptx { capability: 90, text: concat!(include_str!("../kernels/compute_90.ptx"), "\0") },
    Ptx { capability: 75, text: concat!(include_str!("../kernels/compute_75.ptx"), "\0") },
];

/// The most specific one that runs on a device of this capability.
pub(crate) fn for_capability(capability: u32) -> Option<&'static Ptx> {
    ALL.iter().find(|ptx| ptx.capability <= capability)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_specific_that_runs_is_taken() {
        let taken = |capability| for_capability(capability).map(|ptx| ptx.capability);
        assert_eq!([61, 75, 80, 89].map(taken), [None, Some(75), Some(75), Some(75)]);
        assert_eq!([90, 100, 120].map(taken), [Some(90); 3]);
    }
}
