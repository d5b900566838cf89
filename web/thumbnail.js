// The small pictures of the examples: the source, and the result.

import { coloursOf } from "./colours.js";
import { layoutOf } from "./geometry.js";

export function thumbnail(canvas, answer, by) {
  if ("error" in answer) return;
  const context = canvas.getContext("2d");
  const source = answer.inputs[0].shape;
  const { shape, sources } = answer.stages.at(-1);
  const { fills } = coloursOf(source, by);
  const half = canvas.width / 2;
  for (const [left, sizes, from] of [[0, source, null], [half + 5, shape, sources]]) {
    const { x, y, cell, count } = layoutOf(sizes, half - 5, canvas.height);
    const gap = cell >= 5 ? 1 : 0;
    for (let element = 0; element < count; element++) {
      const number = from ? from[element] : element;
      context.fillStyle = number < 0 ? "#888" : fills[number];
      context.fillRect(left + x[element], y[element], cell - gap, cell - gap);
    }
  }
}
