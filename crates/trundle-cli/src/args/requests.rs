//! Arguments that become requests.

use trundle_files::request::{
    Along, Axis, Chained, Description, Destination, Join, Operators, Parts, Relayout, Resources,
    Split, Work,
};

use super::{
    ApplyArgs, ChunkArgs, ConcatArgs, ConvertArgs, DescriptionArgs, DryRunArgs, MeansArgs,
    PartArgs, PlanArgs, RelayoutArgs, SplitArgs, StackArgs, WriteArgs,
};

impl DescriptionArgs {
    /// What a file does not say itself.
    pub(crate) fn description(&self) -> Description {
        let mut description = Description::default();
        description.format = self.from.clone();
        description.dtype = self.dtype.clone();
        description.shape = self.shape.clone();
        description.offset = self.offset;
        description.bit_order = self.bit_order.clone();
        description
    }
}

impl ApplyArgs {
    pub(crate) fn chained(self) -> Chained {
        let mut chained = Chained::new(self.input, Operators::Chain(self.chain));
        chained.described = self.described.description();
        chained
    }
}

impl ConvertArgs {
    pub(crate) fn chained(self) -> Chained {
        let mut chained = Chained::new(self.input, Operators::Convert);
        chained.described = self.described.description();
        chained
    }
}

impl PlanArgs {
    /// Operators, for the tensors that are chosen.
    pub(crate) fn work(&self, mut chained: Chained) -> Work {
        chained.tensor = self.tensor.clone();
        chained.only = self.only;
        chained.row_major = self.row_major;
        Work::Chain(chained)
    }
}

impl PartArgs {
    fn joined(self, along: Along) -> Work {
        let mut join = Join::new(self.inputs, along);
        join.described = self.described.description();
        join.tensor = self.tensor;
        join.ignored_attributes = self.ignore_attrs;
        Work::Join(join)
    }
}

/// The axis that options name: one of them is there.
fn axis(number: Option<i64>, name: Option<String>) -> Axis {
    name.map_or(Axis::Number(number.unwrap_or_default()), Axis::Name)
}

impl ConcatArgs {
    pub(crate) fn work(self) -> Work {
        self.parts.joined(Along::Axis(axis(self.axis, self.dim)))
    }
}

impl StackArgs {
    pub(crate) fn work(self) -> Work {
        self.parts.joined(Along::New(self.axis, self.dim))
    }
}

impl SplitArgs {
    pub(crate) fn work(self) -> Work {
        let parts = match self.sizes {
            Some(sizes) => Parts::Sizes(sizes),
            None => Parts::Count(self.parts.unwrap_or_default()),
        };
        let mut split = Split::new(self.input, axis(self.axis, self.dim), parts);
        split.described = self.described.description();
        split.tensor = self.tensor;
        Work::Split(split)
    }
}

impl RelayoutArgs {
    pub(crate) fn work(self) -> Work {
        let mut relayout = Relayout::new(self.input, self.given);
        relayout.described = self.described.description();
        relayout.rule_files = self.files;
        Work::Relayout(relayout)
    }
}

impl ChunkArgs {
    /// An output that is cut and encoded so.
    fn destination(self) -> Destination {
        let mut destination = Destination::default();
        destination.chunks = self.chunks;
        destination.shards = self.shards;
        destination.codecs = self.codec;
        destination.metadata_only = self.metadata_only;
        destination
    }
}

impl WriteArgs {
    pub(crate) fn destination(self) -> Destination {
        let mut destination = self.chunking.destination();
        destination.path = Some(self.output);
        destination.format = self.to;
        destination.overwrite = self.force;
        destination.verify = self.verify;
        destination.resume = self.resume;
        destination
    }
}

impl DryRunArgs {
    pub(crate) fn destination(self) -> Destination {
        let mut destination = self.chunking.destination();
        destination.path = self.output;
        destination.format = self.to;
        destination.overwrite = self.force;
        destination.verify = self.verify;
        destination
    }
}

impl MeansArgs {
    pub(crate) fn resources(&self) -> Resources {
        Resources::new(self.threads, self.max_mem, self.storage)
    }
}
