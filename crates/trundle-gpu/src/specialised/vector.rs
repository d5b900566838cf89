//! 16 bytes in four words.

use super::body::{Body, Memory};
use super::word::{Test, Word};

/// The bytes from the byte `at % 16` of some vectors on, of one vector less. `at` is a multiple of `unit`.
pub(super) fn shifted(body: &mut Body, vectors: Vec<Word>, at: &Word, unit: usize) -> Vec<Word> {
    let count = vectors.len() - 4;
    let mut words = vectors;
    for bytes in [8, 4] {
        if unit <= bytes {
            let far = Word::from(0).below(at.clone() & bytes as u32);
            words = (0..words.len() - bytes / 4)
                .map(|k| Word::select(far.clone(), words[k + bytes / 4].clone(), words[k].clone()))
                .map(|word| body.word("w", word))
                .collect();
        }
    }
    if unit < 4 {
        let bits = body.word("bits", (at.clone() & 3) * 8);
        words = words
            .windows(2)
            .map(|pair| Word::funnel(pair[0].clone(), pair[1].clone(), bits.clone()))
            .map(|word| body.word("w", word))
            .collect();
    }
    words.truncate(count);
    words
}

/// The elements of a vector in opposite order.
pub(super) fn opposite(body: &mut Body, words: &[Word], width: usize) -> Vec<Word> {
    let turned = |word: &Word, selector| Word::permute(word.clone(), Word::from(0), selector);
    let words = match width {
        16 => return words.to_vec(),
        8 => return [&words[2..], &words[..2]].concat(),
        4 => return words.iter().rev().cloned().collect(),
        2 => words.iter().rev().map(|word| turned(word, 0x1032)).collect::<Vec<_>>(),
        _ => words.iter().rev().map(|word| turned(word, 0x0123)).collect(),
    };
    words.into_iter().map(|word| body.word("w", word)).collect()
}

/// The first `have` bytes of one vector, and the others of another one. `have` is a multiple of `unit`.
pub(super) fn completed(first: &[Word], others: &[Word], have: &Word, unit: usize) -> Vec<Word> {
    let word = |k: usize| {
        let begin = Word::from(4 * k as u32);
        let (a, b) = (first[k].clone(), others[k].clone());
        if unit >= 4 {
            return Word::select(begin.less(have.clone()), a, b);
        }
        // Either all bytes of the word are of one side, or the mask is of 1 to 3 bytes.
        let bits = (have.clone() - begin.clone()).max(0.into()).min(3.into()) * 8;
        let mask = Word::from(1).left(bits) - 1;
        let mixed = (a.clone() & mask.clone()).or(b & (Word::from(u32::MAX) - mask));
        Word::select((begin + 3).less(have.clone()), a, mixed)
    };
    (0..4).map(word).collect()
}

/// Writes the bytes `from..to` of a vector, which are multiples of `unit`, by narrower stores.
pub(super) fn store_part(
    body: &mut Body,
    at: &Word,
    words: &[Word],
    [from, to]: [&Word; 2],
    unit: usize,
) {
    let within = |begin: u32, bytes: u32| -> Test {
        let not_before = from.clone().less(Word::from(begin + 1));
        not_before.and(Word::from(begin + bytes - 1).less(to.clone()))
    };
    for (k, word) in words.iter().enumerate() {
        let begin = 4 * k as u32;
        let store = |body: &mut Body, byte: u32, bytes: u32| {
            let value = word.clone().right(8 * byte);
            body.store(Memory::Destination, bytes, at.clone() + (begin + byte), vec![value]);
        };
        let all = within(begin, 4);
        body.when(all.clone(), |body| store(body, 0, 4));
        if unit < 4 {
            body.when(all.negated(), |body| {
                for byte in (0..4).step_by(unit) {
                    let bytes = unit as u32;
                    body.when(within(begin + byte, bytes), |body| store(body, byte, bytes));
                }
            });
        }
    }
}
