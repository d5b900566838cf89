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

/// What a language calls an element type; `None` if it has no such type.
struct Names {
    numpy: Option<&'static str>,
    rust: Option<&'static str>,
    c: Option<(&'static str, &'static str)>,
    onnx: Option<&'static str>,
}

impl Names {
    fn of(dtype: DType) -> Names {
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
            _ => return Names { numpy: None, rust: None, c: None, onnx: None },
        };
        Names { numpy: Some(numpy), rust: Some(rust), c: Some(c), onnx: Some(onnx) }
    }
}

impl Snippets<'_> {
    pub(crate) fn to_json(&self) -> Value {
        let names = Names::of(self.dtype);
        json!({
            "Python": self.python(names.numpy),
            "Rust": self.rust(names.rust),
            "C": names.c.and_then(|names| self.c(names)),
            "shell": self.shell(),
            "ONNX": names.onnx.and_then(|name| self.onnx(name)),
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
            "import numpy as np\nimport trundle\n\n{arrays}\n\
             move = trundle.chain(\"{chain}\")  # planned once, run often\n\
             y = move({given})\nassert y.shape == {}\n",
            tuple(self.out),
        )
    }

    fn rust(&self, name: Option<&str>) -> String {
        let width = self.dtype.width();
        let element = name.map_or(format!("[u8; {width}]"), str::to_owned);
        let zero = name.map_or(format!("[0u8; {width}]"), |name| {
            if name.starts_with('f') { format!("0.0{name}") } else { format!("0{name}") }
        });
        let chain = self.quoted();
        let shape = |shape: &Shape| format!("Shape::new({:?})?", shape.sizes());
        let shapes: Vec<String> = self.inputs.shapes.iter().map(shape).collect();
        if self.chain.is_map() {
            let (shape, elements) = (&shapes[0], self.inputs.shapes[0].elements());
            return format!(
                "use trundle::{{Chain, Plan, Shape}};\n\n\
                 fn main() -> Result<(), Box<dyn std::error::Error>> {{\n    \
                     let chain: Chain = \"{chain}\".parse()?;\n    \
                     // Planned once, run often.\n    \
                     let plan = Plan::row_major(&chain, size_of::<{element}>(), &{shape}, None)?;\n    \
                     let x = vec![{zero}; {elements}];\n    \
                     let y = plan.run_slice(&x)?;\n    \
                     assert_eq!(y.len(), {});\n    \
                     Ok(())\n}}\n",
                self.out.elements(),
            );
        }
        let inputs = self.inputs.shapes.iter();
        let inputs = inputs.map(|shape| format!("&vec![0u8; {}]", shape.elements() * width));
        format!(
            "use trundle::{{Chain, DType, ProgramPlan, Shape}};\n\n\
             fn main() -> Result<(), Box<dyn std::error::Error>> {{\n    \
                 let chain: Chain = \"{chain}\".parse()?;\n    \
                 let program = chain.program([{}], DType::from_name(\"{}\")?)?;\n    \
                 // Planned once, run often.\n    \
                 let plan = ProgramPlan::row_major(&program, None)?;\n    \
                 let mut y = vec![0u8; {}];\n    \
                 plan.run(&[{}], &mut y)?;\n    \
                 Ok(())\n}}\n",
            shapes.join(", "),
            self.dtype,
            self.out.elements() * width,
            inputs.collect::<Vec<_>>().join(", "),
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
            "#include <stdio.h>\n#include <trundle.h>\n\n\
             static {element} x[{}], y[{}];\n\n\
             int main(void)\n{{\n    \
                 const uint64_t from[] = {{{}}}, to[] = {{{}}};\n    \
                 const trundle_tensor_desc src = {{TRUNDLE_DTYPE_{constant}, {}, from, NULL}};\n    \
                 const trundle_tensor_desc dst = {{TRUNDLE_DTYPE_{constant}, {}, to, NULL}};\n    \
                 trundle_plan *plan; /* planned once, run often */\n    \
                 if (trundle_chain_plan(\"{}\", &src, &dst, &plan) != TRUNDLE_OK\n        \
                     || trundle_plan_run(plan, x, y) != TRUNDLE_OK) {{\n        \
                     fprintf(stderr, \"%s\\n\", trundle_last_error());\n        \
                     return 1;\n    }}\n    \
                 trundle_plan_free(plan);\n    \
                 return 0;\n}}\n",
            shape.elements().max(1),
            self.out.elements().max(1),
            sizes(shape),
            sizes(self.out),
            shape.rank(),
            self.out.rank(),
            self.quoted(),
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
            "import onnx, onnxruntime, trundle\n\n\
             model = onnx.parser.parse_model(\"\"\"<ir_version: 8, opset_import: [\"\": 17, \"trundle\": 1]>\n    \
                 moved ({element}{} x) => ({element}{} y) {{\n        \
                     y = trundle.Chain <chain = \"{chain}\"> (x)\n    }}\"\"\")\n\
             options = onnxruntime.SessionOptions()\n\
             options.register_custom_ops_library(trundle.onnx_library())\n\
             session = onnxruntime.InferenceSession(model.SerializeToString(), options)\n",
            sizes(shape),
            sizes(self.out),
        ))
    }
}

fn tuple(shape: &Shape) -> String {
    match shape.sizes() {
        [only] => format!("({only},)"),
        sizes => format!("({})", sizes.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")),
    }
}
