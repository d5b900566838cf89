// Writes the bits of a word that are set in `covered`. Other invocations may write other bits of the same word.
fn put(at: u32, made: u32, covered: u32) {
    if covered == 0xffffffffu {
        atomicStore(&dst[at], made);
    } else if covered != 0u {
        atomicAnd(&dst[at], ~covered);
        atomicOr(&dst[at], made);
    }
}
