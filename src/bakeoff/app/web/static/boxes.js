// Boxes over small pictures: drawn when the picture has come, in shares of its own size.
const SVG = 'http://www.w3.org/2000/svg';
const make = (tag, attributes, text = '') => {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.textContent = text;
  return element;
};

export async function drawBoxes(place) {
  const image = place.querySelector('img');
  if (!image.complete) await new Promise(done => { image.addEventListener('load', done); image.addEventListener('error', done); });
  await draw(place);
}

async function draw(place) {
  const image = place.querySelector('img'), boxes = JSON.parse(place.dataset.boxes);
  if (!boxes.length || !image.naturalWidth) return;
  // The picture is smaller than its file; boxes in pixels need the size of that.
  const [width, height] = place.dataset.shares === 'true' ? [1, 1] : await size(image.src);
  const svg = make('svg', { viewBox: '0 0 100 100', preserveAspectRatio: 'none', 'aria-hidden': 'true' });
  for (const [left, top, right, bottom, , kind = ''] of boxes) {
    svg.append(make('rect', {
      class: kind,
      x: 100 * left / width, y: 100 * top / height, width: 100 * (right - left) / width, height: 100 * (bottom - top) / height,
    }));
  }
  const words = document.createElement('p');
  words.className = 'classes';
  words.textContent = [...new Set(boxes.map(box => box[4]))].join(', ');
  place.append(svg);
  place.after(words);
}

async function size(address) {
  const answer = await fetch(address, { method: 'HEAD' });
  return (answer.headers.get('X-Size') ?? '1x1').split('x').map(Number);
}

for (const place of document.querySelectorAll('.boxed')) drawBoxes(place);
