// Writes a word that no other invocation writes, because no element begins inside a word.
fn put(at: u32, made: u32, covered: u32) {
    if covered != 0u {
        dst[at] = made;
    }
}
