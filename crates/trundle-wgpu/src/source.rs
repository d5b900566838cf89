//! Assembles the WGSL source of the kernels.

use trundle_core::BitOrder;
use trundle_gpu::{Access, Kernel, STORES_OF_RUNS, WORKGROUP, tile_edge};

const LAUNCH: &str = include_str!("kernels/launch.wgsl");
const ELEMENT: &str = include_str!("kernels/element.wgsl");
const PUT_SHARED: &str = include_str!("kernels/put_shared.wgsl");
const PUT_WHOLE: &str = include_str!("kernels/put_whole.wgsl");
const STORE_WHOLE: &str = include_str!("kernels/store_whole.wgsl");
const STORE_BYTES: &str = include_str!("kernels/store_bytes.wgsl");
const STORE_SUB_BYTE: &str = include_str!("kernels/store_sub_byte.wgsl");
const GATHER: &str = include_str!("kernels/gather.wgsl");
const RUNS: &str = include_str!("kernels/runs.wgsl");
const TILES: &str = include_str!("kernels/tiles.wgsl");

pub(crate) fn source(kernel: Kernel) -> String {
    let (names, parts) = match kernel {
        Kernel::Gather(access) => (names_of_access(access), [stores(access), &[GATHER]].concat()),
        Kernel::Runs(access) => (names_of_access(access), [stores(access), &[RUNS]].concat()),
        Kernel::Tiles { width } => {
            let put = if width < 4 { PUT_SHARED } else { PUT_WHOLE };
            (names_of_tile(width), vec![put, TILES])
        }
    };
    let general = format!(
        "const WORKGROUP = {WORKGROUP}u;\nconst STORES_OF_RUNS = {STORES_OF_RUNS}u;\n{names}\n"
    );
    [&[&general[..], LAUNCH], &parts[..]].concat().join("\n")
}

fn stores(access: Access) -> &'static [&'static str] {
    match access {
        Access::SubByte(_) => &[ELEMENT, PUT_SHARED, STORE_SUB_BYTE],
        Access::Bytes => &[ELEMENT, PUT_SHARED, STORE_BYTES],
        Access::Words | Access::Vectors => &[ELEMENT, STORE_WHOLE],
    }
}

/// Declares buffer types, and constants for sub-byte elements.
fn names_of_access(access: Access) -> String {
    match access {
        Access::SubByte(packing) => {
            let (store, words) = (access.store(), access.store_words());
            let (bits, group, bytes) = (packing.bits(), packing.group(), packing.group_bytes());
            let split = packing.order() == BitOrder::Split;
            let high_first = packing.order() == BitOrder::HighFirst;
            format!(
                "{SHARED}\nconst STORE = {store}u;\nconst STORE_WORDS = {words}u;\nconst BITS = {bits}u;\n\
                 const GROUP = {group}u;\nconst GROUP_BYTES = {bytes}u;\n\
                 const SPLIT = {split};\nconst HIGH_FIRST = {high_first};"
            )
        }
        Access::Bytes => SHARED.to_owned(),
        Access::Words => WORDS.to_owned(),
        Access::Vectors => VECTORS.to_owned(),
    }
}

fn names_of_tile(width: usize) -> String {
    let edge = tile_edge(width);
    let (types, grains, wide, part, part_bits) = match width {
        1 | 2 => (SHARED, 4, width, width, 8 * width),
        _ => (WORDS, 1, width / 4, 1, 32),
    };
    format!(
        "{types}\nconst EDGE = {edge}u;\nconst WIDTH = {wide}u;\nconst GRAINS = {grains}u;\n\
         const PART = {part}u;\nconst PART_BITS = {part_bits}u;"
    )
}

const SHARED: &str = "alias SrcGrain = u32;\nalias DstGrain = atomic<u32>;";
const WORDS: &str = "alias SrcGrain = u32;\nalias DstGrain = u32;";
const VECTORS: &str = "alias SrcGrain = vec4<u32>;\nalias DstGrain = vec4<u32>;";
