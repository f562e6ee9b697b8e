// What mouse, pen and fingers do on the canvas: choose, draw, move, resize; zoom and move the picture.
import { boxAt, gripAt, isInside, settle, shift } from './drawing.js';

const REACH = { mouse: 9, pen: 14, touch: 22 }; // pixels of the screen around a handle
const MOVED = { mouse: 3, pen: 5, touch: 8 }; // from which on a press is a drag

// `editor` has frame, chosen, add(box), own(box), begin(), done(box, isKept), choose(box) and show().
export function listen(canvas, view, editor) {
  const fingers = new Map();
  let drag = null, pinch = null, isPanning = false;

  const place = event => {
    const frame = canvas.getBoundingClientRect();
    return [event.clientX - frame.left, event.clientY - frame.top];
  };

  const startPinch = () => {
    if (drag?.isMoved) editor.cancel();
    drag = null;
    const [one, other] = [...fingers.values()];
    pinch = { apart: Math.hypot(one[0] - other[0], one[1] - other[1]), x: (one[0] + other[0]) / 2, y: (one[1] + other[1]) / 2 };
  };

  canvas.addEventListener('pointerdown', event => {
    if (!editor.frame) return;
    canvas.focus({ preventScroll: true });
    canvas.setPointerCapture(event.pointerId);
    const [x, y] = place(event);
    if (event.pointerType === 'touch') fingers.set(event.pointerId, [x, y]);
    if (fingers.size === 2) {
      startPinch();
      return;
    }
    if (fingers.size > 2) return;
    isPanning = event.button > 0 || event.getModifierState('Control');
    const [left, top] = view.toPicture(x, y), { chosen } = editor;
    const grip = isPanning || event.shiftKey ? null : gripAt(chosen, x, y, view, REACH[event.pointerType] ?? REACH.mouse);
    const isOnChosen = !event.shiftKey && chosen && isInside(chosen, left, top);
    drag = { x, y, left, top, grip, box: grip || isOnChosen ? chosen : null, before: chosen && { ...chosen }, isMoved: false };
  });

  canvas.addEventListener('pointermove', event => {
    const [x, y] = place(event);
    if (fingers.has(event.pointerId)) fingers.set(event.pointerId, [x, y]);
    if (pinch && fingers.size === 2) {
      const before = pinch;
      startPinch();
      view.zoom(pinch.apart / (before.apart || 1), pinch.x, pinch.y);
      view.move(pinch.x - before.x, pinch.y - before.y);
      editor.show();
      return;
    }
    if (!drag) return;
    if (isPanning) {
      view.move(x - drag.x, y - drag.y);
      Object.assign(drag, { x, y });
      editor.show();
      return;
    }
    if (!drag.isMoved && Math.hypot(x - drag.x, y - drag.y) < (MOVED[event.pointerType] ?? MOVED.mouse)) return;
    const [left, top] = view.toPicture(x, y);
    if (!drag.isMoved) {
      editor.begin();
      if (drag.box) editor.own(drag.box);
      else {
        drag.box = editor.add({ xmin: drag.left, ymin: drag.top, xmax: drag.left, ymax: drag.top });
        drag.grip = ['xmax', 'ymax'];
      }
      drag.isMoved = true;
    }
    if (!drag.box) return;
    if (drag.grip) Object.assign(drag.box, drag.grip[0] && { [drag.grip[0]]: left }, drag.grip[1] && { [drag.grip[1]]: top });
    else shift(drag.box, drag.before, left - drag.left, top - drag.top, editor.frame.image);
    editor.show();
  });

  const end = event => {
    fingers.delete(event.pointerId);
    if (fingers.size < 2) pinch = null;
    const done = drag;
    drag = null;
    if (!done || isPanning) return;
    if (!done.isMoved) editor.choose(boxAt(editor.frame, done.left, done.top));
    else if (done.box) editor.done(done.box, settle(done.box, editor.frame.image));
    else editor.cancel();
  };
  canvas.addEventListener('pointerup', end);
  canvas.addEventListener('pointercancel', event => {
    if (drag?.isMoved) editor.cancel();
    drag = null;
    end(event);
  });
  canvas.addEventListener('contextmenu', event => event.preventDefault());
  canvas.addEventListener('wheel', event => {
    event.preventDefault();
    const [x, y] = place(event);
    view.zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0015)), x, y);
    editor.show();
  }, { passive: false });
}
