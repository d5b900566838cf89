// One colour for each element of the source. Lightness always shows the order, so the colours can be distinguished
// without their hues. The hues are far apart for every kind of colour blindness.

// Viridis, by its usual stops.
const VIRIDIS = ["#482878", "#3e4989", "#31688e", "#26828e", "#1f9e89", "#35b779", "#6ece58", "#b5de2b", "#fde725"].map(rgb);
// Blue, orange, rose, teal, violet, olive, sky, rust: in OKLCH, as hue and chroma.
const HUES = [[258, 0.15], [66, 0.14], [0, 0.13], [178, 0.1], [305, 0.15], [112, 0.11], [228, 0.1], [38, 0.13]];

function rgb(hex) {
  return [1, 3, 5].map((at) => Number.parseInt(hex.slice(at, at + 2), 16));
}

function between(stops, at) {
  const place = Math.min(Math.max(at, 0), 1) * (stops.length - 1);
  const low = Math.min(Math.floor(place), stops.length - 2);
  return stops[low].map((from, i) => from + (stops[low + 1][i] - from) * (place - low));
}

function oklch(lightness, chroma, hue) {
  const a = chroma * Math.cos((hue * Math.PI) / 180);
  const b = chroma * Math.sin((hue * Math.PI) / 180);
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  return [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ].map((linear) => {
    const cut = Math.min(Math.max(linear, 0), 1);
    return 255 * (cut <= 0.0031308 ? 12.92 * cut : 1.055 * cut ** (1 / 2.4) - 0.055);
  });
}

const hexOf = (colour) => `#${colour.map((part) => Math.round(part).toString(16).padStart(2, "0")).join("")}`;
const isLight = ([r, g, b]) => 0.299 * r + 0.587 * g + 0.114 * b > 140;

/**
 * Colours the elements of a row-major shape: by their order, or a hue for each index of the axis `by` and a lightness
 * for the order among those. Returns the fills, and for each fill whether dark text is legible on it.
 */
export function coloursOf(shape, by) {
  const count = shape.reduce((product, size) => product * size, 1);
  const fills = new Array(count);
  const light = new Uint8Array(count);
  const inner = shape.slice(by + 1).reduce((product, size) => product * size, 1);
  const rest = by < 0 ? count : count / shape[by];
  for (let element = 0; element < count; element++) {
    const index = by < 0 ? 0 : Math.floor(element / inner) % shape[by];
    const among = by < 0 ? element : Math.floor(element / (inner * shape[by])) * inner + (element % inner);
    const place = rest > 1 ? among / (rest - 1) : 0.5;
    const [hue, chroma] = HUES[index % HUES.length];
    const isHue = by >= 0 && shape[by] <= HUES.length;
    const colour = isHue
      ? oklch(0.42 + 0.48 * place, chroma * (1 - 0.35 * Math.abs(2 * place - 1)), hue)
      : between(VIRIDIS, by < 0 ? place : (index + 0.35 * place) / (shape[by] - 0.65));
    fills[element] = hexOf(colour);
    light[element] = isLight(colour) ? 1 : 0;
  }
  return { fills, light };
}
