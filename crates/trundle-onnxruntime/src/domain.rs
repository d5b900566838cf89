//! Registers the operators with an ONNX Runtime.

use std::ptr::null_mut;
use std::sync::{Mutex, PoisonError};

use ort_sys::{OrtCustomOp, OrtCustomOpDomain};

use crate::DOMAIN;
use crate::api::Api;
use crate::chain::Chained;
use crate::failure::Result;
use crate::model::ModelOperator;
use crate::operator::{Declared, custom_op};
use crate::reverse_subsequences::ReverseSubsequences;
use crate::roll::Roll;

/// The domain with all operators. It is never freed, because it is not known when the last session that uses it ends.
#[derive(Clone, Copy)]
pub(crate) struct Domain(pub(crate) *mut OrtCustomOpDomain);

// SAFETY: ONNX Runtime only reads the domain once all operators are added.
unsafe impl Send for Domain {}

/// One domain for each ONNX Runtime in the process (normally one).
static DOMAINS: Mutex<Vec<(Api, Domain)>> = Mutex::new(Vec::new());

impl Domain {
    /// Returns the domain, which the first call creates.
    pub(crate) fn of(api: Api) -> Result<Domain> {
        let mut made = DOMAINS.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, domain)) = made.iter().find(|(of, _)| *of == api) {
            return Ok(*domain);
        }
        let domain = Domain::new(api)?;
        made.push((api, domain));
        Ok(domain)
    }

    fn new(api: Api) -> Result<Domain> {
        let mut domain = null_mut();
        // SAFETY: the name is static.
        api.check(unsafe { (api.functions().CreateCustomOpDomain)(DOMAIN.as_ptr(), &mut domain) })?;
        let ops = [
            custom_op::<ModelOperator>(),
            custom_op::<Roll>(),
            custom_op::<ReverseSubsequences>(),
            custom_op::<Chained>(),
        ];
        for op in ops {
            let declared: &'static Declared = Box::leak(Box::new(Declared { op, api }));
            // SAFETY: the domain was created above, and the operator is leaked. The pointer is to the whole
            // `Declared`.
            api.check(unsafe {
                let op = std::ptr::from_ref(declared).cast::<OrtCustomOp>();
                (api.functions().CustomOpDomain_Add)(domain, op)
            })?;
        }
        Ok(Domain(domain))
    }
}
