//! Commands that apply one operator, and the examples at the end of each help text.

use trundle::ops::{DECLARATIONS, Declaration, Flip, ReverseSubsequences, Roll, Rot90, Transpose};

/// The operators with their own command, in the order of the help, each with its examples.
pub(crate) static OPERATORS: [(&Declaration, &str); 5] = [
    (Transpose::DECLARATION, TRANSPOSE),
    (Roll::DECLARATION, ROLL),
    (ReverseSubsequences::DECLARATION, REVERSE),
    (Flip::DECLARATION, FLIP),
    (Rot90::DECLARATION, ROT90),
];

/// The help text of a chain argument.
pub(crate) fn chain() -> String {
    let calls = DECLARATIONS.map(|declared| format!("`{}`", declared.example)).join(", ");
    format!(
        "Stages separated by |: patterns, `z y x -> x y z`, `(h p) w -> h w p, p=2`; and calls, \
         {calls}"
    )
}

pub(crate) const EXAMPLES: &str = "\
Examples:
  trundle demo                                          see it work
  trundle transpose volume.npy -o xyz.npy               the axes inverted
  trundle roll image.npy -o out.npy --shift -3,-3 --axes 0,1
  trundle apply im.npy \"flip(axes=[2]) | h w c -> c h w\" -o chw.npy
  trundle relayout model.safetensors --rule 'conv*.weight: o i h w -> o h w i' -o out.safetensors
  trundle concat january.npy february.npy -o both.npy --axis 0
  trundle plan apply im.npy \"flip(axes=[2]) | h w c -> c h w\"
  trundle run model.onnx --input x=x.npy --out-dir outputs
  trundle plan model.onnx --input x=x.npy
  trundle cmp model.safetensors model.npz               equal, or what differs?
  trundle view volume.npy --slice 12,:,:
  trundle transpose weights.bin --dtype i4 --shape 4096,4096 -o turned.bin
  trundle bench --svg speed.svg                         as fast as a copy?

Exit codes: 0 done, 1 failed while running (cmp: something differs), 2 wrong usage, 3 input refused,
101 a bug in trundle, which stderr asks to report.
TRUNDLE_NUM_THREADS says how many threads to use where --threads does not.
TRUNDLE_SIMD forces a set of instructions: portable, neon, avx2, avx512 or avx512vbmi.
TRUNDLE_TUNING names the file of a tuning record; with `off`, what `tune` kept is not used.";

const TRANSPOSE: &str = "\
Examples:
  trundle transpose volume.npy -o xyz.npy               z y x to x y z; free, the header says so
  trundle transpose volume.npy -o xyz.npy --row-major   the same, and the elements are moved
  trundle transpose image.npy -o chw.npy --order 2,0,1  h w c to c h w
  trundle transpose huge.npy -o turned.npy --max-mem 512M --verify";

const ROLL: &str = "\
Examples:
  trundle roll spectrum.npy -o out.npy --shift 128 --axes 0,1       fftshift of 256 x 256
  trundle roll windows.npy -o out.npy --shift -3,-3 --axes 1,2      towards smaller indices
  trundle roll era5.zarr -o out.zarr --shift 720 --dims lon         all arrays that have this axis";

const REVERSE: &str = "\
Examples:
  trundle reverse x.npy -o out.npy --axis 1 --lengths 312,87,204    of 3 rows, so many elements each
  trundle reverse x.npy -o out.npy --axis 1 --lengths lengths.npy
  trundle reverse speech.npy -o out.npy --axis 1 --batch-axis 0 --lengths 312,87,204
`flip` reverses whole axes.";

const FLIP: &str = "\
Examples:
  trundle flip image.npy -o upside-down.npy --axes 0
  trundle flip bgr.npy -o rgb.npy --axes -1             the last axis: the channels
  trundle flip era5.zarr -o north-up.zarr --dims lat    all arrays that have this axis
`reverse` reverses only the first elements of each row.";

const ROT90: &str = "\
Examples:
  trundle rot90 image.npy -o turned.npy                 a quarter turn, counterclockwise
  trundle rot90 image.npy -o turned.npy --k -1          clockwise
  trundle rot90 batch.npy -o turned.npy --k 2 --axes 1,2";

pub(crate) const APPLY: &str = "\
Examples:
  trundle apply im.npy \"flip(axes=[2]) | h w c -> c h w\" -o chw.npy        BGR to RGB, in front
  trundle apply im.npy \"(h p) (w q) c -> (h w) (p q c), p=16, q=16\" -o patches.npy
  trundle apply ims.npy \"b ... c -> b (...) c\" -o pixels.npy              axes merged
  trundle apply im.npy \"slice(starts=[8], stops=[-8], axes=[1])\" -o cropped.npy
  trundle apply era5.zarr \"time lat lon -> lat lon time | flip(dim=lat)\" -o out.zarr
docs/chains.md says all of the language.";

pub(crate) const TASK: &str = "\
Examples:
  trundle plan apply in.zarr \"t y x -> y x t\" -o out.zarr --max-mem 4G --tasks plan.json
  seq 0 99 | xargs -P8 -n1 trundle task plan.json       if the plan has 100 tasks
  sbatch --array=0-99 --wrap \"trundle task plan.json --array\"
  trundle finish plan.json
A task that is done twice, or twice at once, or killed and done again, changes nothing.
docs/files.md says more.";

pub(crate) const CONVERT: &str = "\
Examples:
  trundle convert era5.zarr --tensor t2m --only -o t2m.npy
  trundle convert model.safetensors -o model.npz
  trundle convert fortran.npy -o c.npy --row-major      column-major stays so without
  trundle convert weights.bin --dtype f16 --shape 4096,-1 -o weights.npy
Elements keep their type, and tensors their names and their order.";

pub(crate) const CONCAT: &str = "\
Examples:
  trundle concat january.npy february.npy -o both.npy --axis 0
  trundle concat jan.zarr feb.zarr mar.zarr -o quarter.zarr --dim time      coordinates too
  trundle concat shard-*.npy -o all.npy --axis -1 --max-mem 512M --verify
  trundle concat a.bin b.bin -o all.npy --axis 0 --dtype f16 --shape -1,4096
The first file says names, metadata, chunks and codecs of the result.";

pub(crate) const STACK: &str = "\
Examples:
  trundle stack frame-*.npy -o movie.npy --axis 0
  trundle stack red.npy green.npy blue.npy -o rgb.npy --axis -1
  trundle stack run-*.zarr -o runs.zarr --axis 0 --dim run              what the new axis is called";

pub(crate) const SPLIT: &str = "\
Examples:
  trundle split volume.npy -o part-{}.npy --axis 0 --parts 4            part-0.npy to part-3.npy
  trundle split data.npy -o set-{}.npy --axis 0 --sizes 800,100,-1      the last one: what is left
  trundle split era5.zarr -o member-%03d.zarr --dim member --parts 50   000 to 049, coordinates in each
  trundle concat part-*.npy -o volume.npy --axis 0                      and back
Numbers begin at 0; those of {} have as many digits as the last one needs.";

pub(crate) const SPLIT_OUTPUT: &str =
    "Where the parts go: {} is the number of each, or %d or %03d as other programs write it";

pub(crate) const RELAYOUT: &str = "\
Examples:
  trundle relayout model.safetensors --rule 'conv*.weight: o i h w -> o h w i' -o out.safetensors
  trundle relayout model.safetensors --rule '*.attn.q: (h d) i -> h d i, h=8' -o out.safetensors
  trundle relayout model.safetensors --rules rules.txt -o model.safetensors --force
A rule is a pattern of names (*, ?, [a-z], [!a-z]), a colon, and an axis pattern as in
docs/chains.md. What the axes are now is recorded in the output's metadata, so that a second run
moves nothing; docs/files.md says more.";

pub(crate) const PLAN: &str = "\
Examples:
  trundle plan transpose huge.npy --max-mem 512M        how much, how often, how long?
  trundle plan flip image.npy --axes 0 -o out.npy       could it be written there?
  trundle plan apply im.npy \"h w c -> c h w\" --verbose  every stage, down to blocks and kernels
  trundle plan model.onnx --input x=x.npy --verbose     a model's graph, and what becomes of it
Put `plan` in front of a command to see what it would do; nothing is moved or written.";

pub(crate) const RUN: &str = "\
Examples:
  trundle run model.onnx --input x=x.npy --out-dir outputs
  trundle run model.xml --input a=a.npy --input b=b.npy --out-dir outputs --verify
docs/models.md says which operators are moved.";

pub(crate) const FUSE: &str = "\
Examples:
  trundle fuse model.onnx -o fused.onnx
  trundle plan model.onnx                               what would be fused, and what it costs
The new model runs in ONNX Runtime with trundle's operators, here from Python:
  options = onnxruntime.SessionOptions()
  options.register_custom_ops_library(trundle.onnx_library())
  session = onnxruntime.InferenceSession(\"fused.onnx\", options)
What gains nothing is left as it is. docs/models.md says more.";

pub(crate) const INFO: &str = "\
Examples:
  trundle info volume.npy
  trundle info model.safetensors --json
  trundle info weights.bin --dtype i4 --shape 4096,4096";

pub(crate) const CMP: &str = "\
Examples:
  trundle cmp a.npy b.npy
  trundle cmp model.safetensors model.npz               tensors of one name, whatever the order
  trundle cmp era5.zarr t2m.npy --tensor t2m --max-mem 512M
  trundle cmp weights.bin weights.npy --dtype f16 --shape 4096,-1
Formats, byte orders, row-major or column-major and chunks make no difference; types, shapes and
single bits do: 0.0 is not -0.0, and a NaN is equal to one of the same bits.
What --dtype and the like say holds for both files, unless one says it itself.
Exit codes: 0 equal, 1 different, 2 wrong usage or failed while running, 3 input refused.";

pub(crate) const VIEW: &str = "\
Examples:
  trundle view volume.npy                               the middle of it, in the terminal
  trundle view volume.npy --slice 12,:,: -o slice.png   one slice, as a picture file
  trundle view volume.npy --slice 12,5,:                one row
  trundle view chw.npy --slice :,:,:                    three axes: a colour picture
  trundle view hdr.npy --range 0,4                      these values are black and white
The line below a picture says what black and white are, and which elements were drawn.";

pub(crate) const DEMO: &str = "\
Examples:
  trundle demo                                          into the folder trundle-demo
  trundle demo /tmp/demo --size 512                     512 MiB";

pub(crate) const TUNE: &str = "\
Examples:
  trundle tune                  while nothing else runs
  trundle tune --dry-run        what would it gain?
  trundle tune -o record.txt    for machines of the same kind: TRUNDLE_TUNING=record.txt
  trundle tune --forget         back to what is built in";

pub(crate) const BENCH: &str = "\
Examples:
  trundle bench                                         a few cases of each suite
  trundle bench transpose --rounds 15                   cases of this word, timed 15 times
  trundle bench --all --svg speed.svg --json speed.json
A fraction of 1 is as fast as a copy of the same bytes. Other programs that run meanwhile make
every number worse.";

pub(crate) const COMPLETIONS: &str = "\
Examples:
  trundle completions bash > ~/.local/share/bash-completion/completions/trundle
  trundle completions zsh > ~/.zfunc/_trundle           with ~/.zfunc in fpath
  trundle completions fish > ~/.config/fish/completions/trundle.fish";

pub(crate) const MAN: &str = "\
Examples:
  trundle man transpose | man -l -                      read one page
  trundle man plan roll > trundle-plan-roll.1
  trundle man > trundle.1                               all pages in one";
