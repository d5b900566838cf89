// The examples, with the names that people search for. `by` is the axis that the colours distinguish.

const of = (name, chain, shape, by, dtype = "f32") => ({ name, chain, shape, by, dtype });

export const PRESETS = [
  of("Swin windows", "roll(shift=[-2, -2], axes=[1, 2]) | reshape(1, 2, 4, 2, 4, 2) | transpose(0, 1, 3, 2, 4, 5) | reshape(4, 4, 4, 2)", "b:1,h:8,w:8,c:2", 3),
  of("HWC to CHW", "flip(axes=[2]) | h w c -> c h w", "h:6,w:8,c:3", 2, "u8"),
  of("NHWC to NCHW", "n h w c -> n c h w", "n:2,h:4,w:6,c:3", 3),
  of("Patches", "(h p) (w q) c -> (h w) (p q c), p=2, q=2", "h:6,w:6,c:3", 2, "u8"),
  of("Attention heads", "b s (h d) -> b h s d, h=4", "b:2,s:6,e:16", 0, "f16"),
  of("im2col", "windows(size=[3, 3], axes=[1, 2]) | c h w p q -> (c p q) (h w)", "c:2,h:5,w:6", 0),
  of("Pixel shuffle", "b (c r s) h w -> b c (h r) (w s), r=2, s=2", "b:1,c:4,h:4,w:6", 1),
  of("fftshift", "fftshift()", "9,9", -1, "f64"),
  of("Longitudes to -180..180", "roll(half, dim=lon) | flip(dim=lat)", "lat:8,lon:16", -1),
  of("Reverse padded sequences", "reverse(axis=1, lengths=[8, 3, 5, 10, 6], batch_axis=0)", "batch:5,time:10", 0, "i32"),
  of("Time-major batches", "batch time feature -> time batch feature", "batch:3,time:6,feature:4", 0),
  of("Bit reversal", "(a b c d) -> (d c b a), a=2, b=2, c=2, d=2", "16", -1, "f64"),
];

// numpy has the same maximum. No tensor in memory has a longer axis.
export const MOST_AXES = 64;
const MOST_SIZE = 2 ** 40;

/** Parses axes in the format of the address: `h:8,w:8`, or only sizes. */
export function axesOf(text) {
  if (!text) return [];
  return text.split(",", MOST_AXES).map((axis) => {
    const at = axis.lastIndexOf(":");
    const size = Number.parseInt(axis.slice(at + 1), 10);
    return { name: at < 0 ? "" : axis.slice(0, at), size: size >= 0 && size <= MOST_SIZE ? size : 1 };
  });
}

export function textOf(axes) {
  return axes.map(({ name, size }) => (name ? `${name}:${size}` : `${size}`)).join(",");
}
