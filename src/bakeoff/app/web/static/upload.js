// A file -> the server, piece by piece; what has come of it already is not sent again.
import { ask, say } from './page_actions.js';

const PIECE = 8 * 2 ** 20;

const SECONDS_BETWEEN_TRIES = 2;

// Does some work until the server answers: a phone sleeps, a network breaks off, a server begins anew. `work` gets an
// `ask` that throws where there is no answer, and returns { tree, refused, code }.
export async function insist(work) {
  for (;;) {
    try {
      return await work(askOnce);
    } catch (error) {
      if (error !== NO_ANSWER) throw error;
    }
    await waitForServer();
  }
}

// Says once that the connection is gone, and returns when it is back.
async function waitForServer() {
  say('The connection is gone. The rest follows by itself when it is back; keep this page open.');
  let isBack = false;
  while (!isBack) {
    await new Promise(done => {
      setTimeout(done, 1000 * SECONDS_BETWEEN_TRIES);
      addEventListener('online', done, { once: true });
    });
    isBack = await fetch('/static/upload.js', { method: 'HEAD', cache: 'no-store' }).then(() => true, () => false);
  }
}

const NO_ANSWER = Symbol('no answer');

async function askOnce(address, options) {
  let refusal = null;
  const tree = await ask(address, { ...options, refused: (refused, code) => { refusal = { refused, code }; } });
  if (!tree && !refusal) throw NO_ANSWER;
  if (refusal) say(''); // whoever asks says it in its place
  return { tree, refused: null, code: 200, ...refusal };
}

// Sends a file; returns why the server does not take it, or null. `tell` gets how many bytes are there.
export async function send(asks, key, file, name, tell = () => {}) {
  const address = `/uploads/${key}/${name.split('/').map(encodeURIComponent).join('/')}`;
  let offset = 0;
  do {
    const answer = await asks(`${address}?offset=${offset}&size=${file.size}`, {
      method: 'PUT', body: file.slice(offset, offset + PIECE),
    });
    const { offset: here } = answer.tree ?? answer.refused;
    if (here === undefined) return answer;
    offset = here;
    tell(offset);
  } while (offset < file.size);
  return null;
}

// The same files have the same key, so that sending them again resumes where it broke off.
export function keyOf(files) {
  const text = files.map(({ file, path }) => `${path} ${file.size} ${file.lastModified}`).join('\n');
  let hash = 0xcbf29ce484222325n;
  for (const byte of new TextEncoder().encode(text)) hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n);
  return `up-${hash.toString(16).padStart(16, '0')}`;
}

// The digest of a file's bytes. Browsers compute it on this machine's own page alone; elsewhere names and sizes count.
export async function digestOf(file) {
  if (!crypto.subtle) return '';
  const digest = await crypto.subtle.digest('SHA-256', await file.arrayBuffer());
  return Array.from(new Uint8Array(digest), byte => byte.toString(16).padStart(2, '0')).join('');
}

// The files of a drop, those in folders too, each with its path.
export async function filesOf(transfer) {
  const found = [];
  const walk = async entry => {
    if (entry.isFile) {
      const file = await new Promise((done, fail) => { entry.file(done, fail); });
      found.push({ file, path: entry.fullPath.slice(1) });
      return;
    }
    const reader = entry.createReader();
    for (;;) { // a browser gives a hundred names at a time
      const entries = await new Promise((done, fail) => { reader.readEntries(done, fail); });
      if (!entries.length) return;
      for (const one of entries) await walk(one);
    }
  };
  for (const entry of [...transfer.items].map(item => item.webkitGetAsEntry?.()).filter(Boolean)) await walk(entry);
  return found;
}

// Whether this browser can show a file as a picture.
export const canRead = file => createImageBitmap(file, { resizeWidth: 1, resizeHeight: 1 }).then(() => true, () => false);

// Another picture of the same: as a JPEG of at most so many pixels, if this browser can read the file.
export async function convert(file, most = 4096) {
  const image = await createImageBitmap(file), scale = Math.min(1, most / Math.max(image.width, image.height));
  const canvas = document.createElement('canvas');
  canvas.width = Math.round(image.width * scale);
  canvas.height = Math.round(image.height * scale);
  canvas.getContext('2d').drawImage(image, 0, 0, canvas.width, canvas.height);
  const blob = await new Promise(done => { canvas.toBlob(done, 'image/jpeg', 0.92); });
  return new File([blob], `${file.name.replace(/\.\w+$/, '')}.jpg`, { type: 'image/jpeg', lastModified: file.lastModified });
}
