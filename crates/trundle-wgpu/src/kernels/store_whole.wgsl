// Writes one grain of a row, a word or a vector, which belongs to one element.
fn store(row: u32, number: u32) {
    let at = src_of_next(row, number / launch.width) + number % launch.width;
    if at < launch.src_end {
        dst[dst_of(row) + number] = src[at];
    }
}
