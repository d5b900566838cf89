// A workgroup writes a stretch of one row. In each turn, its invocations make adjacent stores.
@compute @workgroup_size(WORKGROUP)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    const STRETCH = WORKGROUP * STORES_OF_RUNS;
    let group = workgroup.y * launch.grid + workgroup.x;
    let stretches = (launch.stores + STRETCH - 1u) / STRETCH;
    if group >= launch.workgroups {
        return;
    }
    let row = group / stretches;
    let first = group % stretches * STRETCH + lane;
    for (var turn = 0u; turn < STORES_OF_RUNS; turn += 1u) {
        let number = first + turn * WORKGROUP;
        if number < launch.stores {
            store(row, number);
        }
    }
}
