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

// Of an older plan and older mistakes nothing stays in sight while a new one is made.
function clear() {
  show({});
  plan.innerHTML = '<p class="soft">One moment: `bakeoff plan` is asked.</p>';
}

// The recipes and the networks that fit the robot and the data, with what was chosen before.
function offer(answer) {
  const cards = document.getElementById('recipes');
  if (answer.recipes && cards) {
    const focused = cards.contains(document.activeElement) ? document.activeElement.value : null;
    cards.outerHTML = answer.recipes;
    if (focused !== null) form.querySelector(`#recipes input[value="${focused}"]`)?.focus({ preventScroll: true });
  }
  if (answer.models) {
    const select = form.elements.model, chosen = select.value;
    const wanted = [['', select.options[0].text], ...answer.models];
    if (wanted.map(String).join() !== [...select.options].map(one => [one.value, one.text].join()).join()) {
      select.replaceChildren(...wanted.map(([value, words]) => new Option(words, value, false, value === chosen)));
    }
  }
}

async function look() {
  if (isAsking) {
    isStale = true;
    return;
  }
  isAsking = true;
  const answer = await ask('/train/plan', { json: read() });
  isAsking = false;
  if (answer && !isStale) {
    offer(answer);
    show(answer.problems);
    plan.innerHTML = answer.html ?? '<p class="soft">Something is to be corrected first.</p>';
  } else if (!answer) plan.textContent = '';
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
  clear();
  if (isAsking) isStale = true;
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
