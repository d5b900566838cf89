//! Lists every unsupported operator of a model for one error.

use std::collections::{BTreeMap, HashSet};
use std::hash::Hash;

use crate::{Error, EyeSizes, Model, Node, Operator, Result, ValueId};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Why {
    /// It computes new elements.
    Computes,
    /// It moves elements in a way that is not implemented.
    Moves,
    /// The size of its output depends on elements.
    Shapes,
    /// It contains graphs, or works on lists of tensors.
    Holds,
    Unknown,
}

impl Why {
    /// The words of a message: for one operator, and for several operators.
    fn words(self) -> [&'static str; 2] {
        match self {
            Why::Computes => ["which computes", "which compute"],
            Why::Moves => [
                "which moves elements but is not implemented",
                "which move elements but are not implemented",
            ],
            Why::Shapes => [
                "whose output shape depends on its elements",
                "whose output shapes depend on their elements",
            ],
            Why::Holds => {
                ["which holds graphs or lists of tensors", "which hold graphs or lists of tensors"]
            }
            Why::Unknown => ["which is not known", "which are not known"],
        }
    }
}

const MOST_NAMED: usize = 40;

/// The unsupported operators, with the number of nodes of each.
#[derive(Default)]
pub(crate) struct Survey {
    nodes: BTreeMap<(Why, String), usize>,
    first: Option<String>,
}

impl Survey {
    /// `name` is the operator's name in messages; `node` returns the node's name.
    pub(crate) fn add(&mut self, why: Why, name: String, node: impl FnOnce() -> String) {
        self.first.get_or_insert_with(node);
        *self.nodes.entry((why, name)).or_default() += 1;
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Refuses unsupported operators. The message starts with the first, and lists all of them and the supported ones.
    ///
    /// # Errors
    /// [`Error::Unsupported`].
    pub(crate) fn finish(self, supported: &str) -> Result<()> {
        let Some(first) = &self.first else { return Ok(()) };
        let list = self.list();
        Err(Error::Unsupported(format!("{first}: not supported: {list}; supported: {supported}")))
    }

    fn list(&self) -> String {
        let mut groups: Vec<(Why, Vec<String>)> = Vec::new();
        for ((why, name), count) in self.nodes.iter().take(MOST_NAMED) {
            let named = format!("{name} ({count} node{})", if *count == 1 { "" } else { "s" });
            match groups.last_mut() {
                Some((last, names)) if last == why => names.push(named),
                _ => groups.push((*why, vec![named])),
            }
        }
        let described = |(why, names): &(Why, Vec<String>)| {
            let [one, several] = why.words();
            let verb = if names.len() == 1 { one } else { several };
            format!("{}, {verb}", names.join(", "))
        };
        let mut list = groups.iter().map(described).collect::<Vec<_>>().join("; ");
        if let Some(more @ 1..) = self.nodes.len().checked_sub(MOST_NAMED) {
            list.push_str(&format!("; and {more} more operators"));
        }
        list
    }
}

/// Whether a node reads a value in `dependents`, the values that depend on elements of a model's inputs. If so, its
/// outputs are added, so call this for the nodes in order.
pub(crate) fn depends<V: Eq + Hash>(
    dependents: &mut HashSet<V>,
    inputs: impl IntoIterator<Item = V>,
    outputs: impl IntoIterator<Item = V>,
) -> bool {
    let reads = inputs.into_iter().any(|input| dependents.contains(&input));
    if reads {
        dependents.extend(outputs);
    }
    reads
}

/// The error for arithmetic on elements of the inputs. The message starts with `first`.
pub(crate) fn computing(model: &Model, first: &str) -> Error {
    let mut survey = Survey::default();
    let mut dependents = model.inputs.iter().map(|input| input.value).collect();
    add_arithmetic(&model.nodes, &mut dependents, &mut survey);
    Error::Unsupported(format!(
        "{first}: not supported: {}: arithmetic is supported only on shapes and constants",
        survey.list()
    ))
}

/// Adds arithmetic on elements of inputs. Nodes of a body count once.
fn add_arithmetic(nodes: &[Node], dependents: &mut HashSet<ValueId>, survey: &mut Survey) {
    for node in nodes {
        for body in node.bodies() {
            let given = node.inputs.iter().zip(&body.inputs);
            for (input, own) in given.filter_map(|(input, own)| Some(((*input)?, own.value))) {
                depends(dependents, [input], [own]);
            }
            add_arithmetic(&body.nodes, dependents, survey);
        }
        let says_shapes = matches!(
            node.operator,
            Operator::Shape { .. } | Operator::Size | Operator::Eye { sizes: EyeSizes::OfData, .. }
        );
        if !says_shapes
            && depends(dependents, node.reads(), node.outputs.iter().copied())
            && matches!(node.operator, Operator::Arithmetic(_))
        {
            survey.add(Why::Computes, node.kind.escape_debug().to_string(), String::new);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_are_listed_with_their_counts() {
        let mut survey = Survey::default();
        for (why, name) in [
            (Why::Moves, "Gather"),
            (Why::Computes, "Relu"),
            (Why::Computes, "Conv"),
            (Why::Computes, "Relu"),
            (Why::Unknown, "Foo of domain a"),
        ] {
            survey.add(why, name.to_owned(), || format!("{name} \"n\""));
        }
        assert_eq!(
            survey.finish("Concat, Transpose").unwrap_err().to_string(),
            "Gather \"n\": not supported: Conv (1 node), Relu (2 nodes), which compute; \
             Gather (1 node), which moves elements but is not implemented; \
             Foo of domain a (1 node), which is not known; supported: Concat, Transpose"
        );
        assert!(Survey::default().finish("").is_ok());
    }

    #[test]
    fn a_long_list_of_operators_is_shortened() {
        let mut survey = Survey::default();
        (0..1000).for_each(|n| survey.add(Why::Unknown, format!("op{n:04}"), String::new));
        let message = survey.finish("Concat").unwrap_err().to_string();
        assert!(message.contains("; and 960 more operators; supported"), "{message}");
    }
}
