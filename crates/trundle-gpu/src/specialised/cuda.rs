//! The text of kernels in CUDA C++.

use std::fmt::{self, Write};

use super::SpecialisedKernel;
use super::body::{Memory, Statement};
use super::word::{Binary, Test, Variable, Word};

/// The memory accesses. Tests on the host define `HOST` and their own.
const PRELUDE: &str = "\
#ifndef HOST
#pragma nv_diag_suppress 177 // unused words of vectors
#define DEVICE static __device__ __forceinline__
template <class T> DEVICE T source(const uint4* p, unsigned at) { return __ldg((const T*)((const char*)p + at)); }
DEVICE uint4 source_ahead(const uint4* p, unsigned at) {
#if __CUDA_ARCH__ >= 800
    uint4 v;
    asm(\"ld.global.nc.L2::256B.v4.u32 {%0, %1, %2, %3}, [%4];\"
        : \"=r\"(v.x), \"=r\"(v.y), \"=r\"(v.z), \"=r\"(v.w) : \"l\"((const char*)p + at));
    return v;
#else
    return source<uint4>(p, at);
#endif
}
template <class T> DEVICE void store(uint4* p, unsigned at, T value) { *(T*)((char*)p + at) = value; }
template <class T> DEVICE T shared_load(const uint4* p, unsigned at) { return *(const T*)((const char*)p + at); }
template <class T> DEVICE void shared_store(uint4* p, unsigned at, T value) { *(T*)((char*)p + at) = value; }
DEVICE unsigned length(const long long* p, unsigned at) { return (unsigned)__ldg((const long long*)((const char*)p + (int)at)); }
#endif
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned u32;

";

pub(super) fn text(kernel: &SpecialisedKernel) -> String {
    let mut text = Text { out: PRELUDE.to_owned(), depth: 1 };
    let out = &mut text.out;
    out.push_str("extern \"C\" __global__ void __launch_bounds__(");
    out.push_str(&kernel.threads.to_string());
    out.push_str(") moved(const uint4* __restrict__ src, uint4* __restrict__ dst,");
    out.push_str(" const long long* __restrict__ lengths) {\n");
    if kernel.shared_bytes > 0 {
        let vectors = kernel.shared_bytes / 16;
        text.line(format_args!("__shared__ uint4 shared[{vectors}];"));
    }
    text.statements(&kernel.body);
    text.out.push_str("}\n");
    text.out
}

struct Text {
    out: String,
    depth: usize,
}

impl Text {
    fn line(&mut self, line: fmt::Arguments) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.out, "{:width$}{line}", "", width = 4 * self.depth);
    }

    fn statements(&mut self, statements: &[Statement]) {
        for statement in statements {
            match statement {
                Statement::Let(variable, value) => {
                    self.line(format_args!("u32 {variable} = {value};"));
                }
                Statement::Set(variable, value) => self.line(format_args!("{variable} = {value};")),
                Statement::Load { from, bytes, at, into } => self.load(*from, *bytes, at, into),
                Statement::Store { to, bytes, at, words } => self.store(*to, *bytes, at, words),
                Statement::If(test, branch) => self.braced("if", test, branch),
                Statement::While(test, repeated) => self.braced("while", test, repeated),
                Statement::Barrier => self.line(format_args!("__syncthreads();")),
            }
        }
    }

    fn braced(&mut self, keyword: &str, test: &Test, statements: &[Statement]) {
        self.line(format_args!("{keyword} ({test}) {{"));
        self.depth += 1;
        self.statements(statements);
        self.depth -= 1;
        self.line(format_args!("}}"));
    }

    fn load(&mut self, from: Memory, bytes: u32, at: &Word, into: &[Variable]) {
        let first = into[0];
        let kind = kind(bytes);
        let read = match from {
            Memory::Source => format!("source<{kind}>(src, {at})"),
            Memory::SourceAhead => format!("source_ahead(src, {at})"),
            Memory::Destination => format!("source<{kind}>(dst, {at})"),
            Memory::Shared => format!("shared_load<{kind}>(shared, {at})"),
            Memory::Lengths => format!("length(lengths, {at})"),
        };
        if let [only] = into {
            return self.line(format_args!("const u32 {only} = {read};"));
        }
        self.line(format_args!("const {kind} all_{first} = {read};"));
        for (each, part) in into.iter().zip(["x", "y", "z", "w"]) {
            self.line(format_args!("u32 {each} = all_{first}.{part};"));
        }
    }

    fn store(&mut self, to: Memory, bytes: u32, at: &Word, words: &[Word]) {
        let kind = kind(bytes);
        let value = match words {
            [only] => format!("{kind}({only})"),
            words => {
                let words: Vec<String> = words.iter().map(Word::to_string).collect();
                format!("make_{kind}({})", words.join(", "))
            }
        };
        match to {
            Memory::Shared => {
                self.line(format_args!("shared_store<{kind}>(shared, {at}, {value});"));
            }
            _ => self.line(format_args!("store<{kind}>(dst, {at}, {value});")),
        }
    }
}

/// The type of an access.
fn kind(bytes: u32) -> &'static str {
    match bytes {
        1 => "u8",
        2 => "u16",
        4 => "u32",
        8 => "uint2",
        _ => "uint4",
    }
}

impl fmt::Display for Variable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.name, self.number)
    }
}

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Word::Constant(constant) => write!(f, "{constant}u"),
            Word::Variable(variable) => variable.fmt(f),
            Word::Block => f.write_str("blockIdx.x"),
            Word::Thread => f.write_str("threadIdx.x"),
            Word::Binary(operation, of) => {
                let [a, b] = &**of;
                let sign = match operation {
                    Binary::Min => return write!(f, "u32(min(int({a}), int({b})))"),
                    Binary::Max => return write!(f, "u32(max(int({a}), int({b})))"),
                    Binary::Add => match b.constant() {
                        // As a difference, for readers.
                        Some(b) if b.cast_signed() < 0 => {
                            return write!(f, "({a} - {}u)", b.wrapping_neg());
                        }
                        _ => "+",
                    },
                    Binary::Sub => "-",
                    Binary::Mul => "*",
                    Binary::Div => "/",
                    Binary::Rem => "%",
                    Binary::And => "&",
                    Binary::Or => "|",
                    Binary::Left => "<<",
                    Binary::Right => ">>",
                };
                write!(f, "({a} {sign} {b})")
            }
            Word::Funnel(of, bits) => {
                let [low, high] = &**of;
                write!(f, "__funnelshift_r({low}, {high}, {bits})")
            }
            Word::Permute(of, selector) => {
                let [a, b] = &**of;
                write!(f, "__byte_perm({a}, {b}, {selector:#x}u)")
            }
            Word::Select(test, of) => {
                let [yes, no] = &**of;
                write!(f, "({test} ? {yes} : {no})")
            }
        }
    }
}

impl fmt::Display for Test {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Test::Constant(known) => write!(f, "{known}"),
            Test::Less(of) => write!(f, "int({}) < int({})", of[0], of[1]),
            Test::Below(of) => write!(f, "{} < {}", of[0], of[1]),
            Test::Both(of) => write!(f, "{} && {}", of[0], of[1]),
            Test::Not(of) => write!(f, "!({of})"),
        }
    }
}
