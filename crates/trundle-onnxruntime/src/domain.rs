//! The operators as an ONNX Runtime holds them.

use std::ptr::null_mut;
use std::sync::{Mutex, PoisonError};

use ort_sys::{OrtCustomOp, OrtCustomOpDomain};

use crate::DOMAIN;
use crate::api::Api;
use crate::chain::Chained;
use crate::failure::Result;
use crate::model::Moved;
use crate::operator::{Declared, custom_op};
use crate::reverse_subsequences::ReverseSubsequences;
use crate::roll::Roll;

/// All operators, in an ONNX Runtime. It stays as long as the process: sessions have its operators without a word of when
/// they have ended.
#[derive(Clone, Copy)]
pub(crate) struct Domain(*mut OrtCustomOpDomain);

// SAFETY: ONNX Runtime only reads it, once all operators are in it.
unsafe impl Send for Domain {}

/// Those that there are: one for each ONNX Runtime of the process, which is one as a rule.
static DOMAINS: Mutex<Vec<(Api, Domain)>> = Mutex::new(Vec::new());

impl Domain {
    /// The domain in this ONNX Runtime, which is made the first time.
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
        // SAFETY: the name stays.
        api.check(unsafe { (api.functions().CreateCustomOpDomain)(DOMAIN.as_ptr(), &mut domain) })?;
        let ops = [
            custom_op::<Moved>(),
            custom_op::<Roll>(),
            custom_op::<ReverseSubsequences>(),
            custom_op::<Chained>(),
        ];
        for op in ops {
            let declared: &'static Declared = Box::leak(Box::new(Declared { op, api }));
            // SAFETY: the domain is ours, and the operator stays. The pointer is to all that is declared.
            api.check(unsafe {
                let op = std::ptr::from_ref(declared).cast::<OrtCustomOp>();
                (api.functions().CustomOpDomain_Add)(domain, op)
            })?;
        }
        Ok(Domain(domain))
    }

    pub(crate) fn pointer(self) -> *mut OrtCustomOpDomain {
        self.0
    }
}
