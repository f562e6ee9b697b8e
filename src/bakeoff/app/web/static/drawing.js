// How a picture and its boxes look on the canvas, and what lies under the pointer.
const COLOURS = ['#ffd400', '#35c2ff', '#ff6ad5', '#7dff5c', '#ff8a3c', '#b79bff', '#00e0b8', '#ff5a5a', '#e6e6e6'];
const GRIP = 5, PIXELS_FROM = 4; // half a handle; from this scale on pixels have edges

export const clamp = (value, low, high) => Math.min(high, Math.max(low, value));
export const colourOf = (label, classes) => COLOURS[Math.max(0, classes.indexOf(label)) % COLOURS.length];

export function draw(canvas, frame, classes, chosen, view) {
  const ratio = devicePixelRatio || 1, context = canvas.getContext('2d'), { image } = frame;
  canvas.width = Math.round(canvas.clientWidth * ratio);
  canvas.height = Math.round(canvas.clientHeight * ratio);
  context.scale(ratio, ratio);
  context.imageSmoothingEnabled = view.scale < PIXELS_FROM;
  context.drawImage(image, view.left, view.top, image.naturalWidth * view.scale, image.naturalHeight * view.scale);
  context.font = '600 14px system-ui, sans-serif';
  const all = [...frame.boxes.map(box => [box, false]), ...frame.proposals.map(box => [box, true])];
  for (const [box, isProposed] of all) drawBox(context, box, isProposed, box === chosen, classes, view);
  canvas.dataset.view = JSON.stringify([view.scale, view.left, view.top]);
}

function drawBox(context, box, isProposed, isChosen, classes, view) {
  const [left, top] = view.toScreen(box.xmin, box.ymin), [right, bottom] = view.toScreen(box.xmax, box.ymax);
  const colour = colourOf(box.label, classes);
  context.setLineDash(isProposed ? [6, 4] : []);
  for (const [width, style] of [[isChosen ? 6 : 4, '#000a'], [isChosen ? 3.5 : 2, colour]]) {
    context.lineWidth = width;
    context.strokeStyle = style;
    context.strokeRect(left, top, right - left, bottom - top);
  }
  context.setLineDash([]);
  const words = isProposed ? `${box.label} ${(box.score ?? 0).toFixed(2)}?` : box.label;
  const wide = context.measureText(words).width + 8, y = top > 20 ? top - 20 : top;
  context.fillStyle = '#000c';
  context.fillRect(left, y, wide, 20);
  context.fillStyle = colour;
  context.fillText(words, left + 4, y + 15);
  if (!isChosen) return;
  for (const [x, y2] of handles().map(([across, down]) => view.toScreen(box[across] ?? middle(box, 'x'), box[down] ?? middle(box, 'y')))) {
    context.fillStyle = '#000a';
    context.fillRect(x - GRIP - 1, y2 - GRIP - 1, 2 * GRIP + 2, 2 * GRIP + 2);
    context.fillStyle = colour;
    context.fillRect(x - GRIP, y2 - GRIP, 2 * GRIP, 2 * GRIP);
  }
}

const middle = (box, axis) => (box[`${axis}min`] + box[`${axis}max`]) / 2;
// Which sides each handle moves; those at the middle of a side move one.
const handles = () => [
  ['xmin', 'ymin'], ['xmax', 'ymin'], ['xmin', 'ymax'], ['xmax', 'ymax'], ['', 'ymin'], ['', 'ymax'], ['xmin', ''], ['xmax', ''],
];

// The sides that a handle of the chosen box at a place of the screen moves; null if there is none.
export function gripAt(box, x, y, view, reach) {
  if (!box) return null;
  const near = handles().map(sides => {
    const [left, top] = view.toScreen(box[sides[0]] ?? middle(box, 'x'), box[sides[1]] ?? middle(box, 'y'));
    return [Math.hypot(left - x, top - y), sides];
  }).filter(([distance]) => distance <= reach).sort((one, other) => one[0] - other[0]);
  return near[0]?.[1] ?? null;
}

export const isInside = (box, x, y) => x >= box.xmin && x <= box.xmax && y >= box.ymin && y <= box.ymax;

// The smallest box at a place of the picture, for others may lie around it.
export function boxAt(frame, x, y) {
  const area = box => (box.xmax - box.xmin) * (box.ymax - box.ymin);
  return [...frame.boxes, ...frame.proposals].filter(box => isInside(box, x, y)).sort((one, other) => area(one) - area(other))[0] ?? null;
}

// Keeps a box in the picture, with its corners in order and a tenth of a pixel fine.
export function settle(box, image) {
  const round = value => Math.round(10 * value) / 10;
  const [left, right] = [box.xmin, box.xmax].sort((a, b) => a - b).map(value => round(clamp(value, 0, image.naturalWidth)));
  const [top, bottom] = [box.ymin, box.ymax].sort((a, b) => a - b).map(value => round(clamp(value, 0, image.naturalHeight)));
  Object.assign(box, { xmin: left, xmax: right, ymin: top, ymax: bottom });
  return right - left >= 2 && bottom - top >= 2;
}

// Moves a box by so many pixels, as far as the picture goes.
export function shift(box, before, x, y, image) {
  const across = clamp(x, -before.xmin, image.naturalWidth - before.xmax), down = clamp(y, -before.ymin, image.naturalHeight - before.ymax);
  Object.assign(box, { xmin: before.xmin + across, xmax: before.xmax + across, ymin: before.ymin + down, ymax: before.ymax + down });
}
