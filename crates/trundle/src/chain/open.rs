use std::ops::Range;

use trundle_core::Op;
use trundle_core::ops::Operand;

use super::Chain;
use crate::notation::{self, Fault, NotationError, NumbersFile, StageKind, Unfilled, quoted};

/// A chain whose lengths or indices are given later.
///
/// Where the chain language allows a file name, an open chain has a name that stands for numbers, as in
/// `reverse(axis=1, lengths=n)` or `take(indices=i)`. [`OpenChain::fill`] replaces the names.
///
/// ```
/// use trundle::OpenChain;
/// use trundle::notation::NumbersFile;
///
/// let open = OpenChain::parse("b t -> t b | reverse(axis=0, lengths=n, batch_axis=1)")?;
/// assert_eq!(open.slots()[0].name, "n");
/// for lengths in [[3, 1], [2, 2]] {
///     let chain = open.fill(|slot| slot.unfilled.fill(NumbersFile::list(lengths.to_vec())))?;
///     assert_eq!(chain.ops().len(), 2);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenChain {
    /// The chain, with a placeholder operator for each slot. Callers never get a placeholder.
    chain: Chain,
    slots: Vec<Slot>,
}

/// A stage of a chain whose lengths or indices are not given yet.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Slot {
    /// The index of the stage in the chain, from 0.
    pub stage: usize,
    /// The operator without its lengths or indices.
    pub unfilled: Unfilled,
    /// The name of the lengths or indices, which several slots may share.
    pub name: String,
}

impl OpenChain {
    /// Parses an open chain from a string in the [chain language](notation).
    ///
    /// # Errors
    /// [`NotationError`] if `text` is not in the chain language, or if it has a file where a name is needed. A name
    /// consists of letters, digits and `_`, without quotes, and does not begin with a digit.
    pub fn parse(text: &str) -> Result<OpenChain, NotationError> {
        let mut open = OpenChain {
            chain: Chain { text: text.to_owned(), ..Chain::default() },
            slots: Vec::new(),
        };
        for (at, stage) in notation::parse(text)?.into_iter().enumerate() {
            let op = match stage.kind {
                StageKind::Op(op) => {
                    check_names(text, &stage.span, op.operands())?;
                    op
                }
                StageKind::ByFile { unfilled, file, file_span } => {
                    check_name(text, file_span, unfilled.argument())?;
                    check_names(text, &stage.span, unfilled.operands())?;
                    let placeholder = unfilled.fill(NumbersFile::list(Vec::new()));
                    open.slots.push(Slot { stage: at, unfilled, name: file });
                    placeholder.unwrap_or_else(|error| unreachable!("no number is wrong: {error}"))
                }
            };
            open.chain.ops.push(op);
            open.chain.spans.push(stage.span);
        }
        Ok(open)
    }

    /// Returns the tensors that the chain takes as inputs, as [`Chain::inputs`] does.
    pub fn inputs(&self) -> Vec<&Operand> {
        self.chain.inputs()
    }

    /// Returns whether the chain only moves the elements of one tensor.
    pub fn is_map(&self) -> bool {
        self.chain.is_map()
    }

    /// The slots, in the order of the stages.
    pub fn slots(&self) -> &[Slot] {
        &self.slots
    }

    /// Returns the chain in which the operator that `operator` returns replaces each slot.
    ///
    /// # Errors
    /// The first error that `operator` returns.
    pub fn fill<E>(&self, mut operator: impl FnMut(&Slot) -> Result<Op, E>) -> Result<Chain, E> {
        let mut chain = self.chain.clone();
        for slot in &self.slots {
            chain.ops[slot.stage] = operator(slot)?;
        }
        Ok(chain)
    }
}

impl From<Chain> for OpenChain {
    /// Converts a chain to an open chain without slots.
    fn from(chain: Chain) -> OpenChain {
        OpenChain { chain, slots: Vec::new() }
    }
}

fn check_names(text: &str, span: &Range<usize>, operands: &[Operand]) -> Result<(), NotationError> {
    for operand in operands {
        let Operand::Named(name) = operand else { continue };
        if !is_name(name) {
            let message = format!("tensor {}: chains do not read files here", quoted(name));
            let how = "write a name, as in concat(_, b), and give b later";
            return Err(Fault::new(span.clone(), message).suggest(how).within(text));
        }
    }
    Ok(())
}

fn is_name(written: &str) -> bool {
    let starts = written.chars().next().is_some_and(|c| c.is_alphabetic() || c == '_');
    starts && written.chars().all(|c| c.is_alphanumeric() || c == '_')
}

fn check_name(text: &str, span: Range<usize>, argument: &str) -> Result<(), NotationError> {
    let written = &text[span.clone()];
    if is_name(written) {
        return Ok(());
    }
    let file = written.trim_matches(['"', '\'']);
    let message = format!("{argument} in {}: chains do not read files here", quoted(file));
    let how = format!(
        "write a list such as {argument}=[2, 4, 3], or a name such as {argument}=n, and give n later"
    );
    Err(Fault::new(span, message).suggest(how).within(text))
}

#[cfg(test)]
mod tests {
    use trundle_core::Shape;
    use trundle_core::ops::{Flip, ReverseSequence, ReverseSubsequences};

    use super::*;
    use crate::notation::NumbersError;

    fn sequence(slot: &Slot, lengths: &[i128]) -> Result<Op, NumbersError> {
        slot.unfilled.fill(NumbersFile::list(lengths.to_vec()))
    }

    #[test]
    fn slots_can_be_filled_repeatedly() {
        let text = "flip(0) | reverse(1, n, 0) | reverse(axis=1, lengths=[1, 2]) | \
                    reverse(-1, lengths=m_2, batch_axis=0)";
        let open = OpenChain::parse(text).unwrap();
        let named: Vec<_> =
            open.slots().iter().map(|slot| (slot.stage, slot.name.as_str())).collect();
        assert_eq!(named, [(1, "n"), (3, "m_2")]);
        for lengths in [[0, 3], [2, 1]] {
            let filled = open.fill(|slot| sequence(slot, &lengths)).unwrap();
            let expected = Chain::new()
                .then(Flip::new(&[0]))
                .then(ReverseSequence::new(1, 0, lengths))
                .then(ReverseSubsequences::new(1, [1, 2]))
                .then(ReverseSequence::new(-1, 0, lengths));
            assert_eq!(filled, expected);
        }
        assert_eq!(open.fill(|_| Err("none")), Err("none"));
    }

    #[test]
    fn lengths_that_do_not_fit_are_shown_in_the_chain() {
        let open = OpenChain::parse("flip(0) | reverse(1, n, batch_axis=0)").unwrap();
        let chain = open.fill(|slot| sequence(slot, &[1, 2, 3])).unwrap();
        let error = chain.out_shape(Shape::new([2, 3]).unwrap()).unwrap_err().to_string();
        let caret = "\n  flip(0) | reverse(1, n, batch_axis=0)\n            ^^^^^^";
        assert!(error.starts_with("stage 2 ") && error.contains(caret), "{error}");
    }

    #[test]
    fn open_chains_are_equal_with_their_slots() {
        let open = |text| OpenChain::parse(text).unwrap();
        assert_eq!(open("reverse(1, n)"), open(" reverse( axis=1 , lengths=n )"));
        assert_ne!(open("reverse(1, n)"), open("reverse(1, m)"));
        assert_ne!(open("reverse(1, n)"), open("reverse(1, n, 0)"));
        assert_ne!(open("reverse(1, n)"), open("reverse(1, [])"));
        assert_eq!(open("flip(1)"), "flip(axes=1)".parse::<Chain>().unwrap().into());
    }

    #[test]
    fn open_chains_keep_their_inputs() {
        let text =
            "flip(0) | put_along_axis(_, v, indices=i, axis=0) | scatter_nd(u, _, indices=j)";
        let open = OpenChain::parse(text).unwrap();
        let slots: Vec<_> =
            open.slots().iter().map(|slot| (&*slot.name, slot.unfilled.argument())).collect();
        assert_eq!(slots, [("i", "indices"), ("j", "indices")]);
        let inputs: Vec<String> = open.inputs().into_iter().map(Operand::to_string).collect();
        assert_eq!((inputs, open.is_map()), (["_", "v", "u"].map(str::to_owned).to_vec(), false));
        let indices = |slot: &Slot| slot.unfilled.fill(NumbersFile::list(vec![1]));
        let filled = open.fill(indices).unwrap();
        let text = text.replace("=i", "=[1]").replace("=j", "=[1]");
        assert_eq!(filled, text.parse::<Chain>().unwrap());
        let file = OpenChain::parse("scatter_nd(_, u.npy, indices=i)").unwrap_err().to_string();
        assert!(file.contains("tensor \"u.npy\": chains do not read files here"), "{file}");
    }

    #[test]
    fn files_are_refused() {
        for file in ["lens.npy", "\"n\"", "'n'", "a/b", "n-1", "np.int64"] {
            let error = OpenChain::parse(&format!("flip(0) | reverse(1, {file})")).unwrap_err();
            assert!(error.to_string().contains("chains do not read files here"), "{error}");
            assert_eq!(&error.text[error.span.clone()], file);
        }
    }
}
