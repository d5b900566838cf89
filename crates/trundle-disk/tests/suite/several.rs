//! Tests of files with several tensors.

use crate::support::{hint, moved, options, parsed, read_tensor, write_tensors};
use trundle::{DType, Shape};
use trundle_disk::{Job, RunOptions, Source, Storage, Wanted};
use trundle_formats::{Format, Order, StoredDType, TensorFile};

#[test]
fn chosen_tensors_are_moved_in_one_pass_or_two() {
    let folder = tempfile::tempdir().unwrap();
    let sizes = [200, 300];
    let (element, shape) = (StoredDType::new(DType::F32), Shape::new(sizes).unwrap());
    let chains = ["flip(1) | a b -> b a", "roll(shift=[1], axes=[0])", "flip(0)"].map(parsed);
    for ending in ["safetensors", "npz"] {
        let path = |name: &str| folder.path().join(format!("{name}.{ending}"));
        let data = write_tensors(&path("in"), DType::F32, &sizes, Order::RowMajor, 5);
        for (max_bytes, storage) in [
            (200_000, Storage::SSD),
            (200_000, Storage::HDD),
            (3_000_000, Storage::HDD),
            (20 << 20, Storage::SSD),
        ] {
            let mut file =
                TensorFile::open_as(&path("in"), &hint(&path("in"), &element, &shape)).unwrap();
            let chain = |index: usize| &chains[index % chains.len()];
            // The output has only some of the tensors, in another order.
            let chosen = [4, 0, 3, 2];
            let wanted =
                chosen.map(|index| Wanted { index, chain: Some(chain(index)), others: &[] });
            let (format, planning) =
                (Format::of(&path("out")).unwrap(), options(max_bytes, storage));
            let job = Job::new(&[&file], &wanted, format, &[], &planning).unwrap();
            let options = RunOptions { overwrite: true, verify: true, resume: false };
            job.run(
                &mut [Source { file: &mut file, path: &path("in") }],
                &path("out"),
                options,
                &(),
            )
            .unwrap();
            let out = TensorFile::open_as(&path("out"), &Default::default()).unwrap();
            for index in chosen {
                let name = format!("x{index:05}");
                let at = out.headers().iter().position(|header| header.name == name).unwrap();
                let found = read_tensor(&path("out"), &Default::default(), at);
                assert!(found == moved(chain(index), &element, &shape, &data), "{name} {ending}");
            }
            assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
            std::fs::remove_file(path("out")).unwrap();
        }
        std::fs::remove_file(path("in")).unwrap();
    }
}
