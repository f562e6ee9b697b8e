// The boxes of one photo, what was done and undone, and how they are saved: at once, one request after the other.
// Until the server has a change, the browser keeps it, over a crash of either.
import { ask, say } from './page_actions.js';

const copy = state => JSON.parse(JSON.stringify({ boxes: state.boxes, proposals: state.proposals, labelled: state.labelled }));
const same = (one, other) => JSON.stringify(copy(one)) === JSON.stringify(copy(other));
const PREFIX = 'bakeoff-draft ';
const addressOf = (folder, name) => `/labels/${folder}/frame?name=${encodeURIComponent(name)}`;

export class Frame {
  constructor(folder, name, image, changed) {
    Object.assign(this, { folder, name, image, changed, boxes: [], proposals: [], labelled: false, version: '', past: [], future: [] });
    this.saving = Promise.resolve(true);
    this.key = `${PREFIX}${folder} ${name}`;
  }

  async load() {
    const tree = await ask(addressOf(this.folder, this.name), { method: 'GET' });
    if (!tree) return false;
    this.take(tree);
    const draft = readDraft(this.key);
    if (draft && same(draft, this)) localStorage.removeItem(this.key);
    else if (draft && draft.version === this.version) this.restore(draft);
    else if (draft) {
      this.past.push(copy(draft));
      say('This photo has other boxes now than those that you drew last and that were not saved. Undo (Z) puts yours in their place.');
    }
    return true;
  }

  take({ boxes, proposals, labelled, version }) {
    Object.assign(this, { boxes, proposals, labelled, version });
    this.changed();
  }

  restore(draft) {
    this.remember();
    Object.assign(this, copy(draft));
    this.changed();
    this.save();
  }

  // Remembers how it is before a change, so that it can be undone.
  remember() {
    this.past.push(copy(this));
    if (this.past.length > 200) this.past.shift();
    this.future = [];
  }

  undo() { this.step(this.past, this.future); }

  redo() { this.step(this.future, this.past); }

  step(from, to) {
    const state = from.pop();
    if (!state) return;
    to.push(copy(this));
    Object.assign(this, state);
    this.changed();
  }

  save() {
    this.keep();
    this.saving = this.saving.then(() => this.send());
    return this.saving;
  }

  get json() {
    return { ...copy(this), version: this.version, size: [this.image.naturalWidth, this.image.naturalHeight] };
  }

  keep() {
    try {
      localStorage.setItem(this.key, JSON.stringify(this.json));
    } catch {
      // A browser without room keeps nothing; the server still gets it.
    }
  }

  async send() {
    const { json } = this;
    let theirs = null;
    const answer = await ask(addressOf(this.folder, this.name), { method: 'PUT', json, refused: (tree, code) => { if (code === 409) theirs = tree; } });
    if (theirs && same(theirs, json)) { // it had come, and the answer was lost
      this.version = theirs.version;
      say('');
    } else if (theirs) {
      this.past.push(copy(json));
      this.take(theirs);
      say('Somebody else has changed this photo in between, and theirs is shown. Undo (Z) puts yours in its place.');
    } else if (answer) this.version = answer.version;
    else this.changed('not saved yet');
    if ((answer || theirs) && same(json, this)) localStorage.removeItem(this.key);
    else if (answer) this.keep(); // it has changed since, from the version that is there now
    return Boolean(answer || theirs);
  }
}

function readDraft(key) {
  try {
    return JSON.parse(localStorage.getItem(key));
  } catch {
    return null;
  }
}

// Sends what an earlier page of this folder could not save, of photos whose labels are still what they were then.
export async function sendDrafts(folder) {
  const keys = Object.keys(localStorage).filter(key => key.startsWith(`${PREFIX}${folder} `));
  for (const key of keys) {
    const draft = readDraft(key), name = key.slice(`${PREFIX}${folder} `.length);
    let theirs = null;
    const answer = draft && await ask(addressOf(folder, name), { method: 'PUT', json: draft, refused: (tree, code) => { if (code === 409) theirs = tree; } });
    if (theirs) say('');
    if (answer || (theirs && same(theirs, draft))) localStorage.removeItem(key);
  }
}
