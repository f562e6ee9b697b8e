// What every page needs to ask the server for something, and to say what is wrong.

export function say(text) {
  const place = document.getElementById('problem');
  place.textContent = text;
  place.hidden = !text;
  if (text) place.scrollIntoView({ block: 'nearest' });
}

// Says something with buttons that help; the words go when one is pressed.
export function offer(text, buttons) {
  say(`${text} `);
  document.getElementById('problem').append(...buttons.map(([name, work]) => {
    const button = document.createElement('button');
    Object.assign(button, { type: 'button', textContent: name });
    button.addEventListener('click', () => { say(''); work(); });
    return button;
  }));
}

// Returns the answer's JSON, or null after saying what is wrong. `refused` gets the answer that says so.
export async function ask(address, { method = 'POST', json, body, headers = {}, refused } = {}) {
  say('');
  let answer;
  try {
    answer = await fetch(address, {
      method,
      headers: { 'X-Bakeoff': 'page', Accept: 'application/json', ...headers },
      body: json === undefined ? body : JSON.stringify(json),
    });
  } catch {
    say('The server does not answer. Is `bakeoff web` still running? Nothing was changed; try again when it is back.');
    return null;
  }
  const text = await answer.text();
  let tree;
  try {
    tree = JSON.parse(text);
  } catch {
    tree = { problem: text || `The server answered ${answer.status}.` };
  }
  if (answer.ok) return tree;
  refused?.(tree, answer.status);
  say(tree.problem);
  return null;
}

// A key for one press of a button: the server does nothing twice for the same key.
export const makeKey = () => Array.from(crypto.getRandomValues(new Uint8Array(9)), byte => byte.toString(16).padStart(2, '0')).join('');

// Presses of one button follow each other: while one is asked for, others are nothing.
export async function once(button, work) {
  if (button.getAttribute('aria-disabled') === 'true') return;
  button.setAttribute('aria-disabled', 'true');
  try {
    await work();
  } finally {
    button.removeAttribute('aria-disabled');
  }
}
