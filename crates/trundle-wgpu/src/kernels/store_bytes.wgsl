// Writes one word of a row, which may hold bytes of several elements.
fn store(row: u32, number: u32) {
    let begin = dst_of(row);
    let first = (begin / 4u + number) * 4u;
    let end = min(begin + launch.row, first + 4u);
    var at = max(begin, first);
    var made = 0u;
    var covered = 0u;
    while at < end {
        let element = (at - begin) / launch.width;
        let within = (at - begin) % launch.width;
        let src_at = src_of_next(row, element) + within;
        let count = min(end - at, launch.width - within);
        if src_at < launch.src_end {
            let mask = ones(8u * count);
            made |= (bytes(src_at, count) & mask) << (8u * (at % 4u));
            covered |= mask << (8u * (at % 4u));
        }
        at += count;
    }
    put(first / 4u, made, covered);
}

// Reads 1 to 4 bytes from one or two words. The bits above them are undefined.
fn bytes(at: u32, count: u32) -> u32 {
    let word = at / 4u;
    let within = at % 4u;
    var value = src[word] >> (8u * within);
    if within + count > 4u {
        value |= src[word + 1u] << (32u - 8u * within);
    }
    return value;
}
