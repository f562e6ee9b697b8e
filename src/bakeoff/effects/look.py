"""How the plots look, and what a pointer does on them; without the script they are pictures."""

STYLE = """
:root { --k0: #c9cfdb; --k1: #b0bed6; --k2: #90abd2; --k3: #6f97cd; --k4: #4f81c4; --k5: #3568b0; --k6: #214e93;
 --k7: #123672; --best: #e0700a; --undone: #a33 }
@media (prefers-color-scheme: dark) { :root { --k0: #3b434f; --k1: #44546b; --k2: #4b6689; --k3: #547ba9;
 --k4: #6192c9; --k5: #7aabe4; --k6: #a3c8f4; --k7: #d5e7ff; --best: #ff9d3c; --undone: #e08080 } }
.lines { touch-action: none; margin-top: .5rem } .lines text, .effect text { font: 13px system-ui, sans-serif;
 fill: var(--ink) } .lines text { paint-order: stroke; stroke: var(--paper); stroke-width: 4px; stroke-linejoin: round;
 pointer-events: none }
.lines .name { fill: var(--soft) } .lines .name.own { fill: var(--ink); font-weight: 600 }
.lines .note, .effect .note { fill: var(--soft); font-size: 11px }
.trial { fill: none; stroke-width: 1.6; stroke-linejoin: round; opacity: .85 }
.trial.k0 { stroke: var(--k0) } .trial.k1 { stroke: var(--k1) } .trial.k2 { stroke: var(--k2) }
.trial.k3 { stroke: var(--k3) } .trial.k4 { stroke: var(--k4) } .trial.k5 { stroke: var(--k5) }
.trial.k6 { stroke: var(--k6) } .trial.k7 { stroke: var(--k7) }
.trial.best { stroke: var(--best); stroke-width: 3; opacity: 1 }
.trial.undone { stroke: var(--undone); stroke-dasharray: 5 4; stroke-width: 1.2 }
.crowded .trial { stroke-width: .9; opacity: .6 } .crowded .trial.best { stroke-width: 3; opacity: 1 }
.trial.out, .crowded .trial.out { opacity: .05 }
.lines .trial.above { stroke: var(--ink); stroke-width: 3; opacity: 1; pointer-events: none }
.axis line { stroke: var(--soft); stroke-width: 1.2 } .tick { stroke: var(--soft) }
.grip { fill: transparent; cursor: crosshair } .brush { fill: var(--best); opacity: .25; pointer-events: none }
.legend .shades { white-space: nowrap } .legend .shades i { width: .95rem; height: .7rem; margin: 0 }
.legend .best-key { background: var(--best); height: .25rem } .legend .undone-key { height: 0; background: none;
 border-top: 2px dashed var(--undone) } .legend { align-items: center; min-height: 1.6rem }
.legend button { font: inherit; color: inherit; background: var(--card); border: 1px solid var(--line);
 border-radius: .3rem; padding: 0 .6rem; cursor: pointer }
.effects { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 21rem), 1fr)); gap: 1.2rem;
 margin-top: 1rem }
.card { background: var(--card); border-radius: .5rem; padding: .8rem 1rem; break-inside: avoid }
.card h3 { display: flex; justify-content: space-between; overflow-wrap: anywhere; gap: 1rem }
.card .share { font-size: 1.2rem; font-variant-numeric: tabular-nums } .card.unsure .share { color: var(--soft);
 font-weight: 400 } .card.unsure .range { opacity: .3 } .card p { font-size: .88rem; margin: .3rem 0 0 }
.card svg { margin-top: .6rem }
.dots { stroke: var(--k4); stroke-width: 7; stroke-linecap: round; opacity: .6; fill: none }
.dots.crowded { stroke-width: 4.5; opacity: .3 } .dots.first { stroke: var(--best); stroke-width: 10; opacity: 1 }
.dots.at { stroke: var(--ink); stroke-width: 11; opacity: 1 }
.mean { stroke: var(--ink); stroke-width: 3; fill: none } .spread { stroke: var(--ink); stroke-width: 1.3 }
.trend { fill: none; stroke: var(--soft); stroke-width: 1.4; stroke-dasharray: 2 3 }
.tip { position: fixed; z-index: 9; white-space: pre; font-size: .82rem; line-height: 1.45; background: var(--paper);
 color: var(--ink); border: 1px solid var(--line); border-radius: .4rem; padding: .4rem .6rem; pointer-events: none;
 box-shadow: 0 2px 10px #0004; max-width: 30rem; overflow: hidden } .tip::first-line { font-weight: 600 }
.scripted { display: none } .has-script .scripted { display: inline }
@media print { .scripted, .legend button { display: none } }
"""

# The titles of the lines are what is shown, so that a run is written down once.
SCRIPT = """
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
"""
