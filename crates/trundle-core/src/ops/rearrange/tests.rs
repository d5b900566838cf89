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
fn an_ellipsis_stands_for_the_remaining_axes() {
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
fn patterns_that_are_invalid_or_do_not_fit_are_refused() {
    let refusals = include_str!("refusals.txt").replace("{most}", &usize::MAX.to_string());
    let mut lines = refusals.lines().filter(|line| !line.starts_with('#'));
    while let (Some(row), Some(expected)) = (lines.next(), lines.next()) {
        let columns: Vec<&str> = row.split('|').map(str::trim).collect();
        let [left, right, given, ref sizes @ ..] = columns[..] else { panic!("{row}") };
        let given = given.split_whitespace().map(|size| size.split_once('=').unwrap());
        let given: Vec<_> = given.map(|(name, size)| (name, size.parse().unwrap())).collect();
        let refused = pattern(left, right, &given).and_then(|pattern| {
            let sizes = sizes[0].split_whitespace().map(|size| size.parse().unwrap());
            pattern.index_map(&shape(&sizes.collect::<Vec<_>>()))
        });
        assert_eq!(refused.unwrap_err().to_string(), expected.trim_start(), "{row}");
    }
    let odd = Rearrange::new(vec![Group::axis("a b")], vec![Group::axis("a b")], vec![]);
    assert_eq!(odd.unwrap_err().to_string(), "\"a b\" is not the name of an axis");
    let long = "x".repeat(100);
    let lone = Rearrange::new(vec![Group::axis(&long)], vec![], vec![]).unwrap_err().to_string();
    assert_eq!(lone.len(), 40 + "axis \"\"... appears on the left, but not on the right".len());
}
