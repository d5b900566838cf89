// A workgroup moves a tile: it copies the rows to shared memory, and then the columns to the destination. In both
// steps, adjacent invocations access adjacent words. An element has WIDTH grains, and a word has GRAINS.

const ROW_WORDS = EDGE * WIDTH / GRAINS + select(0u, 1u, GRAINS == 4u);
// Odd, so that the words of a column are in different banks.
const PITCH = ROW_WORDS | 1u;

var<workgroup> tile: array<u32, EDGE * PITCH>;

@compute @workgroup_size(WORKGROUP)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let group = workgroup.y * launch.grid + workgroup.x;
    if group >= launch.workgroups {
        return;
    }
    let tiles_across = (launch.across + EDGE - 1u) / EDGE;
    let tiles_along = (launch.along + EDGE - 1u) / EDGE;
    let across = group / tiles_along % tiles_across * EDGE;
    let along = group % tiles_along * EDGE;
    let matrix = group / tiles_along / tiles_across;
    let steps_across = min(EDGE, launch.across - across);
    let steps_along = min(EDGE, launch.along - along);
    // The start of the first row. In a reversed loop, the last step comes first in memory.
    var corner = src_of(matrix, 0u) + along * launch.along_src_stride;
    if launch.reversed != 0u {
        corner -= (across + steps_across - 1u) * WIDTH;
    } else {
        corner += across * WIDTH;
    }
    let words = arrayLength(&src);
    for (var item = lane; item < EDGE * ROW_WORDS; item += WORKGROUP) {
        let row = item / ROW_WORDS;
        let word = item % ROW_WORDS;
        let begin = corner + row * launch.along_src_stride;
        let needed = (begin % GRAINS + steps_across * WIDTH + GRAINS - 1u) / GRAINS;
        let at = (begin + GRAINS * word) / GRAINS;
        if row < steps_along && word < needed && at < words {
            tile[row * PITCH + word] = src[at];
        }
    }
    workgroupBarrier();
    let begin_of_tile = dst_of(matrix) + along * WIDTH;
    for (var item = lane; item < EDGE * ROW_WORDS; item += WORKGROUP) {
        let column = item / ROW_WORDS;
        if column < steps_across {
            let begin = begin_of_tile + (across + column) * launch.across_dst_stride;
            let first = (begin / GRAINS + item % ROW_WORDS) * GRAINS;
            let end = min(begin + steps_along * WIDTH, first + GRAINS);
            let within = select(column, steps_across - 1u - column, launch.reversed != 0u) * WIDTH;
            var at = max(begin, first);
            var made = 0u;
            var covered = 0u;
            while at < end {
                let row = (at - begin) / WIDTH;
                let src_row = corner + row * launch.along_src_stride;
                if src_row + within < launch.src_end {
                    let place = src_row % GRAINS + within + (at - begin) % WIDTH;
                    let bits = ones(PART_BITS);
                    let value = tile[row * PITCH + place / GRAINS] >> (8u * (place % GRAINS)) & bits;
                    made |= value << (8u * (at % GRAINS));
                    covered |= bits << (8u * (at % GRAINS));
                }
                at += PART;
            }
            put(first / GRAINS, made, covered);
        }
    }
}
