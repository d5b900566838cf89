//! Names the shared library after the version of its ABI, so that programs load only versions that fit.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let variable = |name: &str| std::env::var(name).expect("cargo sets it");
    let (major, minor) = (variable("CARGO_PKG_VERSION_MAJOR"), variable("CARGO_PKG_VERSION_MINOR"));
    // Compatible versions share this: 0.MINOR before 1.0.
    let abi = if major == "0" { format!("0.{minor}") } else { major };
    match variable("CARGO_CFG_TARGET_OS").as_str() {
        "linux" => println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libtrundle.so.{abi}"),
        "macos" => {
            println!(
                "cargo::rustc-cdylib-link-arg=-Wl,-install_name,@rpath/libtrundle.{abi}.dylib"
            );
        }
        _ => {}
    }
}
