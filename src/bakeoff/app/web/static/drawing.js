// How boxes look on the canvas, and what lies under the pointer.
const COLOURS = ['#ffd400', '#35c2ff', '#ff6ad5', '#7dff5c', '#ff8a3c', '#b79bff', '#00e0b8', '#ff5a5a', '#e6e6e6'];
const GRIP = 6; // pixels of the screen

export const clamp = (value, low, high) => Math.min(high, Math.max(low, value));

export function draw(canvas, frame, classes, chosen, zoom) {
  const { image } = frame, context = canvas.getContext('2d');
  canvas.width = Math.round(image.naturalWidth * zoom);
  canvas.height = Math.round(image.naturalHeight * zoom);
  context.drawImage(image, 0, 0, canvas.width, canvas.height);
  context.font = '600 14px system-ui, sans-serif';
  const all = [...frame.boxes.map(box => [box, false]), ...frame.proposals.map(box => [box, true])];
  for (const [box, isProposed] of all) drawBox(context, box, isProposed, box === chosen, classes, zoom);
}

function drawBox(context, box, isProposed, isChosen, classes, zoom) {
  const [left, top, right, bottom] = [box.xmin, box.ymin, box.xmax, box.ymax].map(value => value * zoom);
  const number = classes.indexOf(box.label), colour = COLOURS[Math.max(0, number) % COLOURS.length];
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
  for (const [x, y2] of corners(box)) context.fillRect(x * zoom - GRIP, y2 * zoom - GRIP, 2 * GRIP, 2 * GRIP);
}

const corners = box => [[box.xmin, box.ymin], [box.xmax, box.ymin], [box.xmin, box.ymax], [box.xmax, box.ymax]];

// The corner of the chosen box at a place: which sides it moves; null if there is none.
export function gripAt(box, x, y, zoom) {
  if (!box) return null;
  const number = corners(box).findIndex(([left, top]) => Math.hypot(left - x, top - y) * zoom <= 2 * GRIP);
  return number < 0 ? null : [number % 2 ? 'xmax' : 'xmin', number > 1 ? 'ymax' : 'ymin'];
}

// The smallest box at a place, for others may lie around it.
export function boxAt(frame, x, y) {
  const area = box => (box.xmax - box.xmin) * (box.ymax - box.ymin);
  return [...frame.boxes, ...frame.proposals]
    .filter(box => x >= box.xmin && x <= box.xmax && y >= box.ymin && y <= box.ymax)
    .sort((one, other) => area(one) - area(other))[0] ?? null;
}

// Keeps a box in the picture, with its corners in order and a tenth of a pixel fine.
export function settle(box, image) {
  const round = value => Math.round(10 * value) / 10;
  const [left, right] = [box.xmin, box.xmax].sort((a, b) => a - b).map(value => round(clamp(value, 0, image.naturalWidth)));
  const [top, bottom] = [box.ymin, box.ymax].sort((a, b) => a - b).map(value => round(clamp(value, 0, image.naturalHeight)));
  Object.assign(box, { xmin: left, xmax: right, ymin: top, ymax: bottom });
  return right - left >= 2 && bottom - top >= 2;
}
