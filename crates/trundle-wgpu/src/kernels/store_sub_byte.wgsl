// Writes STORE_WORDS words of packed elements of a row.
fn store(row: u32, number: u32) {
    let begin = dst_of(row);
    let first = (begin / STORE + number) * STORE;
    let end = min(begin + launch.row, first + STORE);
    for (var word = 0u; word < STORE_WORDS; word += 1u) {
        made[word] = 0u;
        covered[word] = 0u;
    }
    for (var at = max(begin, first); at < end; at += 1u) {
        let element = (at - begin) / launch.width;
        let src_at = src_of_next(row, element) + (at - begin) % launch.width;
        if src_at < launch.src_end {
            move_element(src_at, at - first);
        }
    }
    for (var word = 0u; word < STORE_WORDS; word += 1u) {
        put(first / STORE * STORE_WORDS + word, made[word], covered[word]);
    }
}

var<private> made: array<u32, STORE_WORDS>;
var<private> covered: array<u32, STORE_WORDS>;

// Copies an element from the source to `made`. Its bits are contiguous, or split into two fields.
fn move_element(src_at: u32, dst_at: u32) {
    let src_byte = src_at / GROUP * GROUP_BYTES;
    let dst_byte = dst_at / GROUP * GROUP_BYTES;
    let src_within = src_at % GROUP;
    let dst_within = dst_at % GROUP;
    if SPLIT {
        const LOW = BITS / 3u * 2u;
        add_bits(dst_byte, low_bit(dst_within), LOW, bits_of(src_byte, low_bit(src_within), LOW));
        const HIGH = BITS - LOW;
        let high = bits_of(src_byte, 16u + HIGH * (GROUP - 1u - src_within), HIGH);
        add_bits(dst_byte, 16u + HIGH * (GROUP - 1u - dst_within), HIGH, high);
    } else {
        add_bits(dst_byte, bit(dst_within), BITS, bits_of(src_byte, bit(src_within), BITS));
    }
}

// The first bit of an element in its group: in a bit stream, or from the most significant bit of a byte down.
fn bit(within: u32) -> u32 {
    if HIGH_FIRST {
        return 8u - BITS * (within + 1u);
    }
    return BITS * within;
}

// The first of the low bits of a split element. Two thirds of its bits are low.
fn low_bit(within: u32) -> u32 {
    const LOW = BITS / 3u * 2u;
    const IN_BYTE = GROUP / 2u;
    return 8u * (within / IN_BYTE) + LOW * (IN_BYTE - 1u - within % IN_BYTE);
}

// Reads `bits` bits from a position in a group, from one or two words.
fn bits_of(group: u32, bit: u32, bits: u32) -> u32 {
    let byte = group + bit / 8u;
    let within = byte % 4u * 8u + bit % 8u;
    var value = src[byte / 4u] >> within;
    if within + bits > 32u {
        value |= src[byte / 4u + 1u] << (32u - within);
    }
    return value & ones(bits);
}

// Sets these bits in `made` and `covered`.
fn add_bits(group: u32, bit: u32, bits: u32, value: u32) {
    let byte = group + bit / 8u;
    let within = byte % 4u * 8u + bit % 8u;
    made[byte / 4u] |= value << within;
    covered[byte / 4u] |= ones(bits) << within;
    if within + bits > 32u {
        made[byte / 4u + 1u] |= value >> (32u - within);
        covered[byte / 4u + 1u] |= ones(bits) >> (32u - within);
    }
}
