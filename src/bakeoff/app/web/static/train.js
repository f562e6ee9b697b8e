// The form: what `bakeoff plan` says as one types, mistakes at their field, and Start.
import { ask, makeKey, once } from './page_actions.js';

const form = document.getElementById('train'), plan = document.getElementById('plan');
const read = () => Object.fromEntries(new FormData(form));
const PAUSE = 400; // milliseconds without a key before it is asked

function show(problems) {
  for (const place of form.querySelectorAll('.mistake')) {
    const field = place.id.slice(2), text = problems[field] ?? '';
    place.textContent = text;
    place.hidden = !text;
    form.elements[field]?.setAttribute?.('aria-invalid', String(Boolean(text)));
  }
}

let timer = 0, isAsking = false, isStale = false;

async function look() {
  if (isAsking) {
    isStale = true;
    return;
  }
  isAsking = true;
  plan.classList.add('stale');
  const answer = await ask('/train/plan', { json: read() });
  isAsking = false;
  if (answer) {
    show(answer.problems);
    if (answer.html) plan.innerHTML = answer.html;
    plan.classList.toggle('stale', !answer.html || Boolean(answer.again));
  }
  if (isStale) {
    isStale = false;
    look();
  } else if (answer?.again) timer = setTimeout(look, PAUSE);
}

// The key stays with this entry of the browser's history: after Back, Start is the same press once more.
const keep = key => history.replaceState({ key }, '');
if (!history.state?.key) keep(makeKey());
form.addEventListener('input', () => {
  keep(makeKey()); // another training than the one that was started before
  clearTimeout(timer);
  timer = setTimeout(look, PAUSE);
});

form.addEventListener('submit', event => {
  event.preventDefault();
  once(form.querySelector('[type=submit]'), async () => {
    let problems = {};
    let answer;
    do { // a plan that takes long is asked for again
      answer = await ask('/train/start', { json: { ...read(), key: history.state.key }, refused: tree => { problems = tree.problems ?? {}; } });
    } while (answer?.again);
    show(problems);
    if (answer) location.assign(answer.goto);
  });
});
look();
