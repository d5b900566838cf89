//! Spellings of numpy, PyTorch and einops.

use super::{explained, rows, sources};

#[test]
fn accepted_spellings_give_the_elements_of_numpy() {
    let mut wrong = Vec::new();
    for row in rows(include_str!("accepted.txt")) {
        let spelled = row[0];
        let [shape, expected_shape, expected] = [1, 2, 3].map(|field| -> Vec<i64> {
            serde_json::from_str(row[field]).unwrap_or_else(|error| panic!("{row:?}: {error}"))
        });
        let shape: Vec<usize> = shape.iter().map(|size| size.cast_unsigned() as usize).collect();
        let answer = explained(spelled, &shape);
        let is_right = answer["error"].is_null()
            && answer["stages"]
                .as_array()
                .and_then(|stages| stages.last())
                .is_some_and(|last| last["shape"] == serde_json::json!(expected_shape))
            && sources(&answer) == expected;
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
    for row in rows(include_str!("refused.txt")) {
        let (spelled, part) = (row[0], row[1]);
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
        let mut accepted = rows(include_str!("accepted.txt"));
        assert!(accepted.any(|row| row[0] == spelled), "{spelled}");
    }
}
