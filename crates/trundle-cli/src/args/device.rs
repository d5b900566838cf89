//! The `--device` option.

use clap::{Args, ValueEnum};

/// Device that moves elements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum DeviceName {
    /// This machine's CPU
    #[default]
    Cpu,
    /// A GPU, through Vulkan, DirectX 12 or Metal; both buffers are in its memory
    Wgpu,
    /// The first NVIDIA GPU, through CUDA; both buffers are in its memory
    Cuda,
}

#[derive(Debug, Args)]
pub(crate) struct DeviceArgs {
    /// `cpu`, or `wgpu` or `cuda` for a GPU (default: cpu)
    #[arg(
        long,
        value_name = "DEVICE",
        value_enum,
        hide_possible_values = true,
        default_value_t,
        hide_default_value = true
    )]
    pub device: DeviceName,
}
