//! Asynchronous device failures.

use std::sync::{Arc, Mutex, PoisonError};

use trundle_core::{Error, Result};

/// Failures that a device reported. Each is returned once, by the next check.
#[derive(Clone, Debug, Default)]
pub(crate) struct Faults(Arc<Mutex<FaultLog>>);

#[derive(Debug, Default)]
struct FaultLog {
    /// A failure not yet returned.
    failed: Option<String>,
    /// The reason the device was lost; all later checks fail.
    lost: Option<String>,
}

impl Faults {
    /// Collects the failures of a device from now on.
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

    /// Returns a failure reported since the last check.
    pub(crate) fn check(&self) -> Result<()> {
        let message = self.with_log(|log| log.lost.clone().or_else(|| log.failed.take()));
        message.map_or(Ok(()), |message| Err(Error::DeviceFailed { message }))
    }

    fn with_log<T>(&self, change: impl FnOnce(&mut FaultLog) -> T) -> T {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
