//! What goes wrong on a device while nobody waits for it.

use std::sync::{Arc, Mutex, PoisonError};

use trundle_core::{Error, Result};

/// What a device has said of itself that it failed at. It is told to whoever asks next, and once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Faults(Arc<Mutex<Told>>);

#[derive(Debug, Default)]
struct Told {
    /// What failed, until somebody has been told.
    failed: Option<String>,
    /// Why the device is lost, from when on everything fails.
    lost: Option<String>,
}

impl Faults {
    /// Those that a device has from now on.
    pub(crate) fn of(device: &wgpu::Device) -> Faults {
        let faults = Faults::default();
        let (failed, lost) = (faults.clone(), faults.clone());
        device.on_uncaptured_error(Arc::new(move |error| failed.fail(error.to_string())));
        device.set_device_lost_callback(move |reason, message| {
            lost.told(|told| told.lost = Some(format!("it was lost ({reason:?}): {message}")));
        });
        faults
    }

    fn fail(&self, message: String) {
        self.told(|told| {
            told.failed.get_or_insert(message);
        });
    }

    /// Whether all went well so far.
    pub(crate) fn check(&self) -> Result<()> {
        let message = self.told(|told| told.lost.clone().or_else(|| told.failed.take()));
        message.map_or(Ok(()), |message| Err(Error::DeviceFailed { message }))
    }

    fn told<T>(&self, change: impl FnOnce(&mut Told) -> T) -> T {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
