// A click on a heading sorts a table of runs; rows without a value stay below, whichever way.
for (const button of document.querySelectorAll('.runs th button')) button.addEventListener('click', () => {
  const head = button.parentElement, table = head.closest('table'), body = table.tBodies[0];
  const at = [...head.parentElement.children].indexOf(head);
  const down = head.getAttribute('aria-sort') ? head.getAttribute('aria-sort') === 'ascending' : 'down' in head.dataset;
  const value = row => row.cells[at].dataset.value;
  const both = (one, other) => isNaN(one) || isNaN(other) ? one.localeCompare(other) : one - other;
  const rows = [...body.rows].sort((one, other) => {
    const a = value(one), b = value(other);
    if (a === undefined || b === undefined) return (a === undefined) - (b === undefined);
    return down ? both(b, a) : both(a, b);
  });
  for (const other of head.parentElement.children) other.removeAttribute('aria-sort');
  head.setAttribute('aria-sort', down ? 'descending' : 'ascending');
  body.append(...rows);
});

// All trials at once: resting the pointer on a line says which trial it is; drawing along an axis leaves those that
// pass there. Without the script the lines are a picture, and their titles say the same.
for (const svg of document.querySelectorAll('svg.lines')) {
  document.documentElement.classList.add('has-script');
  const tip = document.querySelector('.tip'), above = svg.querySelector('.above');
  const output = document.querySelector('.legend output'), all = document.querySelector('.legend .all');
  const trials = [...svg.querySelectorAll('.trial[data-at]')].map(line => {
    const title = line.querySelector('title'), text = title.textContent;
    title.remove();
    return { line, text, points: line.getAttribute('points').split(' ').map(pair => pair.split(',').map(Number)) };
  });
  const xs = trials[0].points.map(point => point[0]), ranges = new Map();
  const at = event => {
    const box = svg.getBoundingClientRect(), view = svg.viewBox.baseVal;
    return [(event.clientX - box.left) * view.width / box.width, (event.clientY - box.top) * view.height / box.height];
  };
  const hide = () => { tip.hidden = true; above.setAttribute('points', ''); };
  const show = (trial, event) => {
    above.setAttribute('points', trial.line.getAttribute('points'));
    tip.textContent = trial.text;
    tip.hidden = false;
    const right = event.clientX + 18 + tip.offsetWidth > innerWidth;
    tip.style.left = Math.max(4, right ? event.clientX - 14 - tip.offsetWidth : event.clientX + 18) + 'px';
    tip.style.top = Math.max(4, Math.min(event.clientY + 14, innerHeight - tip.offsetHeight - 6)) + 'px';
  };
  const nearest = (x, y) => {
    const after = Math.min(xs.length - 1, Math.max(1, xs.findIndex(other => other >= x)));
    const share = Math.min(1, Math.max(0, (x - xs[after - 1]) / (xs[after] - xs[after - 1])));
    let best = null, least = 14;
    for (const trial of trials) {
      if (trial.line.classList.contains('out')) continue;
      const from = trial.points[after - 1][1], to = trial.points[after][1];
      const slope = Math.hypot(xs[after] - xs[after - 1], to - from) / (xs[after] - xs[after - 1]);
      const away = Math.abs(from + (to - from) * share - y) / slope;
      if (away < least) { least = away; best = trial; }
    }
    return best;
  };
  const filter = () => {
    let left = 0;
    for (const trial of trials) {
      const passes = [...ranges].every(([axis, [top, bottom]]) => {
        const y = trial.points[axis][1];
        return y >= top && y <= bottom;
      });
      trial.line.classList.toggle('out', !passes);
      left += passes;
    }
    all.hidden = !ranges.size;
    output.textContent = ranges.size ? left + ' of ' + trials.length : '';
  };
  let drawn = null;
  const brushes = [...svg.querySelectorAll('.brush')];
  const draw = (axis, range) => {
    if (range) ranges.set(axis, range); else ranges.delete(axis);
    brushes[axis].setAttribute('y', range ? range[0] : 0);
    brushes[axis].setAttribute('height', range ? range[1] - range[0] : 0);
    filter();
  };
  [...svg.querySelectorAll('.grip')].forEach((grip, axis) => grip.addEventListener('pointerdown', event => {
    drawn = { axis, from: at(event)[1] };
    svg.setPointerCapture(event.pointerId);
    event.preventDefault();
  }));
  svg.addEventListener('pointermove', event => {
    const [x, y] = at(event);
    if (drawn) {
      hide();
      draw(drawn.axis, [Math.min(drawn.from, y), Math.max(drawn.from, y)]);
      return;
    }
    const trial = nearest(x, y);
    if (trial) show(trial, event); else hide();
  });
  svg.addEventListener('pointerup', event => {
    if (drawn && Math.abs(at(event)[1] - drawn.from) < 4) draw(drawn.axis, null);
    drawn = null;
  });
  svg.addEventListener('pointercancel', () => { drawn = null; });
  svg.addEventListener('pointerleave', hide);
  all.addEventListener('click', () => { for (const axis of [...ranges.keys()]) draw(axis, null); });
}
