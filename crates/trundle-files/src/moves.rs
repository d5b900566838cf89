//! JSON reports of moves, for `--json`.

use serde_json::{Value, json};
use trundle::lowering::{Block, Cut, CutAt, Loop, Move, Run, Source};

/// Describes a move as JSON.
pub fn move_report(work: &Move) -> Value {
    json!({
        "width": work.width(),
        "bytes": work.moved_bytes(),
        "blocks": work.blocks().iter().map(block_report).collect::<Vec<_>>(),
    })
}

/// Describes a block as JSON.
pub fn block_report(block: &Block) -> Value {
    json!({
        "src_offset": block.src_offset,
        "dst_offset": block.dst_offset,
        "loops": block.loops.iter().map(loop_report).collect::<Vec<_>>(),
    })
}

fn loop_report(each: &Loop) -> Value {
    let (len, dst_stride) = (each.len, each.dst_stride);
    match &each.src {
        Source::Affine { stride } => {
            json!({"len": len, "src_stride": stride, "dst_stride": dst_stride})
        }
        Source::Cut(cut) => json!({"len": len, "dst_stride": dst_stride, "cut": cut_report(cut)}),
    }
}

fn cut_report(cut: &Cut) -> Value {
    let at = match &cut.at {
        CutAt::Constant(at) => json!(at),
        CutAt::Table(table) => json!({"start": table.start, "per_length": table.per_length}),
    };
    json!({"at": at, "runs": [run_report(&cut.first), run_report(&cut.second)]})
}

fn run_report(run: &Run) -> Value {
    json!({
        "src_offset": run.src_offset,
        "src_per_length": run.src_per_length,
        "src_stride": run.src_stride,
    })
}
