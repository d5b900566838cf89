//! The same chain in Python, Rust, C, the shell, and ONNX, to copy.

use serde_json::{Value, json};
use trundle::{Chain, DType, Shape};

use crate::elements::Inputs;
use crate::explanation::name_of;

pub(crate) struct Snippets<'a> {
    pub(crate) text: &'a str,
    pub(crate) chain: &'a Chain,
    pub(crate) inputs: &'a Inputs<'a>,
    pub(crate) dtype: DType,
    pub(crate) out: &'a Shape,
}

/// What the languages call an element type.
#[derive(Clone, Copy)]
struct Names {
    numpy: &'static str,
    rust: &'static str,
    c: (&'static str, &'static str),
    onnx: &'static str,
}

impl Names {
    /// Returns the names of a type; `None` if not every language has it.
    fn of(dtype: DType) -> Option<Names> {
        let (numpy, rust, c, onnx) = match dtype {
            DType::U8 => ("uint8", "u8", ("uint8_t", "U8"), "uint8"),
            DType::I8 => ("int8", "i8", ("int8_t", "I8"), "int8"),
            DType::U16 => ("uint16", "u16", ("uint16_t", "U16"), "uint16"),
            DType::I16 => ("int16", "i16", ("int16_t", "I16"), "int16"),
            DType::U32 => ("uint32", "u32", ("uint32_t", "U32"), "uint32"),
            DType::I32 => ("int32", "i32", ("int32_t", "I32"), "int32"),
            DType::U64 => ("uint64", "u64", ("uint64_t", "U64"), "uint64"),
            DType::I64 => ("int64", "i64", ("int64_t", "I64"), "int64"),
            DType::F32 => ("float32", "f32", ("float", "F32"), "float"),
            DType::F64 => ("float64", "f64", ("double", "F64"), "double"),
            DType::F16 => ("float16", "u16", ("uint16_t", "F16"), "float16"),
            _ => return None,
        };
        Some(Names { numpy, rust, c, onnx })
    }
}

impl Snippets<'_> {
    pub(crate) fn to_json(&self) -> Value {
        let names = Names::of(self.dtype);
        json!({
            "Python": self.python(names.map(|names| names.numpy)),
            "Rust": self.rust(names.map(|names| names.rust)),
            "C": names.and_then(|names| self.c(names.c)),
            "shell": self.shell(),
            "ONNX": names.and_then(|names| self.onnx(names.onnx)),
        })
    }

    /// Returns the chain as it was written, or with the numbers of axes that only have names in the tensor.
    fn without_names(&self) -> String {
        let text = self.text.trim();
        match text.parse::<Chain>() {
            Ok(chain) if chain == *self.chain => {
                text.split_whitespace().collect::<Vec<_>>().join(" ")
            }
            _ => self.chain.to_string(),
        }
    }

    fn quoted(&self) -> String {
        self.without_names().replace('\\', "\\\\").replace('"', "\\\"")
    }

    fn each_input(&self) -> impl Iterator<Item = (&str, &Shape)> {
        self.inputs.operands.iter().map(|operand| name_of(operand)).zip(&self.inputs.shapes)
    }

    fn python(&self, name: Option<&str>) -> String {
        let width = self.dtype.width();
        let of = |shape: &Shape| {
            let sizes = tuple(shape);
            match name {
                Some(name) => {
                    format!("np.arange({}).astype(np.{name}).reshape({sizes})", shape.elements())
                }
                None => format!("np.zeros({sizes}, \"V{width}\")"),
            }
        };
        let arrays = self.each_input().map(|(name, shape)| format!("{name} = {}\n", of(shape)));
        let arrays: String = arrays.collect();
        let is_first = |name: &str| name == crate::explanation::UNNAMED;
        let given = self.each_input().map(|(name, _)| match is_first(name) {
            true => name.to_owned(),
            false => format!("{name}={name}"),
        });
        let (given, chain) = (given.collect::<Vec<_>>().join(", "), self.quoted());
        format!(
            include_str!("snippets/python.txt"),
            arrays = arrays,
            chain = chain,
            given = given,
            out = tuple(self.out),
        )
    }

    fn rust(&self, name: Option<&str>) -> String {
        let width = self.dtype.width();
        let shape = |shape: &Shape| format!("Shape::new({:?})?", shape.sizes());
        let shapes: Vec<String> = self.inputs.shapes.iter().map(shape).collect();
        if self.chain.is_map() {
            let (element, zero) = match name {
                Some(name) if name.starts_with('f') => (name.to_owned(), format!("0.0{name}")),
                Some(name) => (name.to_owned(), format!("0{name}")),
                None => (format!("[u8; {width}]"), format!("[0u8; {width}]")),
            };
            return format!(
                include_str!("snippets/plan.txt"),
                chain = self.quoted(),
                element = element,
                shape = shapes[0],
                zero = zero,
                elements = self.inputs.shapes[0].elements(),
                out = self.out.elements(),
            );
        }
        let inputs = self.inputs.shapes.iter();
        let inputs = inputs.map(|shape| format!("&vec![0u8; {}]", shape.elements() * width));
        format!(
            include_str!("snippets/program.txt"),
            chain = self.quoted(),
            shapes = shapes.join(", "),
            dtype = self.dtype,
            bytes = self.out.elements() * width,
            inputs = inputs.collect::<Vec<_>>().join(", "),
        )
    }

    /// `None` for several tensors, which C gives by name.
    fn c(&self, (element, constant): (&str, &str)) -> Option<String> {
        let [shape] = &self.inputs.shapes[..] else { return None };
        let sizes = |shape: &Shape| {
            let sizes: Vec<String> = shape.iter().map(usize::to_string).collect();
            if sizes.is_empty() { "1".to_owned() } else { sizes.join(", ") }
        };
        Some(format!(
            include_str!("snippets/c.txt"),
            element = element,
            constant = constant,
            elements = shape.elements().max(1),
            out_elements = self.out.elements().max(1),
            from = sizes(shape),
            to = sizes(self.out),
            rank = shape.rank(),
            out_rank = self.out.rank(),
            chain = self.quoted(),
        ))
    }

    fn shell(&self) -> String {
        let chain = self.without_names();
        let is_plain = !chain.contains(['"', '$', '`', '\\', '!']);
        let chain = if is_plain {
            format!("\"{chain}\"")
        } else {
            format!("'{}'", chain.replace('\'', "'\\''"))
        };
        format!("trundle apply x.npy {chain} -o y.npy\n")
    }

    /// `None` for several tensors, which the operator does not take.
    fn onnx(&self, element: &str) -> Option<String> {
        let [shape] = &self.inputs.shapes[..] else { return None };
        let sizes = |shape: &Shape| {
            let sizes: Vec<String> = shape.iter().map(usize::to_string).collect();
            if sizes.is_empty() { String::new() } else { format!("[{}]", sizes.join(", ")) }
        };
        let chain = self.quoted().replace('\\', "\\\\");
        Some(format!(
            include_str!("snippets/onnx.txt"),
            element = element,
            chain = chain,
            from = sizes(shape),
            to = sizes(self.out),
        ))
    }
}

fn tuple(shape: &Shape) -> String {
    match shape.sizes() {
        [only] => format!("({only},)"),
        sizes => format!("({})", sizes.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")),
    }
}
