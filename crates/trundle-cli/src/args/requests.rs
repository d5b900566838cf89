//! Conversion of arguments to requests.

use std::path::PathBuf;

use trundle_files::request::{
    Along, Axis, Description, Destination, Operators, Parts, Request, Resources, Work,
};

use super::{
    AdditionArgs, ApplyArgs, ChunkArgs, ConcatArgs, ConvertArgs, DescriptionArgs, DryRunArgs,
    MeansArgs, PartArgs, PlanArgs, RelayoutArgs, SplitArgs, StackArgs, WriteArgs,
};

impl DescriptionArgs {
    /// Builds the description of the input files.
    pub(crate) fn description(&self) -> Description {
        let mut description = Description::default();
        description.format = self.from.clone();
        description.dtype = self.dtype.clone();
        description.shape = self.shape.clone();
        description.offset = self.offset;
        description.bit_order = self.bit_order.clone();
        description
    }

    /// Builds a request for work on files with this description.
    pub(crate) fn request(&self, inputs: Vec<PathBuf>, work: Work) -> Request {
        let mut request = Request::new(inputs, work);
        request.described = self.description();
        request
    }
}

impl ApplyArgs {
    pub(crate) fn request(self) -> Request {
        self.described.request(vec![self.input], Work::chain(Operators::Chain(self.chain)))
    }
}

impl ConvertArgs {
    pub(crate) fn request(self) -> Request {
        self.described.request(vec![self.input], Work::chain(Operators::Convert))
    }
}

impl PlanArgs {
    /// Adds the choice of tensors to a request, and returns the remaining options.
    pub(crate) fn choose(self, request: &mut Request) -> MeansArgs {
        request.tensor = self.tensor;
        if let Work::Chain { only, row_major, .. } = &mut request.work {
            (*only, *row_major) = (self.only, self.row_major);
        }
        self.means
    }
}

impl PartArgs {
    fn request(self, along: Along) -> Request {
        let work = Work::Join { along };
        let mut request = self.described.request(self.inputs, work);
        request.tensor = self.tensor;
        request
    }
}

/// Returns the axis that one of the options `--axis` and `--dim` gives. Clap makes sure that one is given.
fn axis(number: Option<i64>, name: Option<String>) -> Axis {
    name.map_or(Axis::Number(number.unwrap_or_default()), Axis::Name)
}

impl ConcatArgs {
    pub(crate) fn request(self) -> Request {
        self.parts.request(Along::Axis(axis(self.axis, self.dim)))
    }
}

impl StackArgs {
    pub(crate) fn request(self) -> Request {
        self.parts.request(Along::New(self.axis, self.dim))
    }
}

impl SplitArgs {
    pub(crate) fn request(self) -> Request {
        let parts = match self.sizes {
            Some(sizes) => Parts::Sizes(sizes),
            None => Parts::Count(self.parts.unwrap_or_default()),
        };
        let work = Work::Split { axis: axis(self.axis, self.dim), parts };
        let mut request = self.described.request(vec![self.input], work);
        request.tensor = self.tensor;
        request
    }
}

impl RelayoutArgs {
    pub(crate) fn request(self) -> Request {
        let work = Work::Relayout { rules: self.given, rule_files: self.files };
        self.described.request(vec![self.input], work)
    }
}

impl ChunkArgs {
    /// Builds a destination with these chunks and codecs.
    fn destination(self) -> Destination {
        let mut destination = Destination::default();
        destination.chunks = self.chunks;
        destination.shards = self.shards;
        destination.codecs = self.codec;
        destination.metadata_only = self.metadata_only;
        destination
    }
}

impl AdditionArgs {
    fn complete(self, mut destination: Destination) -> Destination {
        destination.addition = self.append.or(self.region);
        destination.ignored_attributes = self.ignore_attrs;
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
        self.addition.complete(destination)
    }
}

impl DryRunArgs {
    pub(crate) fn destination(self) -> Destination {
        let mut destination = self.chunking.destination();
        destination.path = self.output;
        destination.format = self.to;
        destination.overwrite = self.force;
        destination.verify = self.verify;
        self.addition.complete(destination)
    }
}

impl MeansArgs {
    pub(crate) fn resources(&self) -> Resources {
        Resources::new(self.threads, self.max_mem, self.storage)
    }
}
