use trundle::{BufferId, Device, Runner, Step};
use trundle_core::program::{Budget, Made, Program, Read};
use trundle_core::{Backend, Layout, Move, Result};
pub(crate) struct PlannedProgram {
    runner: Runner<Device>,
    fills: Vec<Vec<u8>>,
    inputs: usize,
}
impl PlannedProgram {
    pub(crate) fn within(
        device: Device,
        program: &Program,
        mut budget: Budget,
    ) -> Result<PlannedProgram> {
        let _ = device.budget();
        let passes = program.passes(&mut budget);
        let mut fills = Vec::new();
        let mut work: Vec<(BufferId, BufferId, Move)> = Vec::new();
        for pass in passes {
            let width = program.tensor(pass.target).width;
            let target = if program.outputs().contains(&pass.target) {
                BufferId::Output(0)
            } else {
                BufferId::Temporary(pass.target.0)
            };
            for Read { from, regions } in pass.reads {
                let regions =
                    regions.ok_or_else(|| trundle::Error::TooLarge { what: "pieces".into() })?;
                let src = Layout::row_major(regions.shape(), width.units())?;
                let m = Move::of_regions(&regions, width, &src)?;
                let source = match &program.tensor(from).made {
                    Made::Given(n) => BufferId::Input(*n),
                    Made::Fill(b) => {
                        fills.push(b.clone());
                        BufferId::Input(program.inputs() + fills.len() - 1)
                    }
                    _ => BufferId::Temporary(from.0),
                };
                work.push((source, target, m));
            }
        }
        let steps: Vec<Step<&Move>> = work
            .iter()
            .map(|(source, target, work)| Step { source: *source, target: *target, work })
            .collect();
        Ok(PlannedProgram { runner: Runner::new(device, &steps)?, fills, inputs: program.inputs() })
    }
    pub(crate) fn runner(&self) -> &PlannedProgram {
        self
    }
    pub(crate) fn run(&self, inputs: &[&[u8]], outputs: &mut [&mut [u8]]) -> Result<()> {
        assert_eq!(inputs.len(), self.inputs);
        let mut all = inputs.to_vec();
        all.extend(self.fills.iter().map(|f| &f[..]));
        self.runner.run(&all, outputs)
    }
}
