//! What a file says of a tensor beside its elements.

/// What a file says of a tensor beside its name, its type, its sizes and its elements: formats that can
/// state it keep it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Annotations {
    /// The name of each axis, where it has one; empty if none has.
    pub dimension_names: Vec<Option<String>>,
    /// An object in JSON; empty if there is nothing to say.
    pub attributes: String,
    /// The bytes of an element, little-endian, that stands for all that was never written, if one does.
    pub fill: Option<Vec<u8>>,
}

trundle_core::fingerprint!(struct Annotations { dimension_names, attributes, fill });

impl Annotations {
    /// The same of a tensor each of whose axes was an `axis` of this one: without the names if its axes are
    /// others.
    #[must_use]
    pub fn of_axes(&self, axes: Option<&[usize]>) -> Annotations {
        let named = axes.filter(|_| !self.dimension_names.is_empty());
        let name = |axis: &usize| self.dimension_names.get(*axis).cloned().flatten();
        let dimension_names = named.map(|axes| axes.iter().map(name).collect());
        Annotations { dimension_names: dimension_names.unwrap_or_default(), ..self.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_go_with_their_axes() {
        let some = |name: &str| Some(name.to_owned());
        let names = vec![some("time"), None, some("lon")];
        let all = Annotations {
            dimension_names: names,
            attributes: "{}".to_owned(),
            fill: Some(vec![1]),
        };
        let turned = all.of_axes(Some(&[2, 0, 1]));
        assert_eq!(turned.dimension_names, [some("lon"), some("time"), None]);
        assert_eq!((&turned.attributes, &turned.fill), (&all.attributes, &all.fill));
        assert_eq!(all.of_axes(None).dimension_names, [None::<String>; 0]);
        assert_eq!(Annotations::default().of_axes(Some(&[0])), Annotations::default());
    }
}
