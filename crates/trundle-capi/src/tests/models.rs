use std::ffi::{CString, c_char, c_void};
use std::path::Path;
use std::ptr::{null, null_mut, without_provenance, without_provenance_mut};

use super::plans::Owned;
use super::*;

/// A model that is freed on drop.
pub(super) struct OwnedModel(*mut trundle_model);

impl OwnedModel {
    fn open(path: &Path) -> OwnedModel {
        let mut model = null_mut();
        assert_ok(open(path, TRUNDLE_LINKS_WITHIN, &mut model));
        OwnedModel(model)
    }

    pub(super) fn patches() -> OwnedModel {
        OwnedModel::open(&patches())
    }

    /// Opens OpenVINO IR.
    pub(super) fn of_layers(layers: &str, edges: &[[usize; 4]]) -> OwnedModel {
        let folder = tempfile::tempdir().unwrap();
        OwnedModel::open(&write_model(folder.path(), layers, edges))
    }

    pub(super) fn plan(
        &self,
        descs: &[trundle_tensor_desc],
        data: &[*const c_void],
        plan: *mut *mut trundle_plan,
    ) -> trundle_status {
        let data = if data.is_empty() { null() } else { data.as_ptr() };
        // SAFETY: every pointer is valid for its description, or the call rejects it.
        unsafe { trundle_model_plan(self.0, descs.as_ptr(), data, descs.len(), plan) }
    }

    pub(super) fn planned(&self, descs: &[trundle_tensor_desc], data: &[*const c_void]) -> Owned {
        Owned::new(|plan| self.plan(descs, data, plan))
    }

    /// 1 for each input that controls moves.
    fn deciding(&self, descs: &[trundle_tensor_desc], data: &[*const c_void]) -> Vec<u8> {
        let mut decides = vec![7; descs.len()];
        // SAFETY: every pointer is valid for its description.
        assert_ok(unsafe {
            let (first, data) = (descs.as_ptr(), data.as_ptr());
            trundle_model_deciding_inputs(self.0, first, data, descs.len(), decides.as_mut_ptr())
        });
        decides
    }

    fn input(&self, number: usize) -> (trundle_dtype, Result<Vec<i64>, u32>) {
        let (mut dtype, mut sizes, mut rank) = (0, [7; 8], 0);
        // SAFETY: there is room for eight sizes.
        assert_ok(unsafe {
            trundle_model_input(self.0, number, &mut dtype, sizes.as_mut_ptr(), 8, &mut rank)
        });
        (dtype, sizes.get(..rank as usize).map(<[i64]>::to_vec).ok_or(rank))
    }

    fn names(&self) -> (Vec<String>, Vec<String>) {
        // SAFETY: the model is there, and its names are C strings.
        unsafe {
            let inputs = 0..trundle_model_input_count(self.0);
            let outputs = 0..trundle_model_output_count(self.0);
            assert!(trundle_model_input_name(self.0, inputs.end).is_null());
            assert!(trundle_model_output_name(self.0, outputs.end).is_null());
            let text = |name| CStr::from_ptr(name).to_str().unwrap().to_owned();
            let inputs = inputs.map(|at| text(trundle_model_input_name(self.0, at)));
            let outputs = outputs.map(|at| text(trundle_model_output_name(self.0, at)));
            (inputs.collect(), outputs.collect())
        }
    }
}

impl Drop for OwnedModel {
    fn drop(&mut self) {
        // SAFETY: no call uses the model any more.
        unsafe { trundle_model_free(self.0) };
    }
}

fn patches() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/examples/patches.onnx")
}

fn open(path: &Path, links: trundle_links, model: *mut *mut trundle_model) -> trundle_status {
    let path = CString::new(path.to_str().unwrap()).unwrap();
    // SAFETY: pointer arguments are valid as trundle.h requires, or the call rejects them.
    unsafe { trundle_model_open(path.as_ptr(), links, model) }
}

/// Writes OpenVINO IR. An edge is its source layer and port, then its destination layer and port.
fn write_model(folder: &Path, layers: &str, edges: &[[usize; 4]]) -> std::path::PathBuf {
    let edge = |[from, out, to, port]: &[usize; 4]| {
        format!("<edge from-layer='{from}' from-port='{out}' to-layer='{to}' to-port='{port}'/>")
    };
    let edges: String = edges.iter().map(edge).collect();
    let path = folder.join("model.xml");
    let text =
        format!("<net name='n' version='11'><layers>{layers}</layers><edges>{edges}</edges></net>");
    std::fs::write(&path, text).unwrap();
    path
}

/// A layer with `reads` input ports and `gives` output ports.
fn layer(id: usize, name: &str, kind: &str, content: &str, reads: usize, gives: usize) -> String {
    let ports = |range: std::ops::Range<usize>| -> String {
        range.map(|port| format!("<port id='{port}'/>")).collect()
    };
    let (read, given) = (ports(0..reads), ports(reads..reads + gives));
    format!(
        "<layer id='{id}' name='{name}' type='{kind}' version='opset1'>{content}\
         <input>{read}</input><output>{given}</output></layer>"
    )
}

fn parameter(id: usize, name: &str, element: &str, shape: &str) -> String {
    let data = format!("<data shape='{shape}' element_type='{element}'/>");
    layer(id, name, "Parameter", &data, 0, 1)
}

fn result(id: usize, name: &str) -> String {
    layer(id, name, "Result", "", 1, 0)
}

/// A model with a transpose by an input `order`, whose result is two outputs, and an input that is only passed on.
pub(super) fn transposing_model(element: &str) -> OwnedModel {
    let layers = [
        parameter(0, "data", element, "?,3"),
        parameter(1, "order", "i64", "2"),
        parameter(2, "kept", "i16", "1..4"),
        layer(3, "turn", "Transpose", "", 2, 1),
        result(4, "turned"),
        result(5, "kept"),
        result(6, "again"),
    ];
    let edges = [[0, 0, 3, 0], [1, 0, 3, 1], [3, 2, 4, 0], [2, 0, 5, 0], [3, 2, 6, 0]];
    OwnedModel::of_layers(&layers.concat(), &edges)
}

/// The `order` input of [`transposing_model`].
const ORDER: [i64; 2] = [1, 0];
const TRANSPOSING_SIZES: [[u64; 2]; 3] = [[2, 3], [2, 0], [4, 0]];

pub(super) fn transposing_descs(dtype: trundle_dtype) -> [trundle_tensor_desc; 3] {
    let [data, order, kept] = &TRANSPOSING_SIZES;
    [
        packed(dtype, data),
        packed(TRUNDLE_DTYPE_I64, &order[..1]),
        packed(TRUNDLE_DTYPE_I16, &kept[..1]),
    ]
}

#[test]
fn a_model_lists_its_inputs_and_outputs() {
    let model = OwnedModel::patches();
    assert_eq!(model.names(), (vec!["image".into()], vec!["patches".into()]));
    assert_eq!(model.input(0), (TRUNDLE_DTYPE_F32, Ok(vec![-1, 224, 224, 3])));
    let model = transposing_model("u4");
    let names = |names: [&str; 3]| names.map(str::to_owned).to_vec();
    let outputs = names(["turned", "kept", "again"]);
    assert_eq!(model.names(), (names(["data", "order", "kept"]), outputs));
    assert_eq!(model.input(0), (TRUNDLE_DTYPE_U4, Ok(vec![-1, 3])));
    assert_eq!(model.input(1), (TRUNDLE_DTYPE_I64, Ok(vec![2])));
    assert_eq!(model.input(2), (TRUNDLE_DTYPE_I16, Ok(vec![-1])));
    let any = [parameter(0, "x", "bf16", "..."), result(1, "y")].concat();
    let any = OwnedModel::of_layers(&any, &[[0, 0, 1, 0]]);
    assert_eq!(any.input(0), (TRUNDLE_DTYPE_BF16, Err(TRUNDLE_RANK_ANY)));
    // Only the rank of an input.
    let mut rank = 7;
    // SAFETY: only `rank` is written.
    assert_ok(unsafe { trundle_model_input(model.0, 0, null_mut(), null_mut(), 0, &mut rank) });
    assert_eq!(rank, 2);
    // SAFETY: NULL is a valid model argument.
    unsafe {
        assert_eq!((trundle_model_input_count(null()), trundle_model_output_count(null())), (0, 0));
        assert!(trundle_model_input_name(null(), 0).is_null());
        assert!(trundle_model_output_name(null(), 0).is_null());
        trundle_model_free(null_mut());
    }
}

#[test]
fn a_model_is_described() {
    let model = OwnedModel::patches();
    let mut needed = 0;
    // SAFETY: the buffer has room for the text.
    let text = unsafe {
        assert_ok(trundle_model_describe(model.0, null_mut(), 0, &mut needed));
        let mut text = vec![0u8; needed];
        let room: *mut c_char = text.as_mut_ptr().cast();
        let refused = trundle_model_describe(model.0, room, needed - 1, &mut needed);
        assert_eq!(refused, TRUNDLE_ERROR_BUFFER_SIZE);
        assert_ok(trundle_model_describe(model.0, room, needed, null_mut()));
        let misaligned = (&raw mut needed).wrapping_byte_add(1);
        let refused = trundle_model_describe(model.0, room, needed, misaligned);
        assert_eq!(refused, TRUNDLE_ERROR_MISALIGNED);
        assert_eq!(
            trundle_model_describe(null(), room, needed, null_mut()),
            TRUNDLE_ERROR_NULL_POINTER
        );
        CString::from_vec_with_nul(text).unwrap().into_string().unwrap()
    };
    assert!(text.starts_with("patches: ONNX, opset 17\n"), "{text}");
    assert!(text.contains("\n  input image: f32 [batch, 224, 224, 3]\n"), "{text}");
}

/// The pixels of both images are numbered from `first`.
fn check_patches(plan: &Owned, first: u32) {
    let pixels = 2 * 224 * 224 * 3;
    let images: Vec<u32> = (first..).take(pixels).collect();
    let mut out = vec![0u32; pixels];
    assert_ok(plan.run_all(&[images.as_ptr().cast()], &[out.as_mut_ptr().cast()]));
    for (at, got) in out.iter().enumerate() {
        let (batch, patch, within) = (at / (196 * 768), at / 768 % 196, at % 768);
        let row = patch / 14 * 16 + within / 48;
        let column = patch % 14 * 16 + within / 3 % 16;
        assert_eq!(*got, images[((batch * 224 + row) * 224 + column) * 3 + within % 3]);
    }
}

#[test]
fn a_planned_model_runs_repeatedly_on_several_threads() {
    let sizes = [2, 224, 224, 3];
    let model = OwnedModel::patches();
    let plan = model.planned(&[packed(TRUNDLE_DTYPE_F32, &sizes)], &[]);
    // The plan does not need the model.
    drop(model);
    assert_eq!(plan.output(0), (TRUNDLE_DTYPE_F32, vec![2, 196, 768]));
    let words = plan.words();
    assert!(words.starts_with("1 pass over memory, 1204224 bytes\n"), "{words}");
    std::thread::scope(|scope| {
        for first in [1, 1_000_000] {
            let plan = &plan;
            scope.spawn(move || (0..4).for_each(|more| check_patches(plan, first + more)));
        }
    });
    // A model with one input and one output runs like any other plan.
    let images = vec![7.0f32; 2 * 224 * 224 * 3];
    let mut out = vec![0.0f32; images.len()];
    assert_ok(plan.run(images.as_ptr().cast(), out.as_mut_ptr().cast()));
    assert_eq!(out, images);
}

#[test]
fn deciding_elements_are_read_when_planning() {
    let model = transposing_model("u8");
    let descs = transposing_descs(TRUNDLE_DTYPE_U8);
    let (data, kept) = ([1u8, 2, 3, 4, 5, 6], [-1i16, 2, -3, 4]);
    let mut order = ORDER;
    let inputs: [*const c_void; 3] =
        [data.as_ptr().cast(), order.as_ptr().cast(), kept.as_ptr().cast()];
    assert_eq!(model.deciding(&descs, &inputs), [0, 1, 0]);
    assert_eq!(model.deciding(&descs, &[null(), inputs[1], null()]), [0, 1, 0]);
    let plan = model.planned(&descs, &[null(), inputs[1], null()]);
    assert_eq!(plan.output(0), (TRUNDLE_DTYPE_U8, vec![3, 2]));
    assert_eq!(plan.output(1), (TRUNDLE_DTYPE_I16, vec![4]));
    assert_eq!(plan.output(2), plan.output(0));
    order.fill(0);
    let inputs = [inputs[0], order.as_ptr().cast(), inputs[2]];
    let mut outputs = [Guarded::new(6), Guarded::new(8), Guarded::new(6)];
    for _ in 0..2 {
        assert_ok(plan.run_all(&inputs, &outputs.each_mut().map(Guarded::start)));
        outputs[0].assert_is(&[1, 4, 2, 5, 3, 6]);
        outputs[1].assert_is(&bytes!(i16: -1, 2, -3, 4));
        outputs[2].assert_is(&[1, 4, 2, 5, 3, 6]);
    }
    // Data of other inputs is accepted too.
    let order = ORDER;
    let all = [inputs[0], order.as_ptr().cast(), inputs[2]];
    let plan = model.planned(&descs, &all);
    assert_ok(plan.run_all(&all, &outputs.each_mut().map(Guarded::start)));
    outputs[0].assert_is(&[1, 4, 2, 5, 3, 6]);
}

#[test]
fn unused_bits_of_packed_outputs_are_kept() {
    let model = transposing_model("u4");
    let sizes = [3, 3];
    let mut descs = transposing_descs(TRUNDLE_DTYPE_U4);
    descs[0] = packed(TRUNDLE_DTYPE_U4, &sizes);
    let (data, order, kept) = ([0x21u8, 0x43, 0x65, 0x87, 0xf9], ORDER, [0i16; 4]);
    let inputs: [*const c_void; 3] =
        [data.as_ptr().cast(), order.as_ptr().cast(), kept.as_ptr().cast()];
    let plan = model.planned(&descs, &[null(), inputs[1], null()]);
    assert_eq!(plan.output(2), (TRUNDLE_DTYPE_U4, vec![3, 3]));
    let mut outputs = [Guarded::new(5), Guarded::new(8), Guarded::new(5)];
    assert_ok(plan.run_all(&inputs, &outputs.each_mut().map(Guarded::start)));
    for output in [&outputs[0], &outputs[2]] {
        output.assert_is(&[0x41, 0x27, 0x85, 0x63, GUARD & 0xf0 | 9]);
    }
    // Another bit order is another type.
    descs[0].dtype += TRUNDLE_BIT_ORDER_HIGH_FIRST;
    let mut plan = null_mut();
    assert_eq!(model.plan(&descs, &[null(), inputs[1], null()], &mut plan), TRUNDLE_ERROR_DTYPE);
    assert!(last_message().starts_with("inputs[0]: data"), "{}", last_message());
}

#[test]
fn files_other_than_models_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("torn.onnx"), &std::fs::read(patches()).unwrap()[..100]).unwrap();
    std::fs::write(path("text.xml"), "no model").unwrap();
    let computing =
        [parameter(0, "x", "f32", "2"), layer(1, "r", "Relu", "", 1, 1), result(2, "y")];
    let computing = write_model(folder.path(), &computing.concat(), &[[0, 0, 1, 0], [1, 1, 2, 0]]);
    let mut kept = without_provenance_mut(8);
    for (path, status, words) in [
        (path("none.onnx"), TRUNDLE_ERROR_FILE, "none.onnx: cannot read: "),
        (path("torn.onnx"), TRUNDLE_ERROR_MODEL, "torn.onnx: "),
        (path("text.xml"), TRUNDLE_ERROR_MODEL, "text.xml: "),
        (path("model.npy"), TRUNDLE_ERROR_MODEL, "expected the ending .xml or .onnx"),
        (computing, TRUNDLE_ERROR_UNSUPPORTED, "Relu (1 node), which computes"),
    ] {
        assert_refused(open(&path, TRUNDLE_LINKS_WITHIN, &mut kept), status, words);
    }
    let patches = patches();
    assert_eq!(open(&patches, 2, &mut kept), TRUNDLE_ERROR_NUMBER);
    assert_eq!(last_message(), "links 2 is out of range: expected one of TRUNDLE_LINKS_*");
    assert_eq!(open(&patches, TRUNDLE_LINKS_WITHIN, null_mut()), TRUNDLE_ERROR_NULL_POINTER);
    // SAFETY: invalid pointers are rejected before they are dereferenced.
    let none = unsafe { trundle_model_open(null(), TRUNDLE_LINKS_WITHIN, &mut kept) };
    assert_eq!(none, TRUNDLE_ERROR_NULL_POINTER);
    assert_eq!(kept.addr(), 8);
}

/// The weight file is a link out of the model's folder, as in caches.
#[cfg(unix)]
#[test]
fn links_out_of_the_folder_need_permission() {
    let (folder, store) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let constant = "<data element_type='u8' shape='2' offset='0' size='2'/>";
    let layers = [layer(0, "c", "Const", constant, 0, 1), result(1, "y")].concat();
    let path = write_model(folder.path(), &layers, &[[0, 0, 1, 0]]);
    std::fs::write(store.path().join("blob"), [5, 6]).unwrap();
    let link = folder.path().join("model.bin");
    std::os::unix::fs::symlink(store.path().join("blob"), link).unwrap();
    let mut model = null_mut();
    assert_eq!(open(&path, TRUNDLE_LINKS_WITHIN, &mut model), TRUNDLE_ERROR_MODEL);
    assert!(last_message().contains("leads out of the model's folder"), "{}", last_message());
    assert_ok(open(&path, TRUNDLE_LINKS_ANYWHERE, &mut model));
    let model = OwnedModel(model);
    // The plan reads only the model's constants.
    let plan = model.planned(&[], &[]);
    let mut out = Guarded::new(2);
    assert_ok(plan.run_all(&[], &[out.start()]));
    out.assert_is(&[5, 6]);
}

#[test]
fn inputs_that_do_not_fit_are_not_planned() {
    let model = transposing_model("u8");
    let descs = transposing_descs(TRUNDLE_DTYPE_U8);
    let [data, order, kept] = descs;
    let turned = ORDER;
    let elements: [*const c_void; 3] = [null(), turned.as_ptr().cast(), null()];
    let (sizes, strides, long) = ([2, 4], [1, 2], [5]);
    let signed = trundle_tensor_desc { dtype: TRUNDLE_DTYPE_I8, ..data };
    let wide = packed(TRUNDLE_DTYPE_U8, &sizes);
    let columns = strided(TRUNDLE_DTYPE_U8, &TRANSPOSING_SIZES[0], &strides);
    let long = packed(TRUNDLE_DTYPE_I16, &long);
    let no_sizes = trundle_tensor_desc { sizes: null(), ..kept };
    let wrong = [1i64, 1];
    let mut plan = without_provenance_mut(8);
    let (null_pointer, misaligned) = (TRUNDLE_ERROR_NULL_POINTER, TRUNDLE_ERROR_MISALIGNED);
    let (shape, dtype, unfit) = (TRUNDLE_ERROR_SHAPE, TRUNDLE_ERROR_DTYPE, TRUNDLE_ERROR_MODEL);
    for (status, descs, words) in [
        (shape, &[][..], "wrong number of inputs: the model takes 3, got 0"),
        (shape, &[wide, order, kept], "input \"data\" must have shape [?, 3], got [2, 4]"),
        (shape, &[data, order, long], "input \"kept\" must have shape [1..=4], got [5]"),
        (shape, &[columns, order, kept], "inputs[0]: \"data\" must be packed, row-major"),
        (dtype, &[signed, order, kept], "inputs[0]: \"data\" must have element type u8, got i8"),
        (null_pointer, &[data, order, no_sizes], "inputs[2]: data_desc->sizes is a null"),
    ] {
        let elements = &elements[..descs.len()];
        assert_refused(model.plan(descs, elements, &mut plan), status, words);
    }
    let words = "wrong number of inputs: the model takes 3, got 2";
    assert_refused(model.plan(&descs[..2], &elements, &mut plan), shape, words);
    // Data that controls moves is required.
    let odd = elements[1].wrapping_byte_add(1);
    for (status, elements, words) in [
        (unfit, &[][..], "Transpose \"turn\": "),
        (unfit, &[null(); 3], "\"order\""),
        (unfit, &[null(), wrong.as_ptr().cast(), null()], "Transpose \"turn\": "),
        (misaligned, &[null(), odd, null()], "inputs[1]: data is 0x"),
    ] {
        assert_refused(model.plan(&descs, elements, &mut plan), status, words);
    }
    // SAFETY: invalid pointers are rejected before they are dereferenced.
    unsafe {
        let first = descs.as_ptr();
        assert_eq!(trundle_model_plan(null(), first, null(), 3, &mut plan), null_pointer);
        assert_eq!(trundle_model_plan(model.0, null(), null(), 3, &mut plan), null_pointer);
        assert_eq!(trundle_model_plan(model.0, first, null(), 3, null_mut()), null_pointer);
        let odd = without_provenance(9);
        assert_eq!(trundle_model_plan(model.0, first, odd, 3, &mut plan), misaligned);
        let (mut decides, data) = ([7; 3], elements.as_ptr());
        let to = decides.as_mut_ptr();
        for (status, refused) in [
            (null_pointer, trundle_model_deciding_inputs(null(), first, data, 3, to)),
            (null_pointer, trundle_model_deciding_inputs(model.0, null(), data, 3, to)),
            (null_pointer, trundle_model_deciding_inputs(model.0, first, data, 3, null_mut())),
            (unfit, trundle_model_deciding_inputs(model.0, first, null(), 3, to)),
            (shape, trundle_model_deciding_inputs(model.0, first, data, 2, to)),
        ] {
            assert_eq!(refused, status, "{}", last_message());
        }
        assert_eq!(decides, [7; 3]);
    }
    assert_eq!(plan.addr(), 8);
}

#[test]
fn models_with_strings_are_refused() {
    let layers = [parameter(0, "words", "string", "2"), result(1, "y")].concat();
    let model = OwnedModel::of_layers(&layers, &[[0, 0, 1, 0]]);
    let sizes = [2];
    let (mut plan, mut rank) = (null_mut(), 7);
    let desc = packed(TRUNDLE_DTYPE_U64, &sizes);
    assert_eq!(model.plan(&[desc], &[], &mut plan), TRUNDLE_ERROR_DTYPE);
    let words = "\"words\" holds strings, which have no element type in C";
    assert_eq!(last_message(), format!("inputs[0]: {words}"));
    // SAFETY: only `rank` could be written.
    let refused = unsafe { trundle_model_input(model.0, 0, null_mut(), null_mut(), 0, &mut rank) };
    assert_eq!((refused, rank), (TRUNDLE_ERROR_DTYPE, 7));
    assert_eq!(last_message(), format!("input {words}"));
}

#[test]
fn queries_of_models_and_plans_are_checked() {
    let model = transposing_model("u8");
    let order = ORDER;
    let plan = model
        .planned(&transposing_descs(TRUNDLE_DTYPE_U8), &[null(), order.as_ptr().cast(), null()]);
    let (mut dtype, mut sizes, mut rank) = (7, [7; 8], 7);
    let (number, null_pointer) = (TRUNDLE_ERROR_NUMBER, TRUNDLE_ERROR_NULL_POINTER);
    let room = TRUNDLE_ERROR_BUFFER_SIZE;
    let odd = without_provenance_mut(9);
    // SAFETY: invalid pointers are rejected before they are dereferenced.
    unsafe {
        let to = sizes.as_mut_ptr();
        let input = |model, at, dtype, to: *mut u64, capacity, rank| {
            trundle_model_input(model, at, dtype, to.cast(), capacity, rank)
        };
        for (status, words, got) in [
            (number, "input 3 is out of range: the model has 3", {
                input(model.0, 3, &mut dtype, to, 8, &mut rank)
            }),
            (room, "sizes has room for 1, but 2", input(model.0, 0, &mut dtype, to, 1, &mut rank)),
            (null_pointer, "model is a null", input(null(), 0, &mut dtype, to, 8, &mut rank)),
            (null_pointer, "rank is a null", input(model.0, 0, &mut dtype, to, 8, null_mut())),
            (null_pointer, "sizes is a null", {
                input(model.0, 0, &mut dtype, null_mut(), 8, &mut rank)
            }),
            (TRUNDLE_ERROR_MISALIGNED, "dtype is 0x9", {
                input(model.0, 0, odd, to, 8, &mut rank)
            }),
            (number, "output 3 is out of range: the plan has 3", {
                trundle_plan_output(plan.0, 3, &mut dtype, to, 8, &mut rank)
            }),
            (room, "sizes has room for 1, but 2", {
                trundle_plan_output(plan.0, 0, &mut dtype, to, 1, &mut rank)
            }),
            (null_pointer, "plan is a null", {
                trundle_plan_output(null(), 0, &mut dtype, to, 8, &mut rank)
            }),
            (null_pointer, "rank is a null", {
                trundle_plan_output(plan.0, 0, &mut dtype, to, 8, null_mut())
            }),
            (TRUNDLE_ERROR_MISALIGNED, "dtype is 0x9", {
                trundle_plan_output(plan.0, 0, odd, to, 8, &mut rank)
            }),
        ] {
            assert_eq!(got, status, "{words}: {}", last_message());
        }
    }
    assert_eq!((dtype, sizes, rank), (7, [7; 8], 7));
}

#[test]
fn buffers_are_checked_in_each_run_of_a_model() {
    let model = transposing_model("i32");
    let order = ORDER;
    let plan = model
        .planned(&transposing_descs(TRUNDLE_DTYPE_I32), &[null(), order.as_ptr().cast(), null()]);
    let (mut data, mut out) = (Guarded::new(64), Guarded::new(128));
    let to = out.start();
    let at = |byte: usize| to.wrapping_byte_add(byte);
    let (from, kept) = (data.at(0).cast_const(), data.at(24).cast_const());
    let inputs = [from, order.as_ptr().cast(), kept];
    let outputs = [at(0), at(24), at(32)];
    let within = from.wrapping_byte_add(8).cast_mut();
    for (status, words, inputs, outputs) in [
        (
            TRUNDLE_ERROR_NULL_POINTER,
            "inputs[1]: data is a null",
            &[from, null(), kept],
            &outputs[..],
        ),
        (
            TRUNDLE_ERROR_NULL_POINTER,
            "outputs[2]: out is a null",
            &inputs,
            &[at(0), at(24), null_mut()],
        ),
        (TRUNDLE_ERROR_MISALIGNED, "outputs[1]: out is 0x", &inputs, &[at(0), at(25), at(32)]),
        (TRUNDLE_ERROR_OVERLAP, "outputs[0]: out at 0x", &inputs, &[within, at(24), at(32)]),
        (TRUNDLE_ERROR_OVERLAP, "outputs[2]: out at 0x", &inputs, &[at(0), at(24), at(20)]),
    ] {
        assert_refused(plan.run_all(inputs, outputs), status, words);
    }
    // SAFETY: invalid pointers are rejected before they are dereferenced.
    unsafe {
        let (read, written) = (inputs.as_ptr(), outputs.as_ptr());
        let null_pointer = TRUNDLE_ERROR_NULL_POINTER;
        assert_eq!(trundle_plan_run_all(null(), read, 3, written, 3), null_pointer);
        assert_eq!(trundle_plan_run_all(plan.0, null(), 3, written, 3), null_pointer);
        assert_eq!(trundle_plan_run_all(plan.0, read, 3, null(), 3), null_pointer);
        assert_eq!(trundle_plan_run_all(plan.0, read, 65537, written, 3), TRUNDLE_ERROR_RANK);
        assert_eq!(trundle_plan_run(plan.0, from, to), TRUNDLE_ERROR_SHAPE);
    }
    out.assert_untouched();
    // Inputs may share memory: the order lies in the data.
    assert_ok(plan.run_all(&[from, from, from], &outputs));
}

#[test]
fn every_plan_reports_its_outputs_and_runs_with_lists() {
    let (sizes, strides, turned) = ([2, 4], [8, 1], [4, 2]);
    let from = strided(TRUNDLE_DTYPE_I4 + TRUNDLE_BIT_ORDER_HIGH_FIRST, &sizes, &strides);
    let to = packed(TRUNDLE_DTYPE_I4 + TRUNDLE_BIT_ORDER_HIGH_FIRST, &turned);
    // SAFETY: every pointer is valid for its description.
    let plan = Owned::new(|plan| unsafe { trundle_transpose_plan(&from, null(), 0, &to, plan) });
    assert_eq!(plan.output(0), (to.dtype, turned.to_vec()));
    let (mut data, mut out) = (Guarded::of(&[0x12, 0x34, 0, 0, 0x56, 0x78]), Guarded::new(4));
    assert_ok(plan.run_all(&[data.start()], &[out.start()]));
    out.assert_is(&[0x15, 0x26, 0x37, 0x48]);

    let (whole, halves) = (packed(TRUNDLE_DTYPE_U8, &sizes), [2, 2]);
    let half = packed(TRUNDLE_DTYPE_U8, &halves);
    // SAFETY: every pointer is valid for its description.
    let split =
        Owned::new(|plan| unsafe { trundle_split_plan(&whole, [half; 2].as_ptr(), 2, 1, plan) });
    // SAFETY: every pointer is valid for its description.
    let joined = Owned::new(|plan| unsafe {
        trundle_concatenate_plan([half; 2].as_ptr(), 2, 1, &whole, plan)
    });
    assert_eq!(split.output(1), (TRUNDLE_DTYPE_U8, halves.to_vec()));
    assert_eq!(joined.output(0), (TRUNDLE_DTYPE_U8, sizes.to_vec()));
    let mut data = Guarded::of(b"abcdefgh");
    let (mut parts, mut out) = ([Guarded::new(4), Guarded::new(4)], Guarded::new(8));
    assert_ok(split.run_all(&[data.start()], &parts.each_mut().map(Guarded::start)));
    let read = parts.each_mut().map(|part| part.start().cast_const());
    assert_ok(joined.run_all(&read, &[out.start()]));
    out.assert_is(b"abcdefgh");
}
