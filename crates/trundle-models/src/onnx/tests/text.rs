//! ONNX's textual syntax, for small models.

use super::super::proto::{Dimension, Function};
use super::*;

/// Parses nodes such as `y = Transpose<perm = [1, 0]>(x)`, perhaps with a name, `[name] y = F(x)`, or a domain, `y =
/// own.F(x)`.
pub(super) fn nodes(text: &str) -> Vec<Node> {
    let mut text = Text(text.trim());
    let mut nodes = Vec::new();
    while !text.0.is_empty() {
        nodes.push(text.node());
    }
    nodes
}

/// Parses a model: its graph, such as `(x, bool c) => (y) { y = F(x) }`, and then its functions, such as
/// `F(a) => (b) { b = Transpose(a) }`, in the domain `own`.
pub(super) fn whole(text: &str) -> Proto {
    let mut text = Text(text.trim());
    let graph = Some(text.graph());
    let mut functions = Vec::new();
    while !text.0.is_empty() {
        functions.push(text.function());
    }
    Proto { graph, functions, ..model(17, Vec::new(), FLOAT) }
}

/// The rest of the text.
struct Text<'a>(&'a str);

impl Text<'_> {
    fn takes(&mut self, sign: &str) -> bool {
        let rest = self.0.trim_start().strip_prefix(sign);
        self.0 = rest.unwrap_or(self.0).trim_start();
        rest.is_some()
    }

    #[track_caller]
    fn expect(&mut self, sign: &str) {
        assert!(self.takes(sign), "expected {sign:?} before {:?}", self.0);
    }

    /// A name or a number, which may be empty.
    fn word(&mut self) -> String {
        let is_other = |letter: char| !letter.is_alphanumeric() && !"_.-/".contains(letter);
        let (word, rest) = self.0.split_at(self.0.find(is_other).unwrap_or(self.0.len()));
        self.0 = rest.trim_start();
        word.to_owned()
    }

    /// Entries with commas between them, up to `end`.
    fn list<T>(&mut self, end: &str, entry: impl Fn(&mut Self) -> T) -> Vec<T> {
        let mut list = Vec::new();
        while !self.takes(end) {
            if !list.is_empty() {
                self.expect(",");
            }
            list.push(entry(self));
        }
        list
    }

    fn node(&mut self) -> Node {
        let name =
            if self.takes("[") { self.list("]", Text::word).concat() } else { String::new() };
        let output = self.list("=", Text::word);
        let operator = self.word();
        let (domain, op_type) = operator.rsplit_once('.').unwrap_or(("", &operator));
        let (domain, op_type) = (domain.to_owned(), op_type.to_owned());
        let attribute = if self.takes("<") { self.list(">", Text::attribute) } else { Vec::new() };
        self.expect("(");
        let input = self.list(")", Text::word);
        Node { input, output, name, op_type, attribute, domain, ..Node::default() }
    }

    /// An attribute such as `axis = 1`, or `axis: int = @k`, which refers to the function's attribute `k`.
    fn attribute(&mut self) -> Attribute {
        let name = self.word();
        if self.takes(":") {
            let is_list = self.word() == "ints";
            self.expect("=");
            self.expect("@");
            let r#type = if is_list { attribute_type::INTS } else { attribute_type::INT };
            return reference(&name, r#type, &self.word());
        }
        self.expect("=");
        if self.takes("\"") {
            let (value, rest) = self.0.split_once('"').expect("a text ends");
            self.0 = rest;
            text(&name, value)
        } else if self.takes("[") {
            let entries = self.list("]", Text::word);
            if entries.iter().any(|entry| entry.contains('.')) {
                floats(&name, &numbers(&entries))
            } else {
                ints(&name, &numbers(&entries))
            }
        } else if self.0.starts_with('(') {
            graph_attribute(&name, self.graph())
        } else {
            let number = [self.word()];
            if number[0].contains('.') {
                float(&name, numbers(&number)[0])
            } else {
                int(&name, numbers(&number)[0])
            }
        }
    }

    /// A graph such as `(int64 i, bool goes, c) => (bool still, c) { still = Identity(goes) }`. A value without a type
    /// is a float.
    fn graph(&mut self) -> Graph {
        self.expect("(");
        let input = self.list(")", Text::value);
        self.expect("=>");
        self.expect("(");
        let output = self.list(")", Text::value);
        self.expect("{");
        let mut node = Vec::new();
        while !self.takes("}") {
            node.push(self.node());
        }
        Graph { node, input, output, ..Graph::default() }
    }

    fn function(&mut self) -> Function {
        let name = self.word();
        let Graph { input, output, node, .. } = self.graph();
        let names = |values: Vec<ValueInfo>| values.into_iter().map(|value| value.name).collect();
        let (input, output, opset_import) = (names(input), names(output), vec![opset("", 17)]);
        let domain = "own".to_owned();
        Function { name, input, output, node, opset_import, domain, ..Function::default() }
    }

    /// A name, perhaps with its type and shape, such as `int64[2, 3] x`.
    fn value(&mut self) -> ValueInfo {
        let first = self.word();
        let shape = self.takes("[").then(|| {
            let sizes = numbers(&self.list("]", Text::word)).into_iter();
            let dim = sizes.map(|size| Dimension { dim_value: Some(size), dim_param: None });
            TensorShape { dim: dim.collect() }
        });
        match (first.as_str(), self.word()) {
            (name, second) if second.is_empty() => value(name, FLOAT),
            ("float", name) => shaped(&name, FLOAT, shape),
            ("int64", name) => shaped(&name, INT64, shape),
            ("bool", name) => shaped(&name, BOOL, shape),
            (other, _) => panic!("type {other} is not in use here"),
        }
    }
}

fn numbers<T: std::str::FromStr<Err: std::fmt::Debug>>(entries: &[String]) -> Vec<T> {
    entries.iter().map(|entry| entry.parse().expect("a number")).collect()
}
