// The slider of a finished run: which boxes count from a score on, in validation photos and in photos of one's own.
import { drawBoxes } from './boxes.js';
import { ask, once, say } from './page_actions.js';
import { View } from './view.js';

const STYLES = { right: ['#35d07f', []], wrong: ['#ff6b5e', [8, 5]], missed: ['#ffffff', [2, 4]], found: ['#ffd400', []] };
const get = id => document.getElementById(id);

document.addEventListener('loaded', event => {
  for (const place of event.target.querySelectorAll('.boxed')) drawBoxes(place);
  if (event.target.querySelector('#try') && !get('tried').dataset.begun) begin();
});

async function begin() {
  const { run } = get('try').dataset, canvas = get('tried'), view = new View(canvas), slider = get('score');
  canvas.dataset.begun = 'yes';
  const kept = await ask(`/runs/${run}/validation`, { method: 'GET' });
  if (!kept) return;
  let at = 0, own = null, image = null, score = kept.threshold, film = null;

  // What a photo shows at this score: an object is missed if no right box of its class and place counts.
  function list() {
    if (own) return own.boxes.filter(box => box.score >= score).map(box => ({ ...box, kind: 'found' }));
    const { found, truth } = kept.photos[at], given = found.filter(box => box.score >= score);
    const right = given.filter(box => box.right);
    const missed = truth.filter(one => !right.some(box => box.label === one.label && overlap(box, one) >= 0.5));
    return [...missed.map(box => ({ ...box, kind: 'missed' })), ...given.map(box => ({ ...box, kind: box.right ? 'right' : 'wrong' }))];
  }

  function show() {
    if (!image) return;
    const boxes = list();
    draw(canvas, view, image, boxes);
    canvas.dataset.boxes = JSON.stringify(boxes.map(({ label, kind }) => [label, kind]));
    const lines = own ? [describe(boxes)] : kept.steps.find(([step]) => Math.abs(step - score) < 0.001)?.[1] ?? kept.chosen;
    get('at-score').replaceChildren(...(score === kept.threshold && !own ? kept.chosen : lines).map(text => Object.assign(document.createElement('li'), { textContent: text })));
    get('score-words').textContent = score.toFixed(2);
    slider.setAttribute('aria-valuetext', score.toFixed(2));
    get('photo-name').textContent = own ? own.name : `${kept.photos[at].file.split('/').pop()}, ${at + 1} of ${kept.photos.length}${kept.of > kept.photos.length ? ` (of ${kept.of}, the worst first)` : ''}`;
    for (const id of ['photo-before', 'photo-after']) get(id).hidden = Boolean(own);
    get('back-to-photos').hidden = !own;
  }

  async function open(number) {
    at = (number + kept.photos.length) % kept.photos.length;
    own = null;
    stop();
    const mine = at, next = new Image();
    next.src = `/runs/${run}/photos/${kept.photos[at].number}`;
    const isThere = await next.decode().then(() => true, () => false);
    if (mine !== at || own) return;
    image = isThere ? next : blank(kept.photos[at]);
    get('tried-state').textContent = isThere ? '' : 'This photo is no longer here; its boxes are.';
    show();
  }

  // Asks the model; `source` is what is drawn meanwhile.
  async function answer(blob, name, source) {
    get('tried-state').textContent = film ? '' : 'The model looks at it. The first photo takes some seconds.';
    const answered = await ask(`/runs/${run}/predict`, { body: blob });
    get('tried-state').textContent = '';
    if (!answered) return false;
    own = { name, boxes: answered.boxes };
    image = source;
    show();
    return true;
  }

  async function take(input) {
    const [file] = input.files;
    if (!file) return;
    stop();
    const shown = new Image();
    shown.src = URL.createObjectURL(file);
    const isRead = await shown.decode().then(() => true, () => false);
    if (isRead) await answer(file, file.name, shown);
    else say(`${file.name}: this browser cannot read it. Choose a JPEG or a PNG.`);
    input.value = '';
  }

  async function begin_film() {
    if (film) {
      stop();
      return;
    }
    const stream = await navigator.mediaDevices.getUserMedia({ video: { facingMode: 'environment' } }).catch(() => null);
    if (!stream) {
      say('The browser gives no camera. Allow it for this page, or take single photos.');
      return;
    }
    film = document.createElement('video');
    Object.assign(film, { srcObject: stream, muted: true, playsInline: true });
    get('film').textContent = 'Stop the camera';
    await film.play();
    while (film) {
      const still = new OffscreenCanvas(film.videoWidth, film.videoHeight);
      still.getContext('2d').drawImage(film, 0, 0);
      const blob = await still.convertToBlob({ type: 'image/jpeg', quality: 0.85 });
      if (!await answer(blob, 'the camera', still)) stop();
    }
  }

  function stop() {
    for (const track of film?.srcObject.getTracks() ?? []) track.stop();
    film = null;
    get('film').textContent = 'Camera';
  }

  slider.addEventListener('input', () => { score = Number(slider.value); show(); });
  get('as-chosen').addEventListener('click', () => { score = kept.threshold; slider.value = score; show(); });
  get('photo-before').addEventListener('click', () => open(at - 1));
  get('photo-after').addEventListener('click', () => open(at + 1));
  get('back-to-photos').addEventListener('click', () => open(at));
  for (const id of ['own-photo', 'own-camera']) get(id).addEventListener('change', event => once(event.target, () => take(event.target)));
  get('film').hidden = !navigator.mediaDevices?.getUserMedia; // browsers give it to addresses that they trust
  get('film').addEventListener('click', begin_film);
  addEventListener('pagehide', stop);
  new ResizeObserver(show).observe(canvas);
  await open(0);
}

const area = box => Math.max(0, box.xmax - box.xmin) * Math.max(0, box.ymax - box.ymin);

function overlap(one, other) {
  const both = area({
    xmin: Math.max(one.xmin, other.xmin), ymin: Math.max(one.ymin, other.ymin), xmax: Math.min(one.xmax, other.xmax), ymax: Math.min(one.ymax, other.ymax),
  });
  return both / (area(one) + area(other) - both || 1);
}

function describe(boxes) {
  if (!boxes.length) return 'No box at this score.';
  return `${boxes.length === 1 ? '1 box' : `${boxes.length} boxes`}: ${boxes.map(box => `${box.label} ${box.score.toFixed(2)}`).join(', ')}`;
}

// A grey picture as large as the boxes need.
function blank({ found, truth }) {
  const boxes = [...found, ...truth];
  return new OffscreenCanvas(Math.max(64, ...boxes.map(box => box.xmax + 10)), Math.max(64, ...boxes.map(box => box.ymax + 10)));
}

function draw(canvas, view, image, boxes) {
  const ratio = devicePixelRatio || 1, context = canvas.getContext('2d');
  const wide = image.naturalWidth ?? image.width, high = image.naturalHeight ?? image.height;
  canvas.width = Math.round(canvas.clientWidth * ratio);
  canvas.height = Math.round(canvas.clientHeight * ratio);
  context.scale(ratio, ratio);
  view.fit({ naturalWidth: wide, naturalHeight: high });
  context.drawImage(image, view.left, view.top, wide * view.scale, high * view.scale);
  context.font = '600 13px system-ui, sans-serif';
  for (const box of boxes) drawOne(context, view, box);
}

function drawOne(context, view, box) {
  const [left, top] = view.toScreen(box.xmin, box.ymin), [right, bottom] = view.toScreen(box.xmax, box.ymax);
  const [colour, dashes] = STYLES[box.kind], words = box.kind === 'missed' ? `${box.label} missed` : `${box.label} ${box.score.toFixed(2)}`;
  for (const [width, style] of [[4, '#000a'], [2, colour]]) {
    context.setLineDash(dashes);
    context.lineWidth = width;
    context.strokeStyle = style;
    context.strokeRect(left, top, right - left, bottom - top);
  }
  const y = box.kind === 'missed' ? bottom - 18 : Math.max(top - 18, 0);
  context.fillStyle = '#000c';
  context.fillRect(left, y, context.measureText(words).width + 8, 18);
  context.fillStyle = colour;
  context.fillText(words, left + 4, y + 13);
}
