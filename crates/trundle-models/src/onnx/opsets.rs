//! Versions of operator sets.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::proto::OperatorSetId;
use crate::{Error, Result};

/// The newest version of ONNX's own operators that this reader knows (ONNX 1.23). Later versions may change their
/// meaning.
pub(super) const NEWEST: i64 = 28;

/// ONNX's own domain has two names.
pub(super) fn domain(name: &str) -> &str {
    match name {
        "ai.onnx" => "",
        other => other,
    }
}

/// Returns the imported version of ONNX's own operators. `whose` names the owner of the imports in messages.
pub(super) fn imported(imports: &[OperatorSetId], whose: &str) -> Result<Option<i64>> {
    let mut versions = HashMap::new();
    for import in imports {
        let (domain, version) = (domain(&import.domain), import.version);
        match versions.entry(domain) {
            Entry::Occupied(other) if *other.get() != version => {
                return Err(Error::Malformed(format!(
                    "{whose} imports the opsets {} and {version} of domain {domain:?}",
                    other.get()
                )));
            }
            entry => entry.or_insert(version),
        };
        if domain.is_empty() && version > NEWEST {
            return Err(Error::Unsupported(format!(
                "{whose} is of opset {version}, which is newer than {NEWEST}, the newest known"
            )));
        }
        if domain.is_empty() && version < 1 {
            return Err(Error::Malformed(format!(
                "{whose} is of opset {version}, which does not exist"
            )));
        }
    }
    Ok(versions.get("").copied())
}
