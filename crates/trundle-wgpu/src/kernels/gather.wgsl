// Each invocation calls `store` once.
@compute @workgroup_size(WORKGROUP)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let item = (workgroup.y * launch.grid + workgroup.x) * WORKGROUP + lane;
    if item < launch.rows * launch.stores {
        store(item / launch.stores, item % launch.stores);
    }
}
