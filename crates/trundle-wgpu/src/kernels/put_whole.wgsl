// Writes a word that is nobody else's: no element begins within it.
fn put(at: u32, made: u32, covered: u32) {
    if covered != 0u {
        dst[at] = made;
    }
}
