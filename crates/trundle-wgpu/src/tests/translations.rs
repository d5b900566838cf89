//! Checks that the kernels are WGSL without optional features, and translates them for all interfaces.

use naga::back::{hlsl, msl, spv};
use naga::valid::{Capabilities, ModuleInfo, ValidationFlags, Validator};
use naga::{Module, front::wgsl};
use trundle_core::{BitOrder, Packing};
use trundle_gpu::{Access, Kernel, TILE_BYTES};

use crate::source::source;

/// Returns every kernel.
fn kernels() -> Vec<Kernel> {
    let packings = (1..8).flat_map(|bits| BitOrder::ALL.map(|order| Packing::new(bits, order)));
    let sub_byte = packings.flatten().map(Access::SubByte).map(Kernel::Gather);
    let whole = [Access::Bytes, Access::Words, Access::Vectors];
    let whole = whole.into_iter().flat_map(|access| [Kernel::Gather(access), Kernel::Runs(access)]);
    let tiles = TILE_BYTES.into_iter().map(|width| Kernel::Tiles { width });
    sub_byte.chain(whole).chain(tiles).collect()
}

fn valid(kernel: Kernel) -> (Module, ModuleInfo) {
    let text = source(kernel);
    let module = wgsl::parse_str(&text)
        .unwrap_or_else(|wrong| panic!("{kernel:?}: {}", wrong.emit_to_string(&text)));
    let info = Validator::new(ValidationFlags::all(), Capabilities::empty())
        .validate(&module)
        .unwrap_or_else(|wrong| panic!("{kernel:?}: {}", wrong.emit_to_string(&text)));
    (module, info)
}

#[test]
fn kernels_need_no_optional_features() {
    let kernels = kernels();
    assert_eq!(kernels.len(), 10 + 6 + 6);
    kernels.into_iter().for_each(|kernel| drop(valid(kernel)));
}

#[test]
fn kernels_are_translated_for_every_interface() {
    for kernel in kernels() {
        let (module, info) = valid(kernel);
        let vulkan = spv::Options { lang_version: (1, 0), ..spv::Options::default() };
        let words = spv::write_vec(&module, &info, &vulkan, None).unwrap();
        assert_eq!(words[0], 0x0723_0203, "{kernel:?}");

        let (metal, _) = msl::write_string(
            &module,
            &info,
            &msl::Options { lang_version: (2, 0), ..Default::default() },
            &Default::default(),
        )
        .unwrap();
        assert!(metal.contains("kernel void main_("), "{kernel:?}: {metal}");

        let directx = hlsl::Options { fake_missing_bindings: true, ..Default::default() };
        let mut text = String::new();
        let options = Default::default();
        hlsl::Writer::new(&mut text, &directx, &options).write(&module, &info, None).unwrap();
        assert!(text.contains("[numthreads(256, 1, 1)]"), "{kernel:?}: {text}");
    }
}

#[test]
fn shared_memory_fits_every_device() {
    for kernel in kernels() {
        let (module, info) = valid(kernel);
        let bytes: u32 = module
            .global_variables
            .iter()
            .filter(|(_, variable)| variable.space == naga::AddressSpace::WorkGroup)
            .map(|(_, variable)| module.types[variable.ty].inner.size(module.to_ctx()))
            .sum();
        assert!(bytes <= wgpu::Limits::downlevel_defaults().max_compute_workgroup_storage_size);
        assert_eq!(bytes > 0, matches!(kernel, Kernel::Tiles { .. }), "{kernel:?}");
        drop(info);
    }
}
