// The editor: photos one after the other, their boxes, proposals that are accepted, mended or refused, and who else is here.
import { clamp, colourOf, draw, settle, shift } from './drawing.js';
import { Frame, sendDrafts } from './frame.js';
import { listen } from './gestures.js';
import { ask, makeKey, offer, once, say } from './page_actions.js';
import { View } from './view.js';

const get = id => document.getElementById(id);
const editor = get('editor'), canvas = get('canvas'), { folder } = editor.dataset, view = new View(canvas);
const tab = sessionStorage.getItem('bakeoff-tab') ?? makeKey();
const SECONDS_BETWEEN_BEATS = 5, FIRST_GOAL = Number(editor.dataset.try), GOAL = Number(editor.dataset.enough);
sessionStorage.setItem('bakeoff-tab', tab); // so that a page that is loaded again is the same person
let frames = [], classes = [], taken = [], at = -1, frame = null, chosen = null, label = '', copied = [], turn = 0, isDragging = false, news = '';

const count = (number, one, many = `${one}s`) => `${number.toLocaleString('en')} ${number === 1 ? one : many}`;

function show(trouble = '') {
  if (!frame?.image.naturalWidth) return;
  if (view.isFitted && !isDragging) view.fit(frame.image); // nothing moves under a finger that draws
  draw(canvas, frame, classes, chosen, view);
  const waiting = frame.proposals.length, isTaken = taken.includes(frame.name);
  const state = frame.labelled ? (frame.boxes.length ? count(frame.boxes.length, 'box', 'boxes') : 'nothing here') : 'no label yet';
  const words = [state, frame.boxes.some(isOutside) && 'a box reaches out of the photo, so training leaves it out', waiting && `${waiting} proposed`, isTaken && 'somebody else has this photo open', news, trouble];
  put('state', words.filter(Boolean).join(', '));
  put('boxes', chosen ? `Chosen: ${chosen.label}, ${Math.round(chosen.xmin)} ${Math.round(chosen.ymin)} to ${Math.round(chosen.xmax)} ${Math.round(chosen.ymax)}` : '');
  if (!isDragging) showButtons();
  for (const input of get('classes').querySelectorAll('input')) input.checked = input.value === label;
  showCount();
}

// More than a pixel out of the photo: training leaves such a photo out.
const isOutside = box => box.xmin < -1 || box.ymin < -1 || box.xmax > frame.image.naturalWidth + 1 || box.ymax > frame.image.naturalHeight + 1;

function showButtons() {
  for (const button of editor.querySelectorAll('[data-if=outside]')) button.hidden = !frame.boxes.some(isOutside);
  for (const button of editor.querySelectorAll('[data-if=proposals]')) button.hidden = !frame.proposals.length;
  for (const button of editor.querySelectorAll('[data-if=chosen]')) button.disabled = !chosen;
  for (const button of editor.querySelectorAll('[data-if=boxes]')) button.disabled = !frame.boxes.length;
  for (const [deed, states] of [['undo', frame.past], ['redo', frame.future]]) editor.querySelector(`[data-do=${deed}]`).disabled = !states.length;
}

// A status that does not change is not said again.
function put(id, text) {
  if (get(id).textContent !== text) get(id).textContent = text;
}

function showCount() {
  const labelled = frames.filter(one => one[1]).length, first = Math.min(FIRST_GOAL, frames.length);
  const goal = frames.length < FIRST_GOAL ? `; ${FIRST_GOAL} photos would say more` : ' for a first training';
  const rest = labelled < first ? `${(first - labelled).toLocaleString('en')} to go${goal}`
    : labelled < GOAL ? `enough to try; better with ${GOAL}` : 'enough for one kind of object';
  put('counter', `${labelled.toLocaleString('en')} of ${frames.length.toLocaleString('en')} labelled, ${rest}`);
  const isEnough = labelled >= first && labelled > 0; // one button is prominent: that of the next step
  get('train').classList.toggle('main', isEnough);
  get('next').classList.toggle('main', !isEnough && !frame?.proposals.length);
}

function showClasses() {
  get('classes').replaceChildren(...classes.map((name, number) => {
    const words = document.createElement('label'), input = document.createElement('input'), spot = document.createElement('i');
    Object.assign(input, { type: 'radio', name: 'class', value: name, className: 'unseen' });
    input.addEventListener('change', () => choose(name));
    spot.style.background = colourOf(name, classes);
    words.className = 'chip';
    words.append(input, spot, ` ${number < 9 ? `${number + 1} ` : ''}${name}`);
    return words;
  }));
  get('new-class').classList.toggle('first', !classes.length);
}

function showIgnored(names) {
  get('aside').hidden = !names.length;
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
  const start = name ? clamp(at, 0, frames.length - 1) : Math.max(0, frames.findIndex(one => !one[1]));
  await open(found < 0 ? start : found);
}

// What could not be saved is tried once more; until that works, one stays where it is.
async function isSaved() {
  const last = frame;
  return !last || await last.saving || last.save();
}

const addressOf = name => `/labels/${folder}/image?name=${encodeURIComponent(name)}`;

async function open(number) {
  if (number < 0 || number >= frames.length || !await isSaved()) return;
  const mine = ++turn, [name] = frames[number], image = new Image();
  image.src = addressOf(name);
  const next = new Frame(folder, name, image, trouble => { if (next === frame) show(trouble); });
  const loaded = await Promise.all([next.load(), image.decode().then(() => true, () => false)]);
  if (mine !== turn) return; // another was asked for since
  [at, frame, chosen, news] = [number, next, null, ''];
  get('number').value = number + 1;
  put('of', `of ${frames.length.toLocaleString('en')}`);
  put('name', name.split('/').pop());
  history.replaceState(null, '', `#${encodeURIComponent(name)}`);
  canvas.dataset.frame = name;
  if (!loaded[1]) say(`${name}: the picture cannot be shown; ignore it, or mend the file.`);
  view.isFitted = true;
  show();
  beat();
  if (frames[number + 1]) new Image().src = addressOf(frames[number + 1][0]);
}

// Tells the server which photo is open here, and hears which others are open elsewhere.
async function beat() {
  if (!frame || document.hidden) return;
  const headers = { 'X-Bakeoff': 'page', Accept: 'application/json' };
  const answer = await fetch(`/labels/${folder}/here`, { method: 'POST', headers, body: JSON.stringify({ tab, name: frame.name }) }).catch(() => null);
  if (!answer?.ok) return;
  const before = taken.join();
  ({ taken } = await answer.json());
  if (taken.join() !== before) show();
}

// Changes the frame, so that it can be undone, and saves it.
function change(work) {
  news = '';
  frame.remember();
  work();
  show();
  return store();
}

async function store() {
  const mine = frame, row = frames[at];
  const saved = await mine.save();
  row.splice(1, 2, mine.labelled, mine.proposals.length > 0);
  showCount();
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
    say('Name what the boxes show first: the field below the picture takes a class.');
    get('new-class').elements.label.focus();
    return null;
  }
  chosen = { label, score: null, ...box };
  frame.boxes.push(chosen);
  frame.labelled = true;
  return chosen;
}

function drop(box) {
  frame.boxes = frame.boxes.filter(one => one !== box);
  frame.proposals = frame.proposals.filter(one => one !== box);
  if (chosen === box) chosen = null;
}

const findUnlabelled = first => frames.findIndex((one, number) => number >= first && !one[1] && !taken.includes(one[0]));

const deeds = {
  before: () => open(at - 1),
  after: () => open(at + 1),
  cut: () => change(() => {
    for (const box of [...frame.boxes]) if (isOutside(box) && !settle(box, frame.image)) drop(box);
  }),
  unlabelled: async () => {
    if (!await isSaved()) return;
    let next = findUnlabelled(at + 1);
    if (next < 0) next = findUnlabelled(0);
    if (next < 0 || next === at) say(frames[at][1] ? 'Every photo that nobody else has open has a label.' : 'This is the last photo without a label.');
    else await open(next);
  },
  accept: async () => {
    const all = chosen && frame.proposals.includes(chosen) ? [chosen] : [...frame.proposals];
    if (!all.length) return;
    await change(() => all.forEach(own));
    if (!frame.proposals.length) await open(at + 1);
  },
  refuse: () => {
    if (!frame.proposals.length) return null;
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
  take: () => { copied = (chosen ? [chosen] : frame.boxes).map(box => ({ ...box })); },
  paste: () => copied.length && change(() => {
    for (const box of copied) {
      chosen = { ...box, score: null };
      const isThere = frame.boxes.some(one => one.xmin === box.xmin && one.ymin === box.ymin);
      if (isThere) shift(chosen, { ...chosen }, 12, 12, frame.image);
      frame.boxes.push(chosen);
    }
    frame.labelled = true;
  }),
  track: async () => {
    if (!await isSaved()) return;
    news = 'The tracker looks for the boxes …';
    show();
    const answer = await ask(`/labels/${folder}/track`, { json: { name: frame.name } });
    if (answer) await list(frame.name);
    news = answer ? `the tracker proposed ${count(answer.boxes, 'box', 'boxes')} in ${count(answer.frames.length, 'photo')}` : '';
    show();
  },
  undo: () => { chosen = null; frame.undo(); return store(); },
  redo: () => { chosen = null; frame.redo(); return store(); },
  remove: () => chosen && change(() => {
    drop(chosen);
    if (!frame.boxes.length) frame.labelled = false; // "nothing here" is said by its own key
  }),
  ignore: async () => {
    if (!await isSaved()) return;
    const following = frames[at + 1]?.[0] ?? frames[at - 1]?.[0];
    if (await ask(`/labels/${folder}/aside`, { json: { name: frame.name } })) await list(following);
  },
  larger: () => { view.zoom(1.25); show(); },
  smaller: () => { view.zoom(0.8); show(); },
  whole: () => { view.isFitted = true; show(); },
  create: () => {
    const { naturalWidth: wide, naturalHeight: high } = frame.image;
    return change(() => { if (add({ xmin: 0.4 * wide, ymin: 0.4 * high, xmax: 0.6 * wide, ymax: 0.6 * high })) settle(chosen, frame.image); });
  },
  leave: () => { chosen = null; show(); },
  cycle: () => {
    const all = [...frame.boxes, ...frame.proposals];
    chosen = all[(all.indexOf(chosen) + 1) % (all.length || 1)] ?? null;
    show();
  },
  help: () => { get('help').showModal(); },
};

const KEYS = {
  a: 'before', d: 'after', g: 'unlabelled', ' ': 'unlabelled', Enter: 'accept', r: 'refuse', v: 'nothing', c: 'copy', t: 'track', z: 'undo',
  y: 'redo', Escape: 'leave', Delete: 'remove', Backspace: 'remove', x: 'ignore', '+': 'larger', '=': 'larger', '-': 'smaller', 0: 'whole',
  b: 'create', n: 'cycle', '?': 'help', 'ctrl z': 'undo', 'ctrl shift z': 'redo', 'ctrl y': 'redo', 'ctrl c': 'take', 'ctrl v': 'paste',
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
  if (!frame) return;
  const plain = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  const isControl = event.ctrlKey || event.metaKey, key = isControl ? `ctrl ${event.shiftKey ? 'shift ' : ''}${plain}` : plain;
  const name = /^[1-9]$/.test(key) ? classes[key - 1] : null;
  if (name) choose(name);
  else if (ARROWS[key] && chosen) nudge(...ARROWS[key].map(way => way * (event.shiftKey ? 10 : 1)), event.altKey);
  else if (ARROWS[key]) work(ARROWS[key][0] + ARROWS[key][1] < 0 ? 'before' : 'after');
  else if (KEYS[key]) work(KEYS[key]);
  else return;
  event.preventDefault();
});

function nudge(x, y, isSize) {
  change(() => {
    const box = own(chosen);
    if (isSize) Object.assign(box, { xmax: box.xmax + x, ymax: box.ymax + y });
    else shift(box, { ...box }, x, y, frame.image);
    settle(box, frame.image);
  });
}

listen(canvas, view, {
  get frame() { return frame; },
  get chosen() { return chosen; },
  begin: () => { isDragging = true; frame.remember(); },
  add,
  own,
  show,
  choose: box => { chosen = box; show(); },
  cancel: () => { isDragging = false; chosen = null; Object.assign(frame, frame.past.pop()); show(); },
  done: (box, isKept) => {
    isDragging = false;
    if (!isKept) drop(box);
    show();
    store();
  },
});

editor.addEventListener('click', event => {
  const button = event.target.closest('[data-do]');
  if (!button) return;
  work(button.dataset.do);
  if (button.dataset.do !== 'help') canvas.focus({ preventScroll: true });
});
get('number').addEventListener('change', event => open(clamp(parseInt(event.target.value, 10) || 1, 1, frames.length) - 1));
get('new-class').addEventListener('submit', event => {
  event.preventDefault();
  addClass(event.target.elements.label.value.trim(), false);
});

// Of a class that looks like another one the server asks first, for two spellings are two classes.
async function addClass(name, sure) {
  const answer = await ask(`/labels/${folder}/classes`, { json: { label: name, sure } });
  if (!answer) return;
  if (answer.slip_of) {
    offer(`“${name}” looks like “${answer.slip_of}”, which is there already.`, [
      [`Use “${answer.slip_of}”`, () => takeClass(answer.classes, answer.slip_of)], [`Add “${name}”, too`, () => addClass(name, true)],
    ]);
    return;
  }
  takeClass(answer.classes, name);
}

function takeClass(known, name) {
  classes = known;
  get('new-class').elements.label.value = '';
  showClasses();
  choose(name);
  canvas.focus();
}

new ResizeObserver(() => show()).observe(canvas);
setInterval(beat, 1000 * SECONDS_BETWEEN_BEATS);
addEventListener('online', () => frame?.saving.then(isDone => isDone || frame.save()));

await sendDrafts(folder);
await list(decodeURIComponent(location.hash.slice(1)));
canvas.focus({ preventScroll: true });
