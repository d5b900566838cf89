//! Checks that trundle.h is the output of cbindgen for the sources.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::path::Path;

fn version_macros() -> String {
    format!(
        r#"
/**
 * The version of this header, TRUNDLE_VERSION_MAJOR.TRUNDLE_VERSION_MINOR.TRUNDLE_VERSION_PATCH;
 * trundle_version() returns the version of the running library.
 */
#define TRUNDLE_VERSION "{}"
#define TRUNDLE_VERSION_MAJOR {}
#define TRUNDLE_VERSION_MINOR {}
#define TRUNDLE_VERSION_PATCH {}"#,
        env!("CARGO_PKG_VERSION"),
        env!("CARGO_PKG_VERSION_MAJOR"),
        env!("CARGO_PKG_VERSION_MINOR"),
        env!("CARGO_PKG_VERSION_PATCH")
    )
}

/// The modules with items for C, in the order of the header.
const MODULES: [&str; 16] = [
    "status",
    "dtype",
    "version",
    "error",
    "threads",
    "descriptor",
    "operators",
    "in_place",
    "gathers",
    "scatters",
    "joins",
    "split",
    "plan",
    "chain",
    "models",
    "directml",
];

#[test]
fn the_header_matches_the_sources() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut config = cbindgen::Config::from_file(root.join("cbindgen.toml")).unwrap();
    config.after_includes = Some(version_macros());
    let builder = MODULES.iter().fold(cbindgen::Builder::new().with_config(config), |all, name| {
        all.with_src(root.join("src").join(name).with_extension("rs"))
    });
    let mut made = Vec::new();
    builder.generate().unwrap().write(&mut made);
    // cbindgen writes unsigned constants as signed ones, and this one does not fit an int.
    let made = String::from_utf8(made).unwrap().replace("4294967295\n", "4294967295u\n");

    assert!(made.contains("TRUNDLE_RANK_ANY 4294967295u\n"), "cbindgen writes it in another way");

    let header = root.join("include/trundle.h");
    if std::env::var_os("TRUNDLE_WRITE_HEADER").is_some() {
        std::fs::write(&header, &made).unwrap();
    }
    let committed = std::fs::read_to_string(&header).unwrap();
    assert!(
        committed == made,
        "{} is not up to date: TRUNDLE_WRITE_HEADER=1 cargo test -p trundle-capi --test header",
        header.display()
    );
}
