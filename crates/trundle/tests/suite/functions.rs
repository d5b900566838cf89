use trundle::{DType, Layout, Shape, Tensor, TensorView, TensorViewMut};

fn shape(sizes: &[usize]) -> Shape {
    Shape::new(sizes).unwrap()
}

fn view<'a>(bytes: &'a [u8], sizes: &[usize], offset: usize, strides: &[isize]) -> TensorView<'a> {
    let layout = Layout::strided(&shape(sizes), offset, strides).unwrap();
    TensorView::new(bytes, DType::U8, layout).unwrap()
}

fn packed<'a>(bytes: &'a [u8], sizes: &[usize]) -> TensorView<'a> {
    TensorView::row_major(bytes, DType::U8, &shape(sizes)).unwrap()
}

#[test]
fn each_function_applies_its_operator() {
    let data = packed(b"abcdef", &[2, 3]);
    assert_eq!(trundle::roll(&data, &[1], &[-1]).unwrap().bytes(), b"cabfde");
    assert_eq!(trundle::transpose(&data, &[]).unwrap().bytes(), b"adbecf");
    assert_eq!(trundle::transpose(&data, &[]).unwrap().shape(), &shape(&[3, 2]));
    assert_eq!(trundle::flip(&data, &[0]).unwrap().bytes(), b"defabc");
    assert_eq!(trundle::reverse_sequence(&data, &[2, 3], 1, 0).unwrap().bytes(), b"bacfed");
    let lengths = [2u32, 9].map(u32::to_ne_bytes).concat();
    let lengths = TensorView::row_major(&lengths, DType::U32, &shape(&[2, 1])).unwrap();
    assert_eq!(trundle::reverse_subsequences(&data, &lengths, 1).unwrap().bytes(), b"bacfed");
}

#[test]
fn any_strides_can_be_read() {
    let backwards = view(b"abcdef", &[2, 3], 5, &[-3, -1]);
    assert_eq!(trundle::contiguous(&backwards).unwrap().bytes(), b"fedcba");
    let repeated = view(b"abc", &[2, 3], 0, &[0, 1]);
    assert_eq!(trundle::transpose(&repeated, &[1, 0]).unwrap().bytes(), b"aabbcc");
    let single = view(b"x", &[], 0, &[]);
    assert_eq!(trundle::contiguous(&single).unwrap().bytes(), b"x");
    let none = packed(b"", &[0, 4]);
    assert_eq!(trundle::transpose(&none, &[1, 0]).unwrap().shape(), &shape(&[4, 0]));
}

#[test]
fn gaps_between_output_elements_are_kept() {
    let mut buffer = *b"........";
    let layout = Layout::strided(&shape(&[3]), 7, &[-3]).unwrap();
    let mut out = TensorViewMut::new(&mut buffer, DType::U8, layout).unwrap();
    trundle::flip_into(&packed(b"abc", &[3]), &[0], &mut out).unwrap();
    assert_eq!(&buffer, b".a..b..c");
}

#[test]
fn outputs_that_do_not_fit_are_refused_and_unchanged() {
    let data = packed(b"abcdef", &[2, 3]);
    let mut other_type = Tensor::zeros(DType::I8, &shape(&[2, 3])).unwrap();
    let refused = trundle::copy_into(&data, &mut other_type.view_mut()).unwrap_err();
    assert_eq!(refused.to_string(), "out must have element type u8, got i8");
    let mut other_shape = Tensor::zeros(DType::U8, &shape(&[2, 3])).unwrap();
    let refused = trundle::transpose_into(&data, &[1, 0], &mut other_shape.view_mut()).unwrap_err();
    assert_eq!(refused.to_string(), "out must have shape [3, 2], got [2, 3]");
    assert_eq!(other_shape.bytes(), [0; 6]);
    let mut buffer = [0; 6];
    let twice = Layout::strided(&shape(&[2, 3]), 0, &[1, 1]).unwrap();
    assert!(TensorViewMut::new(&mut buffer, DType::U8, twice).is_err());
}
