"""What the page of a comparison has beyond the look of other pages: a wide table that a click sorts."""

STYLE = """
body { max-width: 110rem } .wide { overflow-x: auto; margin-top: 1rem }
.runs th { position: sticky; top: 0; background: var(--paper); white-space: nowrap; vertical-align: bottom }
.runs th button { font: inherit; color: inherit; background: none; border: 0; padding: 0; cursor: pointer }
.runs th button:hover, .runs th button:focus-visible { color: var(--ink); text-decoration: underline }
.runs th[aria-sort=ascending] button::after { content: ' ▲' }
.runs th[aria-sort=descending] button::after { content: ' ▼' }
.runs td { padding: .35rem 1.1rem .35rem 0; white-space: nowrap } .runs td.key { white-space: normal; max-width: 18rem }
.runs td.best { font-weight: 700 } .runs tbody tr:hover { background: var(--card) }
.runs .ends { display: block; font-weight: 400; font-size: .8rem; color: var(--soft) }
.runs .scale { min-width: 7rem; margin: .25rem 0 .1rem } .runs .best .point { background: var(--right); width: 3px }
.runs tr + tr td, .runs tbody tr:first-child td { border-top: 1px solid var(--line) }
.state-SUCCEEDED::before, .state-RUNNING::before, .state-other::before { content: ''; display: inline-block;
 width: .55rem; height: .55rem; border-radius: 50%; margin-right: .4rem; background: var(--c7) }
.state-SUCCEEDED::before { background: var(--c2) } .state-RUNNING::before { background: var(--bar) }
.state-FAILED { color: var(--wrong) } .state-FAILED::before { content: '✗ ' } a { color: var(--right) }
code { font-size: .9em }
"""

# Rows without a value stay below, whichever way it is sorted.
SCRIPT = """
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
"""
