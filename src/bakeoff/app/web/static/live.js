// Parts of the page that change while one looks at it, and buttons that do one thing.
import { ask, makeKey, once } from './page_actions.js';

const [of, name = ''] = document.body.dataset.live.split(/\/(.*)/s);
const lost = document.getElementById('lost');

function put(id, html) {
  const old = document.getElementById(id);
  if (!html) {
    old?.remove();
    return;
  }
  const template = document.createElement('template');
  template.innerHTML = html;
  const made = template.content.firstElementChild;
  if (!old) {
    document.getElementById('runs')?.append(made);
    return;
  }
  const ticked = [...old.querySelectorAll('input:checked')].map(input => input.value);
  for (const input of made.querySelectorAll('input')) input.checked = ticked.includes(input.value);
  const open = [...old.querySelectorAll('details')].map(one => one.open);
  made.querySelectorAll('details').forEach((one, number) => { one.open ||= open[number] ?? false; });
  const focused = old.contains(document.activeElement) ? [...old.querySelectorAll('a, button, input, pre')].indexOf(document.activeElement) : -1;
  const log = old.querySelector('.log'), atEnd = log && log.scrollTop + log.clientHeight > log.scrollHeight - 30;
  const current = old.querySelector('[aria-current]')?.getAttribute('href'); // of the steps, this page's own
  if (current) made.querySelector(`[href="${current}"]`)?.setAttribute('aria-current', 'page');
  if (made.isEqualNode(old)) return;
  old.replaceWith(made);
  if (focused >= 0) made.querySelectorAll('a, button, input, pre')[focused]?.focus({ preventScroll: true });
  const newLog = made.querySelector('.log');
  if (newLog && atEnd) newLog.scrollTop = newLog.scrollHeight;
}

// A part that the page need not wait for is asked for by itself; parts in it likewise.
async function load(place) {
  const { ok, html } = await fetch(place.dataset.load)
    .then(async answer => ({ ok: answer.ok, html: await answer.text() }), () => ({ ok: false, html: '' }));
  if (ok) place.innerHTML = html;
  else place.textContent = html ? problemOf(html) : 'The server does not answer.';
  place.querySelectorAll('[data-load]').forEach(load);
  place.dispatchEvent(new CustomEvent('loaded', { bubbles: true }));
}

function problemOf(html) {
  return new DOMParser().parseFromString(html, 'text/html').getElementById('main')?.textContent.trim() ?? html;
}

function arrange(order) {
  const body = document.getElementById('runs');
  if (!body) return;
  const ids = order.split(' ').filter(Boolean);
  if ([...body.children].map(row => row.id).join(' ') === ids.join(' ')) return;
  body.append(...ids.map(id => document.getElementById(id)).filter(Boolean));
}

const events = new EventSource(`/events?of=${of}&name=${encodeURIComponent(name)}`);
events.onopen = () => { lost.hidden = true; };
events.onerror = () => { lost.hidden = false; };
// While a button of the mouse is down nothing is replaced, for a click needs its element.
const waiting = [];
let isDown = false;
addEventListener('pointerdown', () => { isDown = true; }, true);
for (const kind of ['pointerup', 'pointercancel']) {
  addEventListener(kind, () => setTimeout(() => {
    isDown = false;
    waiting.splice(0).forEach(take);
  }), true);
}
events.onmessage = event => { if (isDown) waiting.push(event.data); else take(event.data); };

function take(data) {
  const { order, ...parts } = JSON.parse(data);
  for (const [id, html] of Object.entries(parts)) put(id, html);
  if (order !== undefined) arrange(order);
  const { title } = document.querySelector('[data-title]')?.dataset ?? {};
  if (title) document.title = `${title} – bakeoff`;
  document.dispatchEvent(new CustomEvent('parts'));
}
document.querySelectorAll('[data-load]').forEach(load);
addEventListener('pagehide', () => events.close());
addEventListener('pageshow', event => { if (event.persisted) location.reload(); });

// A button or a form with data-post asks the server for one thing, and leads to where that is shown.
function post(place, button, tree) {
  place.dataset.key ||= makeKey();
  once(button, async () => {
    const answer = await ask(place.dataset.post, { json: { ...tree, key: place.dataset.key } });
    if (answer) location.assign(answer.goto);
    else delete place.dataset.key;
  });
}

document.addEventListener('click', event => {
  const button = event.target.closest('button[data-post]');
  if (button) post(button, button, button.dataset);
});
document.addEventListener('submit', event => {
  const form = event.target, data = new FormData(form);
  if (!form.dataset.post) return;
  event.preventDefault();
  // Of several boxes that are ticked each value is a line.
  post(form, event.submitter, Object.fromEntries([...data.keys()].map(name => [name, data.getAll(name).join('\n')])));
});
