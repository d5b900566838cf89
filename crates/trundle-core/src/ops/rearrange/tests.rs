use super::*;

/// Parses a side with one-letter names; `.` is an ellipsis.
fn side(text: &str) -> Vec<Group> {
    let part = |c: char| if c == '.' { Part::Ellipsis } else { Part::Axis(c.to_string()) };
    let group = |word: &str| match word {
        "." => Group::Ellipsis,
        word => Group::Merged(word.chars().filter(|c| *c != '1').map(part).collect()),
    };
    text.split_whitespace().map(group).collect()
}

fn pattern(left: &str, right: &str, sizes: &[(&str, usize)]) -> Result<Rearrange> {
    let sizes = sizes.iter().map(|(name, size)| ((*name).to_owned(), *size)).collect();
    Rearrange::new(side(left), side(right), sizes)
}

fn shape(sizes: &[usize]) -> Shape {
    Shape::new(sizes).unwrap()
}

#[test]
fn windows_of_an_image_are_one_pass() {
    let windows = pattern("b hp wq c", "b hw pq c", &[("p", 2), ("q", 3)]).unwrap();
    assert_eq!(windows.to_string(), "b (h p) (w q) c -> b (h w) (p q) c, p=2, q=3");
    let map = windows.index_map(&shape(&[1, 4, 6, 5])).unwrap();
    assert_eq!(map.out_shape().sizes(), [1, 4, 6, 5]);
    // The third window is the left one of the lower row; its fifth element is in its second row.
    assert_eq!(map.source_of(&[0, 2, 4, 3]), [0, 3, 1, 3]);
}

#[test]
fn an_ellipsis_is_as_many_axes_as_are_left() {
    let last = pattern(". a", "a .", &[]).unwrap();
    assert_eq!(last.index_map(&shape(&[2, 3, 4])).unwrap().out_shape().sizes(), [4, 2, 3]);
    assert_eq!(last.index_map(&shape(&[4])).unwrap().out_shape().sizes(), [4]);
    let merged = pattern("a . b", "b a.", &[]).unwrap();
    assert_eq!(merged.index_map(&shape(&[2, 3, 4, 5])).unwrap().out_shape().sizes(), [5, 24]);
    assert_eq!(merged.index_map(&shape(&[2, 5])).unwrap().out_shape().sizes(), [5, 2]);
}

#[test]
fn only_a_permutation_is_a_transpose() {
    let op = |left: &str, right: &str| pattern(left, right, &[]).unwrap().into_op();
    assert_eq!(op("h w c", "c h w"), Transpose::new(&[2, 0, 1]).into());
    assert_eq!(op("a", "a"), Transpose::new(&[0]).into());
    for (left, right) in [("", ""), ("1", "1"), (".", "."), ("a b", "ab"), ("a 1", "a 1")] {
        assert!(matches!(op(left, right), Op::Rearrange(_)), "{left} -> {right}");
    }
    let sized = pattern("a b", "b a", &[("a", 2)]).unwrap().into_op();
    assert!(matches!(sized, Op::Rearrange(_)));
}

#[test]
fn what_is_no_pattern_is_refused() {
    let refusal = |left: &str, right: &str, sizes: &[(&str, usize)]| {
        pattern(left, right, sizes).unwrap_err().to_string()
    };
    assert_eq!(
        refusal("a b", "b a c", &[]),
        "axis \"c\" appears on the right, but not on the left"
    );
    assert_eq!(refusal("a b a", "b a", &[]), "axis \"a\" appears twice on the left");
    assert_eq!(refusal(". a", "a", &[]), "\"...\" appears on the left, but not on the right");
    assert_eq!(refusal(". .", ".", &[]), "\"...\" appears twice on the left");
    assert_eq!(refusal("a.", "a .", &[]), "\"...\" is in parentheses on the left");
    assert_eq!(
        refusal("a", "a", &[("b", 1)]),
        "a size is given for axis \"b\", which the pattern lacks"
    );
    assert_eq!(refusal("a", "a", &[("a", 1), ("a", 1)]), "the size of axis \"a\" is given twice");
    assert_eq!(
        refusal("abc", "a b c", &[("b", 1)]),
        "axis \"(a b c)\" splits into \"a\" and \"c\", and both sizes are unknown"
    );
    let odd = Rearrange::new(vec![Group::axis("a b")], vec![Group::axis("a b")], vec![]);
    assert_eq!(odd.unwrap_err().to_string(), "\"a b\" is not the name of an axis");
    let long = "x".repeat(100);
    let lone = Rearrange::new(vec![Group::axis(&long)], vec![], vec![]).unwrap_err().to_string();
    assert_eq!(lone.len(), 40 + "axis \"\"... appears on the left, but not on the right".len());
}

#[test]
fn what_does_not_fit_a_shape_is_refused_with_both_numbers() {
    let refusal = |left: &str, right: &str, given: &[(&str, usize)], sizes: &[usize]| {
        let pattern = pattern(left, right, given).unwrap();
        pattern.index_map(&shape(sizes)).unwrap_err().to_string()
    };
    assert_eq!(
        refusal("ab c", "a b c", &[("b", 16)], &[50, 3]),
        "axis \"(a b)\" of size 50 does not split into b = 16"
    );
    assert_eq!(
        refusal("abc", "a b c", &[("a", 2), ("b", 16)], &[50]),
        "axis \"(a b c)\" of size 50 does not split into a = 2, b = 16"
    );
    assert_eq!(
        refusal("ab", "a b", &[("a", 2), ("b", 16)], &[33]),
        "axis \"(a b)\" of size 33 does not split into a = 2, b = 16"
    );
    assert_eq!(
        refusal("ab", "a b", &[("a", 0)], &[0]),
        "axis \"(a b)\" of size 0 does not determine b from a = 0"
    );
    assert_eq!(
        refusal("ab", "a b", &[("a", 0)], &[3]),
        "axis \"(a b)\" of size 3 does not split into a = 0"
    );
    assert_eq!(refusal("a b", "b a", &[("a", 3)], &[2, 2]), "axis \"a\" of size 2 must have a = 3");
    assert_eq!(refusal("1 a", "a", &[], &[3, 2]), "axis \"1\" of size 3 must have size 1");
    assert_eq!(
        refusal("abc", "a b c", &[("a", usize::MAX), ("b", usize::MAX)], &[50]),
        format!("axis \"(a b c)\" of size 50 does not split into a = {0}, b = {0}", usize::MAX)
    );
    assert_eq!(
        refusal("a b 1", "a b", &[], &[2, 2]),
        "the pattern is for 3 axes, but shape [2, 2] has 2"
    );
    assert_eq!(
        refusal("ab", "a b", &[("a", 1)], &[]),
        "the pattern is for 1 axis, but shape [] has 0"
    );
    assert_eq!(
        refusal("a . b", "a . b", &[], &[2]),
        "the pattern is for 2 or more axes, but shape [2] has 1"
    );
}
