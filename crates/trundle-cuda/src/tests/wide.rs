//! Tests the code for large moves: 64-bit divisions and offsets.

use std::borrow::Cow;

use trundle_core::ops::Transpose;
use trundle_core::program::Budget;
use trundle_core::{Backend, Error, Layout, Move, Op, Result, Shape};
use trundle_testing::{Flush, TestBuffer, everything, noise, suite};

use super::conformance::LastBytes;
use super::devices::{FIRST, device};
use super::moves::part;
use crate::launch::{Ends, Launch, Start};
use crate::{Cuda, CudaBuffer, CudaPlan};

/// Uses the 64-bit divisions that moves of more than 2 GiB need.
struct Wide(Cuda);

impl Backend for Wide {
    type Buffer = CudaBuffer;
    type Plan = CudaPlan;

    fn plan(&self, work: &Move) -> CudaPlan {
        self.0.plan(work)
    }

    fn budget(&self) -> Budget {
        self.0.budget()
    }

    fn buffer(&self, bytes: usize) -> Result<Box<CudaBuffer>> {
        self.0.buffer(bytes)
    }

    fn buffer_of(&self, bytes: &[u8]) -> Result<Box<CudaBuffer>> {
        self.0.buffer_of(bytes)
    }

    fn bytes_of(&self, buffer: &CudaBuffer) -> usize {
        self.0.bytes_of(buffer)
    }

    fn run_while(
        &self,
        plan: &CudaPlan,
        src: &CudaBuffer,
        dst: &mut CudaBuffer,
        go_on: &(dyn Fn() -> bool + Sync),
    ) -> Result<()> {
        if !go_on() {
            return Err(Error::Stopped);
        }
        let (src, dst) = (src.device_bytes(), dst.device_bytes());
        let ends = Ends { src, dst, numbers: plan.numbers()? };
        plan.check_sizes(&ends)?;
        let launches: Vec<Launch> = plan
            .launches_between(&ends, &[])?
            .iter()
            .map(|launch| Launch { parameters: launch.parameters.widened(), ..*launch })
            .collect();
        let starts: Vec<Start> = launches.iter().map(Start::Generic).collect();
        // SAFETY: the buffers have the sizes of the plan and belong to one stream.
        unsafe { self.0.stream.launch(&starts, &ends) }
    }
}

impl TestBuffer<Wide> for CudaBuffer {
    type Owner = LastBytes;

    fn holding(gpu: &Wide, bytes: &[u8], _: Flush, _: &dyn Fn() -> String) -> LastBytes {
        LastBytes::holding(&gpu.0, bytes)
    }

    fn bytes(&self, gpu: &Wide) -> Cow<'_, [u8]> {
        Cow::Owned(gpu.0.read(self).expect("the device works"))
    }
}

#[test]
fn moves_with_wide_divisions_match_the_oracle() {
    let Some(gpu) = device(FIRST) else { return };
    suite::conformance(&Wide(gpu), 1, if everything() { 1 } else { 96 });
}

/// The last row begins after 4 GiB in source and destination. Untouched pages of an emulated device use no memory.
#[test]
#[cfg(target_pointer_width = "64")]
fn offsets_have_64_bits() {
    let Some(gpu) = device(FIRST) else { return };
    let far = (2 << 30) + (1 << 26);
    for (rows, columns, width) in [(3, 5000, 4), (40, 70, 1), (40, 70, 8usize)] {
        let shape = Shape::new([rows, columns]).unwrap();
        let stride = far / (rows - 1) * 2 / 64 * 64;
        let op = Op::from(Transpose::new(&[]));
        let map = op.index_map(&shape).unwrap();
        let src = Layout::strided(&shape, 0, &[stride.cast_signed(), width.cast_signed()]).unwrap();
        let across = far / (columns - 1) * 2 / 64 * 64;
        let dst = Layout::strided(map.out_shape(), 0, &[across.cast_signed(), width.cast_signed()])
            .unwrap();
        let work = Move::new(&map, width, &src, &dst, 64).unwrap();
        assert!(work.src_bytes() > 1 << 32 && work.dst_bytes() > 1 << 32);
        let from = gpu.buffer(work.src_bytes()).unwrap();
        let mut to = gpu.buffer(work.dst_bytes()).unwrap();
        let some = noise(rows * columns * width);
        for (row, bytes) in some.chunks(columns * width).enumerate() {
            gpu.write(&mut part(&gpu, &from, row * stride, bytes.len()), bytes).unwrap();
        }
        gpu.run(&gpu.plan(&work), &from, &mut to).unwrap();
        for column in 0..columns {
            let made = gpu.read(&part(&gpu, &to, column * across, rows * width)).unwrap();
            for (row, made) in made.chunks(width).enumerate() {
                let from = &some[(row * columns + column) * width..][..width];
                assert_eq!(from, made, "row {row}, column {column}");
            }
        }
    }
}
