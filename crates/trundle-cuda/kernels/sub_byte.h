// The kernel for elements that share bytes. Each thread writes whole groups.
#pragma once

// The number of groups per thread.
constexpr u32 GROUPS = 4;

// Returns `bits` bits from bit `bit` of a group on, which may be in two bytes.
INLINE u32 bits_of(u64 group, u32 bit, u32 bits) {
    u32 value = u32(load<1>(group + bit / 8)) >> bit % 8;
    if (bit % 8 + bits > 8)
        value |= u32(load<1>(group + bit / 8 + 1)) << (8 - bit % 8);
    return value & ones(bits);
}

// Reads an element, and returns its bits, contiguous or in two fields, at index `within` of a destination group. Also
// sets these bits in `covered`.
INLINE u32 moved_bits(const Launch& launch, u64 src, u32 within, u32& covered) {
    const u64 group = launch.src + src / launch.group * launch.group_bytes;
    const u32 from = u32(src % launch.group);
    if (launch.order == 2) {
        const u32 low = launch.bits / 3 * 2;
        const u32 high = launch.bits - low;
        const u32 in_byte = launch.group / 2;
        const auto low_bit = [=](u32 at) { return 8 * (at / in_byte) + low * (in_byte - 1 - at % in_byte); };
        const auto high_bit = [=](u32 at) { return 16 + high * (launch.group - 1 - at); };
        covered |= ones(low) << low_bit(within) | ones(high) << high_bit(within);
        return bits_of(group, low_bit(from), low) << low_bit(within)
               | bits_of(group, high_bit(from), high) << high_bit(within);
    }
    const bool high_first = launch.order == 1;
    const u32 bits = launch.bits;
    const auto first_bit = [=](u32 at) { return high_first ? 8 - bits * (at + 1) : bits * at; };
    covered |= ones(bits) << first_bit(within);
    return bits_of(group, first_bit(from), bits) << first_bit(within);
}

INLINE void gather_sub_byte(const Launch& launch, u64 block) {
    EACH_THREAD(thread) {
        u64 row = block * WORKGROUP + thread;
        const u64 number = divide(row, launch.stores);
        if (row < launch.rows) {
            const u32 size = GROUPS * launch.group;
            const u64 begin = dst_of(launch, row);
            const u64 first = (begin / size + number) * size;
            const u64 end = least(begin + launch.row, first + size);
            Stretch last{};
            NOT_UNROLLED
            for (u32 group = 0; group < GROUPS; ++group) {
                u32 made = 0;
                u32 covered = 0;
                NOT_UNROLLED
                for (u32 within = 0; within < launch.group; ++within) {
                    const u64 at = first + group * launch.group + within;
                    if (at >= begin && at < end)
                        made |= moved_bits(launch, place_of(launch, row, at - begin, last).src, within, covered);
                }
                const u64 byte = launch.dst + (first / launch.group + group) * launch.group_bytes;
                NOT_UNROLLED
                for (u32 each = 0; each < launch.group_bytes; ++each) {
                    const u32 some = covered >> 8 * each & 0xff;
                    if (some == 0xff)
                        store<1>(byte + each, u8(made >> 8 * each));
                    else if (some)
                        store_bits(byte + each, made >> 8 * each & 0xff, some);
                }
            }
        }
    }
}
