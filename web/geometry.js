// Positions for drawing the elements of a tensor. The last axis goes right and the second last down. The other axes are
// panels, alternately next to and below each other. Read like a text, the elements are in the order of the memory.

const GAPS = [0.9, 1.6, 2.4, 3.2, 4];
const MOST_CELL = 40;

/** Returns the numbers of panels of an axis that can be side by side, so that all rows are about equally long. */
function choices(size) {
  const divisors = [];
  for (let count = 1; count <= size && divisors.length < 10; count++) {
    if (size % count === 0 || count === Math.ceil(size / 2)) divisors.push(count);
  }
  if (!divisors.includes(size)) divisors.push(size);
  return divisors;
}

/** Nests the leading axes around a panel, with `columns[level]` panels of each axis side by side. */
function nested(shape, columns) {
  const rank = shape.length;
  let width = rank > 0 ? shape[rank - 1] : 1;
  let height = rank > 1 ? shape[rank - 2] : 1;
  const levels = [];
  for (let level = 0; level < columns.length; level++) {
    const size = shape[rank - 3 - level];
    const gap = GAPS[Math.min(level, GAPS.length - 1)];
    const stepX = width + gap;
    const stepY = height + gap;
    levels.push({ columns: columns[level], stepX, stepY });
    width += (Math.min(columns[level], size) - 1) * stepX;
    height += (Math.ceil(size / columns[level]) - 1) * stepY;
  }
  return { width, height, levels };
}

/** Lays a tensor out in a box of pixels: the cell's size, and the position of each element. */
export function layoutOf(shape, boxWidth, boxHeight) {
  // The other sizes of an empty tensor may be huge.
  if (shape.includes(0)) return { cell: MOST_CELL, x: [], y: [], panels: [], count: 0 };
  const rank = shape.length;
  const count = shape.reduce((product, size) => product * size, 1);
  let best = null;
  const tried = (columns) => {
    if (columns.length === Math.max(rank - 2, 0)) {
      const made = nested(shape, columns);
      const cell = Math.min(boxWidth / made.width, boxHeight / made.height, MOST_CELL);
      // Panels that are not in reading order are worth less. For equal cells, more panels side by side are better.
      const isMixed = columns.some((each, level) => each > 1 && columns.slice(0, level).some((inner, at) => inner < shape[rank - 3 - at]));
      const isUneven = columns.some((each, level) => shape[rank - 3 - level] % each !== 0);
      const worth = (isMixed ? 0.7 : 1) * (isUneven ? 0.8 : 1) * cell + columns.reduce((sum, each, level) => sum + each * (level % 2 ? 1e-4 : 1e-3), 0);
      if (!best || worth > best.worth) best = { ...made, cell, worth };
      return;
    }
    for (const each of choices(shape[rank - 3 - columns.length])) tried([...columns, each]);
  };
  tried([]);
  if (rank === 1 && best.cell < 9) best = wrapped(count, boxWidth, boxHeight);
  const cell = best.cell >= 4 ? Math.floor(best.cell) : best.cell;
  const x = new Float32Array(count);
  const y = new Float32Array(count);
  const left = Math.max((boxWidth - best.width * cell) / 2, 0);
  // Nearer to the title above than to the content below.
  const top = Math.max((boxHeight - best.height * cell) * 0.3, 0);
  const panels = [];
  const columns = best.row ?? (rank > 0 ? shape[rank - 1] : 1);
  const rows = rank > 1 ? shape[rank - 2] : best.rows ?? 1;
  const inPanel = columns * rows;
  for (let start = 0, panel = 0; start < count; start += inPanel, panel++) {
    let [panelX, panelY, rest] = [left, top, panel];
    const index = [];
    for (let level = 0; level < best.levels.length; level++) {
      const { columns: side, stepX, stepY } = best.levels[level];
      const size = shape[rank - 3 - level];
      const at = rest % size;
      rest = Math.floor(rest / size);
      index.unshift(at);
      panelX += (at % side) * stepX * cell;
      panelY += Math.floor(at / side) * stepY * cell;
    }
    panels.push({ x: panelX, y: panelY, width: columns * cell, height: rows * cell, index });
    for (let at = 0; at < inPanel && start + at < count; at++) {
      x[start + at] = panelX + (at % columns) * cell;
      y[start + at] = panelY + Math.floor(at / columns) * cell;
    }
  }
  return { cell, x, y, panels, count };
}

/** A long axis, in several rows. */
function wrapped(count, boxWidth, boxHeight) {
  let row = count;
  while (row > 1 && (boxWidth / row < 9 && boxHeight / Math.ceil(count / row) > 9)) row--;
  const rows = Math.ceil(count / row);
  return { width: row, height: rows, levels: [], row, rows, cell: Math.min(boxWidth / row, boxHeight / rows, MOST_CELL) };
}

/** Returns the index of an element in row-major order. */
export function indexOf(element, shape) {
  const index = new Array(shape.length);
  for (let axis = shape.length - 1; axis >= 0; axis--) {
    index[axis] = element % shape[axis];
    element = Math.floor(element / shape[axis]);
  }
  return index;
}

/** Returns the element at a position; -1 if there is none. */
export function elementAt(layout, atX, atY) {
  for (let element = 0; element < layout.count; element++) {
    const [dx, dy] = [atX - layout.x[element], atY - layout.y[element]];
    if (dx >= 0 && dy >= 0 && dx < layout.cell && dy < layout.cell) return element;
  }
  return -1;
}
