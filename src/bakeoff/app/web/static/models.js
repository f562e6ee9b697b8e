// How many runs are ticked, and whether they can be compared.
const form = document.getElementById('chosen');
const button = form.querySelector('button'), words = document.getElementById('how-many');

function count() {
  const number = form.querySelectorAll('input:checked').length;
  button.disabled = number < 2;
  words.textContent = number < 2 ? 'Tick two or more that have ended.' : `${number} are ticked.`;
}
form.addEventListener('change', count);
document.addEventListener('parts', count);
count();
