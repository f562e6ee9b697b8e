// The slider over the pictures of each validation pass; it stays at the newest pass until it is moved.
const slider = document.getElementById('pass');
if (slider) {
  const run = document.querySelector('.passes').dataset.run, picture = document.getElementById('pass-picture');
  const step = document.getElementById('pass-step');
  const names = () => document.getElementById('run').dataset.sheets.trim().split(' ');
  const show = () => {
    const name = names()[slider.value];
    if (!name) return;
    const done = parseInt(name, 10).toLocaleString('en');
    if (!picture.src.endsWith(name)) picture.src = `/runs/${run}/sheets/${name}`;
    picture.alt = `Validation examples with what the network finds in them, after step ${done}`;
    step.textContent = done;
  };
  slider.addEventListener('input', show);
  document.addEventListener('parts', () => {
    const last = names().length - 1, isAtEnd = slider.value === slider.max;
    slider.max = last;
    if (isAtEnd) slider.value = last;
    show();
  });
} else {
  document.addEventListener('parts', () => {
    if (document.getElementById('run').dataset.sheets.trim()) location.reload();
  });
}
// A run that has ended well is judged from then on.
document.addEventListener('parts', () => {
  if (document.getElementById('run').dataset.judged && !document.getElementById('judgement')) location.reload();
});
