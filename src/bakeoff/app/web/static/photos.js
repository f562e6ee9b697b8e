// Photos one by one into a set, each shown as soon as it is there; zips, films and folders with labels as a whole.
import { ask, makeKey, once, say } from './page_actions.js';
import { canRead, convert, digestOf, filesOf, insist, keyOf, send } from './upload.js';

const AT_ONCE = 3; // photos on their way; two cores decode
const ASKED = 200; // files of which the server is asked at once whether it has them
const IMAGE = /\.(jpe?g|jpe|jfif|png|gif|bmp|webp|tiff?|mpo|ppm|pgm|hei[cf]|avif)$/i;
const LABELS = /\.(xml|json|txt|csv|ya?ml|tfrecord|record)$/i;
const get = id => document.getElementById(id);
const bring = get('bring'), called = get('called'), words = get('sent-words'), bar = get('sent');
const NO_ROOM = 507; // the server's answer where its disk is full
let isNamed = false; // by the person

const count = (number, one, many = `${one}s`) => `${number.toLocaleString('en')} ${number === 1 ? one : many}`;
const isFilm = file => file.type.startsWith('video/') || /\.(mp4|m4v|mkv|avi|mov|webm)$/i.test(file.name);
const isZip = file => /\.zip$/i.test(file.name);
const isHidden = path => path.split('/').some(part => part.startsWith('.') || part === 'Thumbs.db' || part === 'desktop.ini');

// Decides by the names what was chosen: photos alone, or a dataset, a zip or a film, which a command reads as a whole.
async function take(files) {
  const visible = files.filter(({ path }) => !isHidden(path));
  if (!visible.length || !called.reportValidity()) return;
  get('coming').hidden = false;
  const single = visible.filter(({ file }) => isZip(file) || isFilm(file));
  for (const one of single) await importWhole([one], one.file.name);
  const others = visible.filter(one => !single.includes(one));
  const folders = new Set(others.filter(({ path }) => IMAGE.test(path)).map(({ path }) => path.replace(/\/?[^/]*$/, '')));
  const [top] = others[0]?.path.split('/') ?? [];
  const isDataset = others.some(({ path }) => LABELS.test(path)) || folders.size > 1;
  if (isDataset && others.every(({ path }) => path.startsWith(`${top}/`))) {
    await importWhole(others, top);
  } else if (others.length) {
    if (!isNamed && folders.size === 1 && [...folders][0]) called.value = nameOf([...folders][0].split('/').pop());
    await takePhotos(others);
  }
}

const nameOf = text => text.replace(/[^A-Za-z0-9_-]+/g, '_').replace(/^[^A-Za-z]+/, '') || 'photos';

async function importWhole(files, name) {
  const key = keyOf(files), total = files.reduce((sum, { file }) => sum + file.size, 0) || 1;
  let done = 0;
  for (const { file, path } of files) {
    const before = done;
    const tell = offset => {
      bar.value = (before + offset) / total;
      words.textContent = `${name}: ${Math.round(100 * bar.value)} % of ${(total / 1e6).toFixed(1)} MB`;
    };
    const refusal = await insist(asks => send(asks, key, file, path, tell));
    if (refusal) {
      say(refusal.refused.problem);
      return;
    }
    done += file.size;
  }
  await importSent(key, name);
}

async function importSent(key, name) {
  const json = { key: makeKey(), upload: key, file: name, name: isNamed ? called.value : '', every: get('every').value };
  const answer = await ask('/data-import', { json });
  if (answer) location.assign(answer.goto);
}

async function takePhotos(files) {
  const set = called.value.trim(), counts = { new: 0, here: 0, marked: 0, wrong: 0 }, rest = [], unread = [];
  let full = null; // what the server says where its disk is full
  const show = () => {
    const done = counts.new + counts.here + counts.wrong;
    bar.value = done / files.length;
    words.textContent = [
      `${done.toLocaleString('en')} of ${count(files.length, 'photo')}`, counts.here && `${counts.here} here already`,
      counts.marked && `${counts.marked} to look at: alike or blurred`, counts.wrong && `${counts.wrong} not taken`,
    ].filter(Boolean).join(' · ');
  };
  show();
  addEventListener('beforeunload', warn);
  try {
    for (let first = 0; first < files.length; first += ASKED) {
      const part = files.slice(first, first + ASKED), known = await findKnown(set, part);
      if (known === null) return;
      if (full) {
        rest.push(...part.filter((one, number) => !known.has(number)));
        continue;
      }
      counts.here += known.size;
      const queue = part.filter((one, number) => !known.has(number));
      show();
      await Promise.all(Array.from({ length: AT_ONCE }, async () => {
        for (let one = queue.shift(); one; one = queue.shift()) {
          const refusal = await takeOne(set, one, counts);
          if (refusal?.code === NO_ROOM) {
            full = refusal.refused;
            rest.push(one, ...queue.splice(0));
            return;
          }
          if (refusal?.refused.remedy === 'convert') unread.push({ ...one, problem: refusal.refused.problem });
          else if (refusal) addTrouble(`${refusal.refused.problem} `, remedies(set, one, refusal.refused.remedy));
          counts.wrong += refusal ? 1 : 0;
          show();
        }
      }));
    }
    if (full) addTrouble(`${count(rest.length, 'photo')} did not come: ${full.problem} `, [['Send the rest', () => { takePhotos(rest); }]]);
    if (unread.length) await offerJpegs(unread);
  } finally {
    removeEventListener('beforeunload', warn);
  }
  get('marked').href = `/photos/${encodeURIComponent(set)}?marked=yes`;
  get('marked').hidden = !counts.marked;
  get('on').href = `/labels/${encodeURIComponent(set)}`;
  get('on').hidden = !(counts.new + counts.here);
  if (!get('on').hidden) bring.querySelector('label.main')?.classList.remove('main'); // the next step is the prominent one
  get('on').focus();
}

const warn = event => event.preventDefault();

async function findKnown(set, files) {
  const described = [];
  for (const { file } of files) described.push({ name: file.name, size: file.size, digest: await digestOf(file) });
  const answer = await insist(asks => asks('/photos/known', { json: { set, files: described } }));
  if (answer.refused) say(answer.refused.problem);
  return answer.tree && new Set(answer.tree.known);
}

// Returns the answer that refuses a photo, or null. After a break all of it is done anew: what is there already is
// found by its digest.
async function takeOne(set, { file, path }, counts) {
  const key = keyOf([{ file, path }]);
  const answer = await insist(async asks => {
    await file.slice(0, 1).arrayBuffer(); // fails where the file is gone, which sending does not tell from a break
    return await send(asks, key, file, file.name) ?? asks('/photos/take', { json: { set, upload: key, file: file.name } });
  }).catch(() => ({ refused: { problem: `${file.name}: is gone, or has changed since it was chosen.` } }));
  if (answer.refused) return answer;
  counts[answer.tree.new ? 'new' : 'here'] += 1;
  if (answer.tree.new && answer.tree.marks.length) counts.marked += 1;
  if (answer.tree.new) addTile(set, answer.tree);
  return null;
}

// Photos that must be JPEGs first: this browser makes them, if it can read the first one.
async function offerJpegs(unread) {
  const [{ file, problem }] = unread, others = unread.length - 1;
  const which = others ? `${problem} The same goes for ${others.toLocaleString('en')} more. ` : `${problem} `;
  if (!await canRead(file)) {
    addTrouble(`${which}This browser cannot read ${others ? 'them' : 'it'}: choose the photos on the iPhone itself, which then sends JPEGs, or save them as JPEG first. `, [
      ['Choose JPEGs', () => { get('jpeg').click(); return true; }],
    ]);
    return;
  }
  addTrouble(which, [[`Convert ${others ? 'them' : 'it'} here`, async () => {
    const made = [];
    for (const one of unread) {
      const jpeg = await convert(one.file).catch(() => null);
      if (jpeg) made.push({ file: jpeg, path: jpeg.name });
      else addTrouble(`${one.file.name}: this browser cannot read it. `, [['Choose another', () => { get('photos').click(); return true; }]]);
    }
    takePhotos(made);
  }]]);
}

function remedies(set, { file, path }, remedy) {
  const key = keyOf([{ file, path }]), json = { upload: key, file: file.name };
  return {
    film: [['Take pictures out of it', async () => {
      const named = await ask('/photos/film', { json });
      if (named) await importSent(key, named.file);
    }]],
    zip: [['Unpack it', () => importSent(key, file.name)]],
  }[remedy] ?? [['Choose another', () => { get('photos').click(); return true; }]];
}

function addTrouble(text, buttons) {
  const item = document.createElement('li');
  item.append(text, ...buttons.map(([name, work]) => {
    const button = document.createElement('button');
    Object.assign(button, { type: 'button', textContent: name });
    button.addEventListener('click', () => once(button, async () => { if (await work() !== false) item.remove(); }));
    return button;
  }));
  get('troubles').append(item);
}

function addTile(set, { photo, marks }) {
  const item = document.createElement('li'), image = new Image(), caption = document.createElement('p'), file = document.createElement('span');
  Object.assign(image, { loading: 'lazy', alt: photo, src: `/photos/${encodeURIComponent(set)}/small?name=${encodeURIComponent(photo)}` });
  caption.className = 'caption';
  Object.assign(file, { className: 'file', textContent: photo.split('/').pop(), title: photo.split('/').pop() });
  caption.append(file);
  item.append(image, caption);
  for (const mark of marks) {
    const strong = document.createElement('strong');
    Object.assign(strong, { className: 'wrong', textContent: mark });
    caption.append(strong);
  }
  if (marks.length) {
    const button = document.createElement('button');
    item.className = 'marked';
    Object.assign(button, { type: 'button', textContent: 'Leave it out' });
    button.addEventListener('click', () => once(button, async () => {
      if (await ask(`/labels/${encodeURIComponent(set)}/aside`, { json: { name: photo } })) item.remove();
    }));
    item.append(button);
  }
  get('tiles').prepend(item);
}

const wrap = files => [...files].map(file => ({ file, path: file.webkitRelativePath || file.name }));
called.addEventListener('input', () => { isNamed = true; });
for (const id of ['photos', 'camera', 'folder', 'file', 'jpeg']) {
  get(id).addEventListener('change', async event => {
    const files = wrap(event.target.files);
    await once(bring, () => take(files));
    event.target.value = '';
  });
}
bring.addEventListener('submit', event => event.preventDefault());
addEventListener('dragover', event => { event.preventDefault(); bring.classList.add('over'); });
addEventListener('dragleave', event => { if (!event.relatedTarget) bring.classList.remove('over'); });
addEventListener('drop', async event => {
  event.preventDefault();
  bring.classList.remove('over');
  const files = await filesOf(event.dataTransfer);
  once(bring, () => take(files));
});
