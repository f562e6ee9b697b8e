// What part of a picture the canvas shows: pixels of the picture <-> pixels of the screen.
const MOST = 40, MARGIN = 12;

export class View {
  constructor(canvas) {
    Object.assign(this, { canvas, scale: 1, left: 0, top: 0, isFitted: true });
  }

  // Shows the whole picture as large as it can be.
  fit(image) {
    const { clientWidth: wide, clientHeight: high } = this.canvas;
    this.scale = Math.min((wide - 2 * MARGIN) / image.naturalWidth, (high - 2 * MARGIN) / image.naturalHeight);
    this.left = (wide - image.naturalWidth * this.scale) / 2;
    this.top = (high - image.naturalHeight * this.scale) / 2;
    this.isFitted = true;
  }

  // What is at a place of the screen stays there.
  zoom(times, x = this.canvas.clientWidth / 2, y = this.canvas.clientHeight / 2) {
    const scale = Math.min(MOST, Math.max(0.02, this.scale * times)), by = scale / this.scale;
    Object.assign(this, { scale, left: x - (x - this.left) * by, top: y - (y - this.top) * by, isFitted: false });
  }

  move(x, y) {
    this.left += x;
    this.top += y;
    this.isFitted = false;
  }

  toPicture = (x, y) => [(x - this.left) / this.scale, (y - this.top) / this.scale];

  toScreen = (x, y) => [x * this.scale + this.left, y * this.scale + this.top];
}
