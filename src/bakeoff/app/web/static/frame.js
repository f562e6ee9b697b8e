// The boxes of one frame, what was undone of them, and how they are saved: at once, one request after the other.
import { ask, say } from './page_actions.js';

const copy = state => JSON.parse(JSON.stringify({ boxes: state.boxes, proposals: state.proposals, labelled: state.labelled }));

export class Frame {
  constructor(folder, name, image, changed) {
    Object.assign(this, { folder, name, image, changed, boxes: [], proposals: [], labelled: false, version: '', past: [] });
    this.saving = Promise.resolve(true);
  }

  get address() {
    return `/labels/${this.folder}/frame?name=${encodeURIComponent(this.name)}`;
  }

  async load() {
    const tree = await ask(this.address, { method: 'GET' });
    if (tree) this.take(tree);
    return Boolean(tree);
  }

  take({ boxes, proposals, labelled, version }) {
    Object.assign(this, { boxes, proposals, labelled, version });
    this.changed();
  }

  // Remembers how it is before a change, so that it can be undone.
  remember() {
    this.past.push(copy(this));
    if (this.past.length > 200) this.past.shift();
  }

  undo() {
    const before = this.past.pop();
    if (!before) return;
    Object.assign(this, before);
    this.changed();
    this.save();
  }

  save() {
    this.saving = this.saving.then(() => this.send());
    return this.saving;
  }

  async send() {
    const mine = copy(this);
    const json = { ...mine, version: this.version, size: [this.image.naturalWidth, this.image.naturalHeight] };
    let theirs = null;
    const answer = await ask(this.address, { method: 'PUT', json, refused: (tree, code) => { if (code === 409) theirs = tree; } });
    if (answer) this.version = answer.version;
    else if (!theirs) this.changed('not saved');
    if (theirs) {
      this.past.push(mine);
      this.take(theirs);
      say('Somebody else has changed this frame in between, and theirs is shown. Undo (Z) puts yours in its place.');
    }
    return Boolean(answer);
  }
}
