// The editor: frames one after the other, boxes by mouse and keys, proposals that are accepted, mended or refused.
import { boxAt, clamp, draw, gripAt, settle } from './drawing.js';
import { Frame } from './frame.js';
import { ask, once, say } from './page_actions.js';

const get = id => document.getElementById(id);
const editor = get('editor'), canvas = get('canvas'), bench = get('bench'), { folder } = editor.dataset;
let frames = [], classes = [], at = -1, frame = null, chosen = null, label = '', zoom = 1, drag = null, turn = 0;

function show(trouble = '') {
  if (!frame?.image.naturalWidth) return;
  draw(canvas, frame, classes, chosen, zoom);
  const waiting = frame.proposals.length;
  const state = frame.labelled ? (frame.boxes.length ? `${frame.boxes.length} boxes` : 'nothing here') : 'no label yet';
  get('state').textContent = [waiting ? `${state}, ${waiting} proposed` : state, trouble].filter(Boolean).join(', ');
  get('boxes').textContent = chosen ? `Chosen: ${chosen.label}, ${Math.round(chosen.xmin)} ${Math.round(chosen.ymin)} to ${Math.round(chosen.xmax)} ${Math.round(chosen.ymax)}` : '';
  for (const input of get('classes').querySelectorAll('input')) input.checked = input.value === label;
}

function showClasses() {
  get('classes').replaceChildren(...classes.map((name, number) => {
    const words = document.createElement('label'), input = document.createElement('input');
    Object.assign(input, { type: 'radio', name: 'class', value: name });
    input.addEventListener('change', () => choose(name));
    words.append(input, ` ${number < 9 ? `${number + 1} ` : ''}${name}`);
    return words;
  }));
}

function showIgnored(names) {
  get('ignored').replaceChildren(...names.map(name => {
    const item = document.createElement('li'), button = document.createElement('button');
    Object.assign(button, { type: 'button', textContent: 'Take back' });
    button.addEventListener('click', () => once(button, async () => {
      if (await ask(`/labels/${folder}/aside`, { json: { name, back: true } })) await list(frames[at]?.[0]);
    }));
    item.append(`${name} `, button);
    return item;
  }));
}

async function list(name) {
  const tree = await ask(`/labels/${folder}/frames`, { method: 'GET' });
  if (!tree) return;
  ({ frames, classes } = tree);
  label = classes.includes(label) ? label : classes[0] ?? '';
  showClasses();
  showIgnored(tree.ignored);
  const found = frames.findIndex(one => one[0] === name);
  await open(found < 0 ? clamp(at, 0, frames.length - 1) : found);
}

// What could not be saved is tried once more; until that works, one stays where it is.
async function isSaved() {
  const last = frame;
  return !last || await last.saving || last.save();
}

async function open(number) {
  if (number < 0 || number >= frames.length || !await isSaved()) return;
  const mine = ++turn, [name] = frames[number], image = new Image();
  image.src = `/labels/${folder}/image?name=${encodeURIComponent(name)}`;
  const next = new Frame(folder, name, image, show);
  const loaded = await Promise.all([next.load(), image.decode().then(() => true, () => false)]);
  if (mine !== turn) return; // another was asked for since
  [at, frame, chosen] = [number, next, null];
  get('number').value = number + 1;
  get('of').textContent = `of ${frames.length}`;
  get('name').textContent = name;
  history.replaceState(null, '', `#${encodeURIComponent(name)}`);
  canvas.dataset.frame = name;
  if (!loaded[1]) say(`${name}: the picture cannot be shown; ignore it, or mend the file.`);
  if (canvas.dataset.zoomed !== 'yes') zoom = Math.min(1, (bench.clientWidth - 2) / (image.naturalWidth || 1));
  show();
}

// Changes the frame, so that it can be undone, and saves it.
function change(work) {
  frame.remember();
  work();
  show();
  return store();
}

async function store() {
  const mine = frame, number = at;
  const saved = await mine.save();
  frames[number].splice(1, 2, mine.labelled, mine.proposals.length > 0);
  return saved;
}

function choose(name) {
  label = name;
  if (chosen && chosen.label !== name) change(() => { own(chosen).label = name; });
  show();
}

// A proposal that is mended is a label from then on.
function own(box) {
  const number = frame.proposals.indexOf(box);
  if (number >= 0) frame.boxes.push(...frame.proposals.splice(number, 1));
  box.score = null;
  frame.labelled = true;
  return box;
}

function add(box) {
  if (!label) {
    say('Add a class first.');
    return null;
  }
  const made = { label, score: null, ...box };
  frame.boxes.push(made);
  frame.labelled = true;
  return made;
}

const deeds = {
  before: () => open(at - 1),
  after: () => open(at + 1),
  unlabelled: () => {
    const next = frames.findIndex((one, number) => number > at && !one[1]);
    if (next < 0) say('No frame after this one is without a label.');
    return next < 0 ? null : open(next);
  },
  accept: async () => {
    const all = chosen && frame.proposals.includes(chosen) ? [chosen] : [...frame.proposals];
    if (all.length) await change(() => all.forEach(own));
    if (!frame.proposals.length) await open(at + 1);
  },
  refuse: () => {
    const isOne = chosen && frame.proposals.includes(chosen);
    return change(() => {
      frame.proposals = isOne ? frame.proposals.filter(box => box !== chosen) : [];
      chosen = null;
    });
  },
  nothing: () => change(() => { Object.assign(frame, { boxes: [], proposals: [], labelled: true }); chosen = null; }),
  copy: async () => {
    const boxes = frame.boxes.map(box => ({ ...box }));
    if (at + 1 >= frames.length) return;
    await open(at + 1);
    await change(() => { frame.boxes.push(...boxes); frame.labelled = true; });
  },
  track: async () => {
    if (!await isSaved()) return;
    get('state').textContent = 'The tracker looks for the boxes …';
    const answer = await ask(`/labels/${folder}/track`, { json: { name: frame.name } });
    if (answer) await list(frame.name);
    if (answer) get('state').textContent = `${answer.boxes} boxes proposed in ${answer.frames.length} frames`;
  },
  undo: () => { chosen = null; frame.undo(); },
  remove: () => chosen && change(() => {
    frame.boxes = frame.boxes.filter(box => box !== chosen);
    frame.proposals = frame.proposals.filter(box => box !== chosen);
    if (!frame.boxes.length) frame.labelled = false; // "nothing here" is said by its own key
    chosen = null;
  }),
  ignore: async () => {
    if (!await isSaved()) return;
    const following = frames[at + 1]?.[0] ?? frames[at - 1]?.[0];
    if (await ask(`/labels/${folder}/aside`, { json: { name: frame.name } })) await list(following);
  },
  larger: () => magnify(1.25),
  smaller: () => magnify(0.8),
  create: () => {
    const { naturalWidth: wide, naturalHeight: high } = frame.image;
    return change(() => { chosen = add({ xmin: 0.4 * wide, ymin: 0.4 * high, xmax: 0.6 * wide, ymax: 0.6 * high }); if (chosen) settle(chosen, frame.image); });
  },
  leave: () => {
    chosen = null;
    show();
  },
  cycle: () => {
    const all = [...frame.boxes, ...frame.proposals];
    chosen = all[(all.indexOf(chosen) + 1) % (all.length || 1)] ?? null;
    show();
  },
};

function magnify(times) {
  zoom = clamp(zoom * times, 0.05, 8);
  canvas.dataset.zoomed = 'yes';
  show();
}

const KEYS = {
  a: 'before', d: 'after', g: 'unlabelled', Enter: 'accept', r: 'refuse', v: 'nothing', c: 'copy', t: 'track', z: 'undo',
  Escape: 'leave', Delete: 'remove', Backspace: 'remove', x: 'ignore', '+': 'larger', '=': 'larger', '-': 'smaller', b: 'create', n: 'cycle',
};
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
let isBusy = false;

async function work(deed) {
  if (isBusy || !frame) return;
  isBusy = true;
  try {
    await deeds[deed]();
  } finally {
    isBusy = false;
  }
}

canvas.addEventListener('keydown', event => {
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  const name = /^[1-9]$/.test(key) ? classes[key - 1] : null;
  if (event.ctrlKey && key !== 'z') return;
  if (name) choose(name);
  else if (ARROWS[key] && chosen) {
    const [x, y] = ARROWS[key].map(way => way * (event.shiftKey ? 10 : 1));
    change(() => {
      const box = own(chosen);
      box.xmax += x;
      box.ymax += y;
      if (!event.altKey) Object.assign(box, { xmin: box.xmin + x, ymin: box.ymin + y });
      settle(box, frame.image);
    });
  } else if (KEYS[key]) work(KEYS[key]);
  else return;
  event.preventDefault();
});

const place = event => {
  const frameOf = canvas.getBoundingClientRect();
  return [(event.clientX - frameOf.left) / zoom, (event.clientY - frameOf.top) / zoom];
};

canvas.addEventListener('pointerdown', event => {
  if (!frame || event.button) return;
  const [x, y] = place(event), grip = gripAt(chosen, x, y, zoom), box = grip ? chosen : boxAt(frame, x, y);
  drag = { x, y, grip, box, before: box && { ...box }, isMoved: false };
  chosen = box;
  canvas.setPointerCapture(event.pointerId);
  show();
});

canvas.addEventListener('pointermove', event => {
  if (!drag) return;
  const [x, y] = place(event), { before } = drag;
  if (!drag.isMoved && Math.hypot(x - drag.x, y - drag.y) * zoom < 4) return;
  if (!drag.isMoved) {
    frame.remember();
    if (!drag.box) {
      drag.box = chosen = add({ xmin: drag.x, ymin: drag.y, xmax: drag.x, ymax: drag.y });
      drag.grip = ['xmax', 'ymax'];
    } else own(drag.box);
  }
  drag.isMoved = true;
  if (!drag.box) return;
  if (drag.grip) Object.assign(drag.box, { [drag.grip[0]]: x, [drag.grip[1]]: y });
  else for (const [side, moved] of [['xmin', x - drag.x], ['xmax', x - drag.x], ['ymin', y - drag.y], ['ymax', y - drag.y]]) drag.box[side] = before[side] + moved;
  show();
});

canvas.addEventListener('pointerup', () => {
  const done = drag;
  drag = null;
  if (!done?.isMoved || !done.box) return;
  if (!settle(done.box, frame.image)) frame.boxes = frame.boxes.filter(box => box !== done.box);
  show();
  store();
});

editor.addEventListener('click', event => {
  const button = event.target.closest('[data-do]');
  if (button) work(button.dataset.do);
});
get('number').addEventListener('change', event => open(clamp(parseInt(event.target.value, 10) || 1, 1, frames.length) - 1));
get('new-class').addEventListener('submit', async event => {
  event.preventDefault();
  const field = event.target.elements.label, answer = await ask(`/labels/${folder}/classes`, { json: { label: field.value } });
  if (!answer) return;
  ({ classes } = answer);
  label = field.value.trim();
  field.value = '';
  showClasses();
  show();
  canvas.focus();
});

list(decodeURIComponent(location.hash.slice(1)));
