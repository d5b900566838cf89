//! Failures that a device reports asynchronously.

use std::sync::{Arc, Mutex, PoisonError};

use trundle_core::{Error, Result};

/// The failures that a device has reported. The next check returns a failure, once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Faults(Arc<Mutex<FaultLog>>);

#[derive(Debug, Default)]
struct FaultLog {
    /// The first failure that was not returned yet.
    failed: Option<String>,
    /// Why the device was lost. All later checks return it.
    lost: Option<String>,
}

impl Faults {
    pub(crate) fn of(device: &wgpu::Device) -> Faults {
        let faults = Faults::default();
        let (failed, lost) = (faults.clone(), faults.clone());
        device.on_uncaptured_error(Arc::new(move |error| failed.fail(error.to_string())));
        device.set_device_lost_callback(move |reason, message| {
            lost.with_log(|log| log.lost = Some(format!("it was lost ({reason:?}): {message}")));
        });
        faults
    }

    fn fail(&self, message: String) {
        self.with_log(|log| {
            log.failed.get_or_insert(message);
        });
    }

    /// Returns an error if the device is lost or has reported a failure since the last check.
    pub(crate) fn check(&self) -> Result<()> {
        let message = self.with_log(|log| log.lost.clone().or_else(|| log.failed.take()));
        message.map_or(Ok(()), |message| Err(Error::DeviceFailed { message }))
    }

    fn with_log<T>(&self, change: impl FnOnce(&mut FaultLog) -> T) -> T {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
