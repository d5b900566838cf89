//! What is refused, and how.

use crate::{Cuda, NoDevice};

#[test]
fn it_is_said_what_was_looked_for() {
    let none = NoDevice {
        ordinal: 2,
        libraries: &["libcuda.so", "libcuda.so.1"],
        found: "there is no such library".into(),
    };
    assert_eq!(
        none.to_string(),
        "no CUDA device can be used: looked for device 2 by libcuda.so, libcuda.so.1, and there is no such library"
    );
}

/// Whatever the machine has, no device has this number.
#[test]
fn a_device_that_is_not_there_is_an_error() {
    let refusal = Cuda::new(usize::MAX).unwrap_err();
    println!("{refusal}");
    assert_eq!(refusal.ordinal, usize::MAX);
    assert!(!refusal.found.is_empty());
    #[cfg(target_os = "linux")]
    assert!(refusal.libraries.contains(&"libcuda.so.1"), "{refusal}");
}
