//! Suggests names for misspelt words.

/// Returns the name that is most similar to `word`, if there is one: it differs in few letters, or one is a prefix of
/// the other.
///
/// ```
/// use trundle::notation::most_similar;
///
/// assert_eq!(most_similar("tanspose", ["flip", "transpose"]), Some("transpose"));
/// assert_eq!(most_similar("permute", ["flip", "transpose"]), None);
/// ```
pub fn most_similar<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Longer words are unlikely to be typing errors, and the time is proportional to the product of the lengths.
    const MOST_CHARS: usize = 32;
    if word.chars().nth(MOST_CHARS).is_some() {
        return None;
    }
    let word: Vec<char> = word.to_lowercase().chars().collect();
    names
        .into_iter()
        .filter(|name| name.chars().nth(MOST_CHARS).is_none())
        .filter_map(|name| {
            let letters: Vec<char> = name.to_lowercase().chars().collect();
            let distance = distance(&word, &letters);
            let slip = distance <= (letters.len() / 3).max(1) && distance < letters.len();
            let longer = letters.starts_with(&word) && word.len() >= 3;
            let shorter = word.starts_with(&letters) && letters.len() >= 3;
            (slip || longer || shorter).then_some((distance, name))
        })
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// The number of letters to insert, delete, replace, or swap with a neighbour.
fn distance(left: &[char], right: &[char]) -> usize {
    // `table[i][j]` is the distance of `left[..i]` to `right[..j]`.
    let mut table = vec![vec![0; right.len() + 1]; left.len() + 1];
    for i in 0..=left.len() {
        for j in 0..=right.len() {
            table[i][j] = if i == 0 || j == 0 {
                i + j
            } else {
                let replaced = table[i - 1][j - 1] + usize::from(left[i - 1] != right[j - 1]);
                let one_sided = table[i - 1][j].min(table[i][j - 1]) + 1;
                let swaps =
                    i > 1 && j > 1 && left[i - 1] == right[j - 2] && left[i - 2] == right[j - 1];
                let swapped = if swaps { table[i - 2][j - 2] + 1 } else { usize::MAX };
                replaced.min(one_sided).min(swapped)
            };
        }
    }
    table[left.len()][right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_count_letters() {
        let between = |left: &str, right: &str| {
            distance(&left.chars().collect::<Vec<_>>(), &right.chars().collect::<Vec<_>>())
        };
        assert_eq!(between("axis", "axes"), 1);
        assert_eq!(between("tanspose", "transpose"), 1);
        assert_eq!(between("kitten", "sitting"), 3);
        assert_eq!(between("widht", "width"), 1);
        assert_eq!(between("", "ab"), 2);
        assert_eq!(between("ab", ""), 2);
    }

    #[test]
    fn near_names_are_found_and_far_ones_are_not() {
        let stage = |word: &str| most_similar(word, ["flip", "reverse", "roll", "transpose"]);
        assert_eq!(stage("Transpose"), Some("transpose"));
        assert_eq!(stage("trnaspose"), Some("transpose"));
        assert_eq!(stage("trans"), Some("transpose"));
        assert_eq!(stage("reverse_sequence"), Some("reverse"));
        assert_eq!(stage("rol"), Some("roll"));
        assert_eq!(stage("rail"), None);
        assert_eq!(stage("permute"), None);
        assert_eq!(stage("tr"), None);
        assert_eq!(stage(&"roll".repeat(100)), None);
        assert_eq!(most_similar("x", ["y"]), None);
    }
}
