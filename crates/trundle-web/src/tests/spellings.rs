//! Spellings of numpy, PyTorch and einops.

use super::{explained, sources};

/// A spelling, the shape of `x`, and numpy's result for `x` of the numbers 0, 1, 2, …: its shape and elements. A constant is -1.
type Accepted = (&'static str, &'static [usize], &'static [usize], &'static [i64]);

#[rustfmt::skip]
const ACCEPTED: &[Accepted] = &[
    ("x.flatten('F')", &[2, 3], &[6], &[0, 3, 1, 4, 2, 5]),
    ("x.flatten()", &[2, 3], &[6], &[0, 1, 2, 3, 4, 5]),
    ("x.ravel(order='F')", &[2, 3], &[6], &[0, 3, 1, 4, 2, 5]),
    ("np.ravel(x, order='F')", &[2, 3], &[6], &[0, 3, 1, 4, 2, 5]),
    ("np.ravel(x, 'C')", &[2, 3], &[6], &[0, 1, 2, 3, 4, 5]),
    ("x.flatten(1)", &[2, 2, 2], &[2, 4], &[0, 1, 2, 3, 4, 5, 6, 7]),
    ("torch.flatten(x, 1)", &[2, 1, 3], &[2, 3], &[0, 1, 2, 3, 4, 5]),
    ("torch.flatten(x, start_dim=0, end_dim=1)", &[2, 1, 3], &[2, 3], &[0, 1, 2, 3, 4, 5]),
    ("x.flatten(-2, -1)", &[1, 2, 3], &[1, 6], &[0, 1, 2, 3, 4, 5]),
    ("x.reshape(3, 2, order='F')", &[2, 3], &[3, 2], &[0, 4, 3, 2, 1, 5]),
    ("np.reshape(x, (3, -1), 'F')", &[2, 3], &[3, 2], &[0, 4, 3, 2, 1, 5]),
    ("np.reshape(x, (3, 2))", &[2, 3], &[3, 2], &[0, 1, 2, 3, 4, 5]),
    ("x.reshape((3, 2))", &[2, 3], &[3, 2], &[0, 1, 2, 3, 4, 5]),
    ("x.view(3, 2)", &[2, 3], &[3, 2], &[0, 1, 2, 3, 4, 5]),
    ("torch.reshape(x, shape=(3, 2))", &[2, 3], &[3, 2], &[0, 1, 2, 3, 4, 5]),
    ("x.T", &[2, 3], &[3, 2], &[0, 3, 1, 4, 2, 5]),
    ("x.transpose()", &[2, 3], &[3, 2], &[0, 3, 1, 4, 2, 5]),
    ("x.transpose(None)", &[2, 3], &[3, 2], &[0, 3, 1, 4, 2, 5]),
    ("np.transpose(x)", &[1, 2, 3], &[3, 2, 1], &[0, 3, 1, 4, 2, 5]),
    ("np.transpose(x, (0, 1))", &[2, 3], &[2, 3], &[0, 1, 2, 3, 4, 5]),
    ("np.transpose(x, axes=[2, 0, 1])", &[1, 2, 3], &[3, 1, 2], &[0, 3, 1, 4, 2, 5]),
    ("x.transpose(1, 0)", &[2, 3], &[3, 2], &[0, 3, 1, 4, 2, 5]),
    ("x.transpose((0, 1))", &[2, 3], &[2, 3], &[0, 1, 2, 3, 4, 5]),
    ("x.transpose(0, -1, 1)", &[1, 2, 3], &[1, 3, 2], &[0, 3, 1, 4, 2, 5]),
    ("x.transpose(0, 2)", &[1, 2, 3], &[3, 2, 1], &[0, 3, 1, 4, 2, 5]),
    ("torch.transpose(x, 0, 1)", &[2, 3], &[3, 2], &[0, 3, 1, 4, 2, 5]),
    ("torch.transpose(x, dim0=1, dim1=2)", &[1, 2, 3], &[1, 3, 2], &[0, 3, 1, 4, 2, 5]),
    ("x.permute(2, 0, 1)", &[1, 2, 3], &[3, 1, 2], &[0, 3, 1, 4, 2, 5]),
    ("torch.permute(x, (2, 0, 1))", &[1, 2, 3], &[3, 1, 2], &[0, 3, 1, 4, 2, 5]),
    ("torch.permute(x, dims=(1, 0))", &[2, 3], &[3, 2], &[0, 3, 1, 4, 2, 5]),
    ("np.permute_dims(x, (1, 0))", &[2, 3], &[3, 2], &[0, 3, 1, 4, 2, 5]),
    ("np.swapaxes(x, 0, 1)", &[2, 3], &[3, 2], &[0, 3, 1, 4, 2, 5]),
    ("np.swapaxes(x, axis1=0, axis2=-1)", &[1, 2, 3], &[3, 2, 1], &[0, 3, 1, 4, 2, 5]),
    ("torch.swapdims(x, dim0=0, dim1=2)", &[1, 2, 3], &[3, 2, 1], &[0, 3, 1, 4, 2, 5]),
    ("torch.swapaxes(x, axis0=0, axis1=1)", &[2, 3], &[3, 2], &[0, 3, 1, 4, 2, 5]),
    ("np.moveaxis(x, 0, -1)", &[1, 2, 3], &[2, 3, 1], &[0, 1, 2, 3, 4, 5]),
    ("np.moveaxis(x, [0, 1], [2, 0])", &[1, 2, 3], &[2, 3, 1], &[0, 1, 2, 3, 4, 5]),
    ("np.moveaxis(x, source=(2, 0), destination=(0, 1))", &[1, 2, 3], &[3, 1, 2], &[0, 3, 1, 4, 2, 5]),
    ("x.movedim(2, 0)", &[1, 2, 3], &[3, 1, 2], &[0, 3, 1, 4, 2, 5]),
    ("np.expand_dims(x, 1)", &[2, 3], &[2, 1, 3], &[0, 1, 2, 3, 4, 5]),
    ("np.expand_dims(x, axis=-1)", &[2, 3], &[2, 3, 1], &[0, 1, 2, 3, 4, 5]),
    ("x.unsqueeze(0)", &[2, 3], &[1, 2, 3], &[0, 1, 2, 3, 4, 5]),
    ("torch.unsqueeze(x, dim=2)", &[2, 3], &[2, 3, 1], &[0, 1, 2, 3, 4, 5]),
    ("x.squeeze()", &[1, 3, 1], &[3], &[0, 1, 2]),
    ("x.squeeze(0)", &[1, 3, 1], &[3, 1], &[0, 1, 2]),
    ("np.squeeze(x, axis=(0, 2))", &[1, 3, 1], &[3], &[0, 1, 2]),
    ("torch.squeeze(x, dim=-1)", &[1, 3, 1], &[1, 3], &[0, 1, 2]),
    ("np.flip(x)", &[2, 3], &[2, 3], &[5, 4, 3, 2, 1, 0]),
    ("np.flip(x, 1)", &[2, 3], &[2, 3], &[2, 1, 0, 5, 4, 3]),
    ("np.flip(x, axis=(0, -1))", &[1, 2, 3], &[1, 2, 3], &[2, 1, 0, 5, 4, 3]),
    ("x.flip(0, 1)", &[2, 3], &[2, 3], &[5, 4, 3, 2, 1, 0]),
    ("x.flip([1])", &[2, 3], &[2, 3], &[2, 1, 0, 5, 4, 3]),
    ("x.flip(dims=(0,))", &[2, 3], &[2, 3], &[3, 4, 5, 0, 1, 2]),
    ("torch.flip(x, [0])", &[2, 3], &[2, 3], &[3, 4, 5, 0, 1, 2]),
    ("np.flipud(x)", &[2, 3], &[2, 3], &[3, 4, 5, 0, 1, 2]),
    ("np.fliplr(x)", &[2, 3], &[2, 3], &[2, 1, 0, 5, 4, 3]),
    ("torch.fliplr(x)", &[2, 3], &[2, 3], &[2, 1, 0, 5, 4, 3]),
    ("np.fft.fftshift(x)", &[2, 3], &[2, 3], &[5, 3, 4, 2, 0, 1]),
    ("np.fft.fftshift(x, axes=1)", &[2, 3], &[2, 3], &[2, 0, 1, 5, 3, 4]),
    ("np.fft.ifftshift(x, (0, 1))", &[2, 3], &[2, 3], &[4, 5, 3, 1, 2, 0]),
    ("torch.fft.ifftshift(x, dim=1)", &[2, 3], &[2, 3], &[1, 2, 0, 4, 5, 3]),
    ("fft.fftshift(x, 1)", &[2, 3], &[2, 3], &[2, 0, 1, 5, 3, 4]),
    ("np.roll(x, 1)", &[4], &[4], &[3, 0, 1, 2]),
    ("np.roll(x, 1, axis=0)", &[2, 3], &[2, 3], &[3, 4, 5, 0, 1, 2]),
    ("np.roll(x, -1, (0, 1))", &[2, 3], &[2, 3], &[4, 5, 3, 1, 2, 0]),
    ("np.roll(x, (1, 2), axis=(0, 1))", &[2, 3], &[2, 3], &[4, 5, 3, 1, 2, 0]),
    ("x.roll(1, 1)", &[2, 3], &[2, 3], &[2, 0, 1, 5, 3, 4]),
    ("torch.roll(x, shifts=(1, -1), dims=(0, 1))", &[2, 3], &[2, 3], &[4, 5, 3, 1, 2, 0]),
    ("np.rot90(x)", &[2, 3], &[3, 2], &[2, 5, 1, 4, 0, 3]),
    ("np.rot90(x, k=-1)", &[2, 3], &[3, 2], &[3, 0, 4, 1, 5, 2]),
    ("np.rot90(x, 2, (0, 2))", &[1, 2, 3], &[1, 2, 3], &[2, 1, 0, 5, 4, 3]),
    ("np.rot90(x, 1, axes=(2, 1))", &[1, 2, 3], &[1, 3, 2], &[3, 0, 4, 1, 5, 2]),
    ("x.rot90(3, [0, 1])", &[2, 3], &[3, 2], &[3, 0, 4, 1, 5, 2]),
    ("np.tile(x, 2)", &[2, 2], &[2, 4], &[0, 1, 0, 1, 2, 3, 2, 3]),
    ("np.tile(x, (2, 1))", &[2, 2], &[4, 2], &[0, 1, 2, 3, 0, 1, 2, 3]),
    ("x.tile(2, 1)", &[2, 2], &[4, 2], &[0, 1, 2, 3, 0, 1, 2, 3]),
    ("torch.tile(x, dims=(2,))", &[2, 2], &[2, 4], &[0, 1, 0, 1, 2, 3, 2, 3]),
    ("np.repeat(x, 2, axis=1)", &[2, 2], &[2, 4], &[0, 0, 1, 1, 2, 2, 3, 3]),
    ("np.repeat(x, repeats=2, axis=-2)", &[2, 2], &[4, 2], &[0, 1, 0, 1, 2, 3, 2, 3]),
    ("torch.repeat_interleave(x, 2, dim=0)", &[2, 2], &[4, 2], &[0, 1, 0, 1, 2, 3, 2, 3]),
    ("x.repeat_interleave(2, 1)", &[2, 2], &[2, 4], &[0, 0, 1, 1, 2, 2, 3, 3]),
    ("np.take(x, [2, 0], axis=1)", &[2, 3], &[2, 2], &[2, 0, 5, 3]),
    ("np.take(x, [-1], 0)", &[2, 3], &[1, 3], &[3, 4, 5]),
    ("x.take(indices=(1, 1), axis=-1)", &[2, 3], &[2, 2], &[1, 1, 4, 4]),
    ("np.pad(x, 1)", &[1, 2], &[3, 4], &[-1, -1, -1, -1, -1, 0, 1, -1, -1, -1, -1, -1]),
    ("np.pad(x, (1, 0))", &[1, 2], &[2, 3], &[-1, -1, -1, -1, 0, 1]),
    ("np.pad(x, ((1, 0), (0, 2)))", &[1, 2], &[2, 4], &[-1, -1, -1, -1, 0, 1, -1, -1]),
    ("np.pad(x, 1, 'edge')", &[2, 2], &[4, 4], &[0, 0, 1, 1, 0, 0, 1, 1, 2, 2, 3, 3, 2, 2, 3, 3]),
    ("np.pad(x, pad_width=((0, 0), (2, 1)), mode='reflect')", &[2, 3], &[2, 6], &[2, 1, 0, 1, 2, 1, 5, 4, 3, 4, 5, 4]),
    ("np.pad(x, ((0, 0), (2, 1)), 'symmetric')", &[2, 3], &[2, 6], &[1, 0, 0, 1, 2, 2, 4, 3, 3, 4, 5, 5]),
    ("np.pad(x, ((0, 0), (1, 2)), 'wrap')", &[2, 3], &[2, 6], &[2, 0, 1, 2, 0, 1, 5, 3, 4, 5, 3, 4]),
    ("np.pad(x, ((0, 0), (1, 0)), constant_values=5)", &[1, 2], &[1, 3], &[-1, 0, 1]),
    ("np.pad(x, [(1, 0)], 'edge')", &[2, 2], &[3, 3], &[0, 0, 1, 0, 0, 1, 2, 2, 3]),
    ("np.broadcast_to(x, (2, 3))", &[3], &[2, 3], &[0, 1, 2, 0, 1, 2]),
    ("np.broadcast_to(x, shape=(2, 2, 3))", &[1, 3], &[2, 2, 3], &[0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2]),
    ("x.expand(2, -1)", &[1, 3], &[2, 3], &[0, 1, 2, 0, 1, 2]),
    ("x.expand(2, 2, -1)", &[1, 3], &[2, 2, 3], &[0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2]),
    ("np.lib.stride_tricks.sliding_window_view(x, 2)", &[4], &[3, 2], &[0, 1, 1, 2, 2, 3]),
    ("np.lib.stride_tricks.sliding_window_view(x, (2, 2))", &[2, 3], &[1, 2, 2, 2], &[0, 1, 3, 4, 1, 2, 4, 5]),
    ("np.lib.stride_tricks.sliding_window_view(x, 2, axis=1)", &[2, 3], &[2, 2, 2], &[0, 1, 1, 2, 3, 4, 4, 5]),
    ("np.array(x)", &[2, 3], &[2, 3], &[0, 1, 2, 3, 4, 5]),
    ("np.ascontiguousarray(x.T)", &[2, 3], &[3, 2], &[0, 3, 1, 4, 2, 5]),
    ("x.T.copy()", &[2, 3], &[3, 2], &[0, 3, 1, 4, 2, 5]),
    ("x.permute(1, 0).contiguous().clone()", &[2, 3], &[3, 2], &[0, 3, 1, 4, 2, 5]),
    ("rearrange(x, 'h w c -> c h w')", &[1, 2, 3], &[3, 1, 2], &[0, 3, 1, 4, 2, 5]),
    ("einops.rearrange(x, pattern='(a b) c -> b (c a)', a=2)", &[4, 2], &[2, 4], &[0, 4, 1, 5, 2, 6, 3, 7]),
    ("x.transpose(0, 3, 1, 2)", &[1, 2, 1, 3], &[1, 3, 2, 1], &[0, 3, 1, 4, 2, 5]),
    ("x.permute(2, 0, 1).flip(0)", &[1, 2, 3], &[3, 1, 2], &[2, 5, 1, 4, 0, 3]),
    ("np.fft.fftshift(x)", &[5], &[5], &[3, 4, 0, 1, 2]),
    ("x[..., ::-1]", &[2, 3], &[2, 3], &[2, 1, 0, 5, 4, 3]),
    ("x[::-1]", &[2, 3], &[2, 3], &[3, 4, 5, 0, 1, 2]),
    ("x[-1]", &[2, 3], &[3], &[3, 4, 5]),
    ("x[..., -9:2]", &[2, 3], &[2, 2], &[0, 1, 3, 4]),
    ("x[:, 9::-2]", &[2, 3], &[2, 2], &[2, 0, 5, 3]),
    ("x[:, 1:-9:-1]", &[2, 3], &[2, 2], &[1, 0, 4, 3]),
    ("x[:, 2:-2:-1]", &[2, 3], &[2, 1], &[2, 5]),
    ("x[1, None, ::2]", &[2, 3], &[1, 2], &[3, 5]),
    ("x[..., 0, np.newaxis]", &[2, 3], &[2, 1], &[0, 3]),
    ("x[None, ..., 1:]", &[2, 3], &[1, 2, 2], &[1, 2, 4, 5]),
];

/// Calls for a tensor of shape [2, 3], and a part of the message that refuses them.
const REFUSED: &[(&str, &str)] = &[
    ("x.flatten('A')", "argument A of flatten"),
    ("np.ravel(x, order='K')", "argument order=K of ravel"),
    ("np.ravel(x, 1)", "argument 1 of ravel"),
    ("x.flatten(1, 0)", "ends before it starts"),
    ("x.flatten('F', 1)", "argument 1 of flatten"),
    ("x.reshape(3, 2, order='A')", "argument order=A of reshape"),
    ("np.reshape(x, 3, 2)", "argument 2 of reshape"),
    ("x.reshape()", "needs more"),
    ("x.view(np.uint8)", "expected"),
    ("torch.nn.functional.pad(x, (1, 1))", "nn.functional.pad is not known"),
    ("torch.pad(x, (1, 1))", "pad is not known"),
    ("F.pad(x, (1, 1))", "pad is not known"),
    ("np.flatten(x)", "flatten is not known"),
    ("np.random.permutation(x)", "random.permutation is not known"),
    ("np.sliding_window_view(x, 2, 0)", "sliding_window_view is not known"),
    ("einops.reduce(x, 'a b -> a')", "reduce is not known"),
    ("np.fft.fft(x)", "fft.fft is not known"),
    ("np.pad(x, 1, constant_values=(1, 2))", "argument constant_values=[1, 2] of pad"),
    ("np.pad(x, 1, mode='edge', constant_values=5)", "argument constant_values=5 of pad"),
    ("np.pad(x, 1, mode='reflect', reflect_type='odd')", "argument reflect_type=odd of pad"),
    ("np.pad(x, 1, mode='linear_ramp')", "argument mode=linear_ramp of pad"),
    ("np.pad(x, 1, mode='mean')", "mean"),
    ("np.pad(x, [1, 2, 3])", "width"),
    ("np.pad(x, [[1], [0]])", "width must be pairs"),
    ("np.pad(x, -1)", "width"),
    ("np.array(x, ndmin=3)", "argument ndmin=3 of array"),
    ("np.asarray(x, 'F')", "argument F of asarray"),
    ("x.copy(order='F')", "argument order=F of copy"),
    ("np.moveaxis(x, (0, 1), 0)", "equal length"),
    ("np.moveaxis(x, (0, 1), (1, -1))", "without repeats"),
    ("np.moveaxis(x, (0, 0), (0, 1))", "order"),
    ("x.transpose(0, 1)", "not the same in numpy and PyTorch"),
    ("np.transpose(x, 0, 1)", "argument 1 of transpose"),
    ("np.transpose(x, (0, 0))", "axis 0"),
    ("torch.transpose(x, (1, 0))", "argument [1, 0] of swapaxes"),
    ("x.permute()", "needs more"),
    ("x.swapaxes(0)", "needs more"),
    ("x.flip()", "needs more"),
    ("np.flip(x, 0, 1)", "argument 1 of flip"),
    ("np.flip(x, axis=())", "argument axis=[] of flip"),
    ("x.T(0)", "expected the end"),
    ("np.expand_dims(x, (0, 1))", "argument [0, 1] of expand_dims"),
    ("x.squeeze(0)", "elements"),
    ("np.roll(x, 1)", "without an axis"),
    ("np.roll(x, 1, shift=2, axis=0)", "argument shift=2 of roll"),
    ("np.roll(x, (1, 2), axis=0)", "roll"),
    ("np.roll(x, axis=0, 1)", "expected a keyword"),
    ("np.roll(x 1, axis=0)", "expected \",\""),
    ("np.roll(x, [a=1], axis=0)", "a list has no keywords"),
    ("x.repeat(2, 1)", "not the same in numpy and PyTorch"),
    ("np.repeat(x, [1, 2], axis=0)", "argument [1, 2] of repeat"),
    ("np.repeat(x, 2)", "needs more"),
    ("torch.repeat_interleave(x, 2, dim=0, output_size=4)", "argument output_size=4"),
    ("np.take(x, 1, axis=0)", "argument 1 of take"),
    ("np.take(x, [1])", "needs more"),
    ("np.take(x, [9], axis=0, mode='clip')", "argument mode=clip of take"),
    ("np.lib.stride_tricks.sliding_window_view(x, 2)", "windows"),
    ("np.rot90(x, 1, (0, 1), 2)", "argument 2 of rot90"),
    ("x.expand(2, 3, implicit=1)", "argument implicit=1 of expand"),
    ("rearrange(x, 'a b -> b a | flip(0)')", "of rearrange"),
    ("rearrange(x, 'flip(0)')", "of rearrange"),
    ("rearrange(x, '(a b) c -> a b c', a='two')", "argument a=two of rearrange"),
    ("x[9223372036854775807]", "elements"),
];

#[test]
fn accepted_spellings_give_the_elements_of_numpy() {
    let mut wrong = Vec::new();
    for (spelled, shape, expected_shape, expected) in ACCEPTED {
        let answer = explained(spelled, shape);
        let is_right = answer["error"].is_null()
            && answer["stages"]
                .as_array()
                .and_then(|stages| stages.last())
                .is_some_and(|last| last["shape"] == serde_json::json!(expected_shape))
            && sources(&answer) == *expected;
        if !is_right {
            wrong
                .push(format!("{spelled} of {shape:?}: {} {}", answer["spelled"], answer["error"]));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let padded = explained("np.pad(x, 1, constant_values=5)", &[2]);
    assert!(padded["spelled"].as_str().is_some_and(|chain| chain.contains("value=5")));
}

#[test]
fn refused_spellings_are_refused_by_name() {
    let mut wrong = Vec::new();
    for (spelled, part) in REFUSED {
        let answer = explained(spelled, &[2, 3]);
        if !answer["error"].as_str().is_some_and(|error| error.contains(part)) {
            wrong.push(format!("{spelled}: {} {}", answer["spelled"], answer["error"]));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn spellings_that_the_page_lists_are_accepted() {
    let page = include_str!("../../../../web/index.html");
    let line = page.lines().find(|line| line.contains("id=\"spelled\"")).unwrap();
    let listed: Vec<&str> =
        line.split("<code>").skip(1).filter_map(|rest| rest.split("</code>").next()).collect();
    assert!(!listed.is_empty());
    for spelled in listed {
        assert!(ACCEPTED.iter().any(|(known, ..)| *known == spelled), "{spelled}");
    }
}
