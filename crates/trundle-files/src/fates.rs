//! The fate of each tensor of a file in the output.

use trundle::Chain;
use trundle_disk::{Input, Wanted};

#[derive(Clone, Debug)]
pub(crate) enum Fate<M> {
    /// Operators move the tensor.
    Moved(M),
    /// The tensor is copied.
    Kept,
    /// The output does not contain the tensor.
    LeftOut,
}

/// The fates of all tensors of a file, in the order of the file.
#[derive(Clone, Debug)]
pub(crate) struct Fates<M>(pub Vec<Fate<M>>);

impl<M> Fates<M> {
    pub(crate) fn moved(&self, index: usize) -> Option<&M> {
        match &self.0[index] {
            Fate::Moved(moved) => Some(moved),
            Fate::Kept | Fate::LeftOut => None,
        }
    }

    pub(crate) fn all_moved(&self) -> impl Iterator<Item = &M> {
        (0..self.0.len()).filter_map(|index| self.moved(index))
    }

    pub(crate) fn left_out(&self) -> usize {
        self.0.iter().filter(|fate| matches!(fate, Fate::LeftOut)).count()
    }

    /// Returns the decoded tensors of an output, in the order of the file. `operators` returns the chain of a moved
    /// tensor, and the other tensors that the chain names.
    pub(crate) fn wanted<'a>(
        &'a self,
        operators: impl Fn(&'a M) -> (&'a Chain, &'a [Input]),
    ) -> Vec<Wanted<'a>> {
        let wanted = self.0.iter().enumerate().filter_map(|(index, fate)| {
            let (chain, others) = match fate {
                Fate::Moved(moved) => operators(moved),
                Fate::Kept => return Some(Wanted { index, chain: None, others: &[] }),
                Fate::LeftOut => return None,
            };
            Some(Wanted { index, chain: Some(chain), others })
        });
        wanted.collect()
    }

    pub(crate) fn map<N>(&self, of: impl Fn(&M) -> N) -> Fates<N> {
        let fate = |fate: &Fate<M>| match fate {
            Fate::Moved(moved) => Fate::Moved(of(moved)),
            Fate::Kept => Fate::Kept,
            Fate::LeftOut => Fate::LeftOut,
        };
        Fates(self.0.iter().map(fate).collect())
    }
}
