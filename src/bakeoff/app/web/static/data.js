// Counts of datasets, which come after the page; uploads, piece by piece.
import { ask, makeKey, once, say } from './page_actions.js';

const PIECE = 8 * 2 ** 20;

for (const place of document.querySelectorAll('[data-load]')) {
  fetch(place.dataset.load).then(answer => answer.text()).then(html => { place.innerHTML = html; })
    .catch(() => { place.textContent = 'The server does not answer.'; });
}

const bring = document.getElementById('bring'), bar = document.getElementById('sent'), words = document.getElementById('sent-words');

// The same files have the same key, so that sending them again resumes where it broke off.
async function keyOf(files) {
  const text = files.map(file => `${file.webkitRelativePath || file.name} ${file.size} ${file.lastModified}`).join('\n');
  let hash = 0xcbf29ce484222325n;
  for (const byte of new TextEncoder().encode(text)) hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n);
  return `up-${hash.toString(16).padStart(16, '0')}`;
}

async function send(key, file, name, tell) {
  const address = `/uploads/${key}/${name.split('/').map(encodeURIComponent).join('/')}`;
  const there = await ask(address, { method: 'GET' });
  if (!there) return false;
  let { offset } = there;
  do {
    let moved = null;
    const answer = await ask(`${address}?offset=${offset}&size=${file.size}`, {
      method: 'PUT', body: file.slice(offset, offset + PIECE), refused: tree => { moved = tree.offset ?? null; },
    });
    if (!answer && moved === null) return false;
    if (!answer) say('');
    offset = answer ? answer.offset : moved;
    tell(offset);
  } while (offset < file.size);
  return true;
}

bring.addEventListener('submit', event => {
  event.preventDefault();
  const folder = [...bring.elements.folder.files], [file] = bring.elements.file.files;
  const files = folder.length ? folder : file ? [file] : [];
  if (!files.length) {
    say('Choose a zip, a film or a folder first.');
    return;
  }
  const visible = files.filter(one => !(one.webkitRelativePath || one.name).split('/').some(part => part.startsWith('.')));
  once(bring.querySelector('[type=submit]'), async () => {
    const key = await keyOf(visible), total = visible.reduce((sum, one) => sum + one.size, 0) || 1;
    let done = 0;
    bar.hidden = false;
    for (const one of visible) {
      const before = done;
      const tell = offset => {
        bar.value = (before + offset) / total;
        words.textContent = `${Math.round(100 * bar.value)} % of ${(total / 1e6).toFixed(1)} MB`;
      };
      if (!await send(key, one, one.webkitRelativePath || one.name, tell)) return;
      done += one.size;
    }
    const name = folder.length ? visible[0].webkitRelativePath.split('/')[0] : file.name;
    const answer = await ask('/data-import', {
      json: { key: makeKey(), upload: key, file: name, name: bring.elements.called.value, every: bring.elements.every.value },
    });
    if (answer) location.assign(answer.goto);
  });
});
